"""Damaged and hostile KataGo model files: each is refused in one line that names the file, none costs much memory."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nets.evaluator import EvaluatorError
from nets.graph.convert import convert
from nets.katago.reader import SMALL_BYTES, ModelFormatError, decompress, parse_model
from nets.open import load_onnx, open_network
from tests.nets.random_networks import content_of, made

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module", params=["binary", "text"])
def content(request: pytest.FixtureRequest) -> bytes:
    """A decompressed model file with one block of each kind."""
    kinds = ("ordinary_block", "gpool_block", "nested_bottleneck_block", "transformer_attention_block")
    blocks = [{"kind": kind} for kind in (*kinds, "transformer_ffn_block")]
    return bytes(made(17, blocks, binary=request.param == "binary", channels=6)[0].content)


def refusal(data: bytes) -> str:
    with pytest.raises(EvaluatorError) as caught:
        convert(data, "some/file.bin.gz", "")
    text = str(caught.value)
    assert text.startswith("some/file.bin.gz: ")
    assert "\n" not in text
    assert len(text) < 400
    return text


def test_every_truncation_is_refused(content: bytes) -> None:
    last_weights = content.rstrip()
    for length in range(0, len(last_weights) - 30, 397):  # the last decimal number cut short would be a number still
        refusal(gzip.compress(content[:length], 1))


def test_truncated_gzip(content: bytes) -> None:
    whole = gzip.compress(content)
    for length in (0, 1, 5, 100, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        refusal(whole[:length])


def test_gzip_of_many_members() -> None:
    """Legal, and linear in time; beyond a number that no program writes, refused."""
    parts = [b"a" * 100_000, b"", b"b" * 3, bytes(range(256)) * 9000]
    members = [gzip.compress(part) for part in parts]
    assert decompress(b"".join(members)) == b"".join(parts)
    assert decompress(b"".join(members) + bytes(1000)) == b"".join(parts)
    empty = gzip.compress(b"")
    assert decompress(empty * 1000 + members[0]) == parts[0]
    started = time.process_time()
    with pytest.raises(ModelFormatError, match="more than 50000 gzip members"):
        decompress(empty * 400_000)  # 8 MB: two minutes, were every member to cost a copy of the rest
    assert time.process_time() - started < 10
    with pytest.raises(ModelFormatError, match="truncated"):
        decompress(members[0] + members[3][:-1])
    with pytest.raises(ModelFormatError, match="corrupt"):
        decompress(members[0] + b"garbage")


def test_corrupt_gzip(content: bytes) -> None:
    whole = bytearray(gzip.compress(content))
    whole[len(whole) // 2] ^= 0xFF
    assert "gzip" in refusal(bytes(whole))


@pytest.mark.parametrize("seed", range(300))
def test_mutations_parse_or_are_refused(content: bytes, seed: int) -> None:
    """Bytes changed, removed, repeated: a ModelFormatError or a model, nothing else."""
    random = np.random.default_rng(seed)
    data = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(data)))
        kind = random.integers(4)
        if kind == 0:
            data[at] = int(random.integers(256))
        elif kind == 1:
            del data[at : at + int(random.integers(1, 9))]
        elif kind == 2:
            data[at:at] = data[at : at + int(random.integers(1, 9))]
        else:
            numbers = [found.span() for found in re.finditer(rb"(?<=\n)\d+(?=\n)", bytes(data[:4000]))]
            start, end = numbers[int(random.integers(len(numbers)))]
            data[start:end] = str(random.choice([0, -1, 2, 3, 65536, 999999999, 10**30])).encode()
    with contextlib.suppress(ModelFormatError):
        parse_model(bytes(data))


def header(version: int = 8, planes: int = 22, features: int = 19) -> str:
    return f"name\n{version}\n{planes}\n{features}\ntrunk\n1\n8\n6\n5\n4\n4\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ends early"),
        ("hello world", "number"),
        ("name 2 22 19", "version 2"),
        ("name 18 22 19", "version 18"),
        ("name -1 22 19", "model version"),
        ("name 99999999999999999999 22 19", "model version"),
        ("name 8 23 19", "inputs"),
        ("name 8 22 18", "inputs"),
        ("<html><head><title>404 Not Found</title></head></html>", "number"),
        (header() + "conv 3 3 22 8 1 1 @BIN@", "ends early"),
        (header() + "conv 25 25 65536 65536 1 1 @BIN@", "channels"),
        (header() + "conv 4 4 22 8 1 1 @BIN@", "odd"),
        (header() + "conv 0 3 22 8 1 1 @BIN@", "kernel"),
        (header() + "conv 3 3 22 7 1 1 @BIN@", "output channels"),
        (header() + "conv 3 3 22 8 1 1 " + "0 " * 1583 + "x", "not a number"),
        (header() + "conv 3 3 22 8 1 1 " + "0 " * 1583 + "nan", "not finite"),
        (header() + "conv 3 3 22 8 1 1 " + "0 " * 1583 + "1e99", "not finite"),
        (header() + "conv 1 1 22 8 1 1 " + "0 " * 176 + "m 19 8 " + "0 " * 152 + "triangle_block b", "triangle_block"),
        ("name 13 22 19 20 20 -1 20 20 1 1", "stdev multiplier"),
        ("name 13 22 19 20 20 inf 20 20 1 1", "stdev multiplier"),
        ("name 15 22 19 20 20 20 20 20 1 1 2", "metadata encoder version"),
        ("name 15 22 19 20 20 20 20 20 1 1 0 0 0 5", "option D"),
    ],
)
def test_refusals_say_why(text: str, reason: str) -> None:
    assert reason in refusal(gzip.compress(text.encode()))


def test_nesting_is_bounded() -> None:
    level = b"nested_bottleneck_block b 1 " + b"n 1 1e-3 0 0 0 1 a conv 1 1 1 1 1 1 0 "
    text = b"name 8 22 19 trunk 1 1 1 1 1 1 conv 1 1 22 1 1 1 " + b"0 " * 22 + b"m 19 1 " + b"0 " * 19 + level * 5000
    assert "nested too deeply" in refusal(gzip.compress(text))


def test_blocks_are_bounded() -> None:
    """However they are nested: a small file could hold very many."""
    blocks = [{"kind": "nested_bottleneck_block", "inner": ("ordinary_block",) * 200}] * 5
    assert "more than 1000 blocks" in refusal(content_of(8, blocks, channels=1))


def test_heads_are_bounded(tmp_path: Path) -> None:
    """Attention to every point of a board by 30,000 heads of two channels: few weights, much memory."""
    block = {"kind": "transformer_attention_block", "heads": 30_000, "kv_heads": 30_000, "sizes": (2, 1)}
    path = tmp_path / "heads.bin.gz"
    path.write_bytes(content_of(15, [block], channels=1))
    with pytest.raises(EvaluatorError, match=r"heads\.bin\.gz: .*too much memory on a board of 25x25"):
        open_network(path, "fp32")


def test_absurd_weights_are_refused_quietly(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Finite in the file, infinite once a norm is folded into them."""
    content = bytes(made(8, [{"kind": "ordinary_block"}])[0].content)
    for found in re.finditer(b"@BIN@", content):
        content = content[: found.end()] + np.full(1, 3e38, "<f4").tobytes() + content[found.end() + 4 :]
    path = tmp_path / "absurd.bin.gz"
    path.write_bytes(gzip.compress(content, 1))
    with pytest.raises(EvaluatorError, match="not finite"):
        open_network(path, "fp32")
    assert not recwarn.list


def test_bomb_is_refused_within_its_limit() -> None:
    bomb = gzip.compress(bytes(SMALL_BYTES + 10), 9)
    tracemalloc.start()
    try:
        assert "decompresses" in refusal(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * SMALL_BYTES
    finally:
        tracemalloc.stop()


def test_announced_sizes_allocate_nothing() -> None:
    text = header().replace("\n8\n6", "\n65535\n6") + "conv 25 25 22 65535 1 1 @BIN@1234"
    tracemalloc.start()
    try:
        assert "ends early" in refusal(gzip.compress(text.encode()))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.mkdir(), "a folder, not a file"),
        (lambda path: os.mkfifo(path), "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.write_bytes(b""), "ends early"),
        (lambda path: None, "No such file"),
    ],
    ids=["directory", "fifo", "device", "empty", "missing"],
)
@pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and devices")
def test_paths(tmp_path: Path, make: Callable[[Path], None], reason: str) -> None:
    path = tmp_path / "network.bin.gz"
    make(path)
    with pytest.raises(EvaluatorError, match=reason) as caught:
        load_onnx(path)
    assert str(caught.value).startswith(str(path))


def test_real_files_truncated(shared: Callable[[str], Path]) -> None:
    data = gzip.decompress(shared("nets/g170-b6c96-s175395328-d26788732.bin.gz").read_bytes())
    for length in range(0, len(data) - 1, len(data) // 60):
        with pytest.raises(ModelFormatError):
            parse_model(data[:length])
