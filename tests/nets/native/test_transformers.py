"""Transformers in our own kernels against the slow forward pass: each variant, its parts, and when they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.conversion.convert import convert, load_model
from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.katago.model import AttentionBlock, BottleneckBlock, FeedForwardBlock
from nets.native.convolutions.parameters import aligned
from nets.native.convolutions.trunk import MOST_STREAMS
from nets.native.evaluator import NativeEvaluator
from nets.native.simd.groups import LARGEST_GROUP, group_numbers
from nets.native.simd.processor import is_available
from nets.native.simd.products import multiply_rows
from nets.native.transformers.attention import fraction_bits, write_shares
from nets.native.transformers.calibrate import Verdict, calibrate, from_bytes
from nets.native.transformers.pack import pack_tokens
from nets.native.transformers.products import HAS_BYTES, IN_GROUPS, multiply_bytes, score_block
from nets.native.transformers.rounding import of_feed_forward, rounded
from nets.native.transformers.rows import BYTE_ZERO, SHORT_LEVELS
from nets.native.transformers.workspace import TokensWorkspace
from nets.native.unsupported import unknown_to_kernels, unsupported_reason
from nets.onnx.evaluator import OnnxEvaluator
from nets.open import check_network, open_network
from nets.precision.loss import compare, reason_against
from tests.conftest import REPOSITORY
from tests.nets.conversion.test_katago_networks import ATTENTION, DEEP, FEED_FORWARD, ORDINARY, inputs
from tests.nets.golden import COLOURS, encoded, game_of, new_scratch, positions
from tests.nets.random_networks import RandomNetwork
from tests.nets.small_series import SMALL_SERIES

SIZES = ((5, 5), (7, 4), (2, 2), (3, 6), (9, 9), (19, 19), (25, 13))
SILU = "ACTIVATION_SILU"

NESTED = {"kind": "nested_bottleneck_block", "middle": 12, "inner": (ATTENTION, FEED_FORWARD)}
DEEPER = {"kind": "nested_bottleneck_block", "middle": 34, "inner": (FEED_FORWARD, NESTED, ATTENTION)}

needs_kernels = pytest.mark.skipif(not is_available(), reason="numba is off, or the processor has no such vectors")
needs_bytes = pytest.mark.skipif(not HAS_BYTES, reason="the processor has no products of 8-bit integers")


pytestmark = pytest.mark.usefixtures("own_networks")


def opened(content: bytes, in_bytes: Any = None, **options: Any) -> NativeEvaluator:
    model = load_model(content, "random")
    packed = pack_tokens(model, in_bytes or {})
    return NativeEvaluator(model, packed, "random", lambda: plain(content), workspace=TokensWorkspace, **options)


def plain(content: bytes) -> OnnxEvaluator:
    return OnnxEvaluator(convert(content, "random", ""), "random")


def check(evaluation: Any, truth: dict[str, Any], tolerance: float = 1.0) -> None:
    for name, expected in truth.items():
        ours = getattr(evaluation, name)
        assert ours.dtype == np.float32
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=0.02 * tolerance, atol=0.03 * tolerance, err_msg=name)
        assert np.abs(ours - expected).mean() < 0.004 * tolerance * max(1, np.abs(expected).mean()), name


# Parts


@needs_kernels
@pytest.mark.parametrize("rows", [1, 5, 12, 31])
def test_products(rows: int) -> None:
    random = np.random.default_rng(rows)
    sums = aligned(rows * 128).view(np.int32)
    levels, weights = random.integers(-4095, 4096, (rows, 64)), random.integers(-3000, 3000, (64, 32))
    given, packed = aligned(levels.size * 2).view(np.int16), aligned(weights.size * 2).view(np.int16)
    given[:], packed[:] = levels.ravel(), weights.reshape(32, 2, 32).transpose(0, 2, 1).ravel()
    multiply_rows(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, 128)
    np.testing.assert_array_equal(sums.reshape(rows, 32), levels @ weights)
    scores = aligned(rows * 64).view(np.int16)
    score_block(given.ctypes.data, packed.ctypes.data, scores.ctypes.data, rows, 128, 64)
    even_first = (levels @ weights >> 16).reshape(rows, 2, 16).transpose(0, 2, 1)
    np.testing.assert_array_equal(scores.reshape(rows, 16, 2), even_first)


@needs_bytes
@pytest.mark.parametrize("rows", [1, 5, 12, 31])
def test_products_of_bytes(rows: int) -> None:
    """At the ends of their ranges, where other instructions overflow."""
    random = np.random.default_rng(rows)
    sums = aligned(rows * 128).view(np.int32)
    levels, weights = 127 * random.integers(-1, 2, (rows, 64)), 127 * random.integers(-1, 2, (64, 32))
    if IN_GROUPS:  # each group as full as it may be, and the first row makes of it the largest sums
        full = LARGEST_GROUP // 4 * np.where(np.arange(64) // 8 % 2 == 0, 1, -1)
        weights = np.outer(full, random.choice((-1, 1), 32))
        for sign in (1, -1):
            assert np.bincount(group_numbers(np.arange(64)), np.maximum(sign * weights[:, 0], 0)).max() == LARGEST_GROUP
        levels[0] = 255 * (weights[:, 0] > 0) - BYTE_ZERO
    given, packed = aligned(levels.size), aligned(weights.size).view(np.int8)
    given[:], packed[:] = (levels + BYTE_ZERO).ravel() & 255, weights.reshape(16, 4, 32).transpose(0, 2, 1).ravel()
    multiply_bytes(given.ctypes.data, packed.ctypes.data, sums.ctypes.data, rows, 64)
    np.testing.assert_array_equal(sums.reshape(rows, 32), (levels + BYTE_ZERO) @ weights)


@needs_kernels
@pytest.mark.parametrize("keys", [4, 32, 81, 361])
@pytest.mark.parametrize("octaves", [3.0, 40.0, 300.0])
def test_shares(keys: int, octaves: float) -> None:
    """The softmax of a row, to a base of 2."""
    random = np.random.default_rng(keys)
    exponents = random.uniform(-octaves, octaves, keys)
    bits = fraction_bits(octaves)
    blocks = -(-keys // 32)
    scores = aligned(blocks * 64).view(np.int16)
    scores[:keys] = np.rint(exponents * 2**bits)
    total = write_shares(scores.ctypes.data, blocks, keys - 32 * (blocks - 1), bits)
    assert total == scores.sum(dtype=np.int64)
    assert (scores[keys:] == 0).all()
    truth = 2 ** (exponents - exponents.max())
    np.testing.assert_allclose(scores[:keys] / total, truth / truth.sum(), atol=0.01 if octaves > 100 else 0.002)


def test_no_sum_overflows() -> None:
    """Whatever the levels are: each is at the end of its range that makes a sum largest."""
    network = RandomNetwork(15, channels=64)
    network.write([ATTENTION, FEED_FORWARD])
    packed = pack_tokens(load_model(network.compressed(), "random"), {})
    for matrix in packed.matrices:
        count = int(matrix["inputs"] * matrix["outputs"])
        flat = packed.parameters[matrix["weights"] :].view(np.int16)[:count].astype(np.int64)
        sums = np.abs(flat.reshape(-1, matrix["inputs"] // 2, 32, 2)).sum(axis=(1, 3))
        assert SHORT_LEVELS * sums.max() < 2**31
        assert np.abs(flat).max() > 8000, "coarser than it has to be"


# Networks


@needs_kernels
@pytest.mark.parametrize(
    "blocks",
    [
        [ATTENTION],
        [{"kind": "transformer_attention_block", "rope": "learned"}],
        [{"kind": "transformer_attention_block", "rope": "none", "heads": 3, "kv_heads": 3}],
        [{"kind": "transformer_attention_block", "heads": 6, "kv_heads": 1, "sizes": (6, 5)}],
        [{"kind": "transformer_attention_block", "heads": 2, "kv_heads": 2, "sizes": (36, 40)}],
        [FEED_FORWARD],
        [{"kind": "transformer_ffn_block", "gated": False}],
        [ATTENTION, FEED_FORWARD, FEED_FORWARD, ATTENTION, ATTENTION],
        [NESTED],
        [NESTED, FEED_FORWARD, DEEPER, NESTED],
    ],
    ids=lambda blocks: f"{len(blocks)}-{'-'.join(str(value) for value in blocks[0].values())}",
)
def test_blocks(blocks: list[dict[str, Any]]) -> None:
    network = RandomNetwork(17, activation=SILU, channels=20)
    forward = network.write(blocks, tip="rms")
    evaluator = opened(network.compressed(), optimism=0.3)
    attributes = evaluator.attributes
    assert (attributes.precision, attributes.provider, attributes.has_optimism) == (
        "int16",
        "native",
        True,
    )
    for size in SIZES:
        check(evaluator.evaluate(EvaluationRequest(*inputs(*size))), forward(*inputs(*size), 0.3))


@needs_kernels
@pytest.mark.parametrize("version", [8, 14, 15, 17])
@pytest.mark.parametrize("tip", ["batch", "rms", "rms_spatial"])
def test_versions_and_tips(version: int, tip: str) -> None:
    if version < 15 and tip != "batch":
        pytest.skip("this version has no such tip")
    activation = {14: "ACTIVATION_MISH", 17: "ACTIVATION_IDENTITY"}.get(version, "ACTIVATION_RELU")
    network = RandomNetwork(version, activation=activation, channels=40, seed=version)
    forward = network.write([ATTENTION, FEED_FORWARD, NESTED], tip=tip)
    evaluator = opened(network.compressed(), optimism=0.3)
    for size in ((9, 9), (7, 4)):
        check(evaluator.evaluate(EvaluationRequest(*inputs(*size))), forward(*inputs(*size), 0.3))


@needs_kernels
def test_batches() -> None:
    """One by one, and as many together as points make worth it."""
    network = RandomNetwork(15)
    network.write([ATTENTION, FEED_FORWARD], tip="rms_spatial")
    evaluator = opened(network.compressed())
    spatial, global_ = (np.concatenate([each] * 3) for each in inputs(9, 9))
    for count in (1, 4, 5, 9):
        whole = evaluator.evaluate(EvaluationRequest(spatial[:count], global_[:count]))
        for row in range(count):
            one = evaluator.evaluate(EvaluationRequest(spatial[row : row + 1], global_[row : row + 1]))
            for ours, expected in zip(whole, one, strict=True):
                np.testing.assert_allclose(ours[row], expected[0], rtol=1e-5, atol=1e-6)


@needs_bytes
@pytest.mark.parametrize("gated", [True, False])
def test_blocks_in_bytes(gated: bool) -> None:
    network = RandomNetwork(15, channels=32, seed=1)
    block = {**FEED_FORWARD, "gated": gated}
    forward = network.write([ATTENTION, FEED_FORWARD, block, ATTENTION, block])
    content = network.compressed()
    model = load_model(content, "random")
    in_bytes = rounded(model, [inputs(9, 9, seed=1), inputs(7, 4, seed=1)])
    assert sorted(in_bytes) == [f"block{number}_{name}" for number in (2, 3, 4) for name in ("first", "second")]
    assert sorted(of_feed_forward(model, in_bytes)) == [
        f"block{number}_{name}" for number in (2, 4) for name in ("first", "second")
    ]
    shorts, integers = opened(content), opened(content, in_bytes)
    for size in SIZES:
        truth = forward(*inputs(*size), 1.0)
        ours = integers.evaluate(EvaluationRequest(*inputs(*size)))
        check(ours, truth, tolerance=3.0)
        assert (ours.policy != shorts.evaluate(EvaluationRequest(*inputs(*size))).policy).any()


def test_which_matrices_in_bottlenecks_get_bytes() -> None:
    """The ends keep 16 bits, and so does the first block of each kind."""
    network = RandomNetwork(15, channels=40, seed=1)
    forward = network.write([NESTED, NESTED])
    content = network.compressed()
    model = load_model(content, "random")
    in_bytes = rounded(model, [inputs(9, 9, seed=1), inputs(7, 4, seed=1)])
    assert sorted(in_bytes) == ["block1_0_first", "block1_0_second", "block1_1_first", "block1_1_second"]
    assert sorted(of_feed_forward(model, in_bytes)) == ["block1_1_first", "block1_1_second"]
    if HAS_BYTES:
        for size in SIZES:
            ours = opened(content, in_bytes).evaluate(EvaluationRequest(*inputs(*size)))
            check(ours, forward(*inputs(*size), 1.0), tolerance=3.0)


@needs_kernels
def test_a_large_number_of_boards_in_bottlenecks() -> None:
    """Whose streams have rows of other lengths than the trunk's."""
    network = RandomNetwork(15, channels=20)
    network.write([DEEPER])
    evaluator = opened(network.compressed())
    spatial, global_ = (np.concatenate([each] * 6) for each in inputs(9, 9))
    whole = evaluator.evaluate(EvaluationRequest(spatial, global_))
    for row in range(3):
        one = evaluator.evaluate(EvaluationRequest(spatial[row : row + 1], global_[row : row + 1]))
        for ours, expected in zip(whole, one, strict=True):
            np.testing.assert_allclose(
                ours[row::3], np.broadcast_to(expected, ours[row::3].shape), rtol=1e-5, atol=1e-6
            )


@needs_kernels
@pytest.mark.parametrize("activation", [SILU, "ACTIVATION_RELU", "ACTIVATION_MISH"])
@pytest.mark.parametrize("part", ["norm", "narrow", "inner", "after", "widen"])
def test_what_is_no_number_inside_a_bottleneck(activation: str, part: str) -> None:
    network = RandomNetwork(17, channels=20, activation=activation)
    network.write([FEED_FORWARD, NESTED])
    model = load_model(network.compressed(), "random")
    block = model.trunk.blocks[1]
    assert isinstance(block, BottleneckBlock)
    inner = block.blocks[0]
    assert isinstance(inner, AttentionBlock)
    arrays = (block.before.bias, block.narrow.weights, inner.norm, block.after.scale, block.widen.weights)
    array = arrays[("norm", "narrow", "inner", "after", "widen").index(part)]
    array.reshape(-1)[0] = np.nan
    wrong = NativeEvaluator(model, pack_tokens(model, {}), "wrong", lambda: wrong, workspace=TokensWorkspace)
    with pytest.raises(EvaluatorError, match="wrong: an output is not finite"):
        wrong.evaluate(EvaluationRequest(*inputs(9, 9)))


@needs_kernels
def test_what_is_absurd() -> None:
    network = RandomNetwork(15)
    network.write([ATTENTION, FEED_FORWARD])
    evaluator = opened(network.compressed())
    spatial, global_ = inputs(9, 9)
    assert all(
        np.isfinite(each).all() for each in evaluator.evaluate(EvaluationRequest(spatial * 1000, global_ * 1000))
    )
    for absurd in (np.nan, np.inf, 3e38):
        with pytest.raises(EvaluatorError, match="random: an output is not finite"):
            evaluator.evaluate(EvaluationRequest(spatial, np.full_like(global_, absurd)))
    with pytest.raises(EvaluatorError, match="21 planes"):
        evaluator.evaluate(EvaluationRequest(spatial[:, 1:], global_))
    network = RandomNetwork(15)
    network.write([ATTENTION, FEED_FORWARD])
    for part in range(len(load_model(network.compressed(), "random").trunk.blocks) + 1):
        model = load_model(network.compressed(), "random")
        block = model.trunk.blocks[part - 1]
        assert isinstance(block, (AttentionBlock, FeedForwardBlock))
        (model.trunk.stem.weights if part == 0 else block.norm)[0] = np.inf
        wrong = NativeEvaluator(model, pack_tokens(model, {}), "wrong", lambda: evaluator, workspace=TokensWorkspace)
        with pytest.raises(EvaluatorError, match="wrong: an output is not finite"):
            wrong.evaluate(EvaluationRequest(spatial, global_))


@needs_kernels
@pytest.mark.slow
def test_processors_with_narrower_vectors() -> None:
    """The kernels for AVX2, on whatever processor this is."""
    environment = {**os.environ, "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+avx,+fma,+sse4.2,+popcnt"}
    code = (
        "from nets.native.simd.processor import features\nfrom nets.native.simd.x86 import NARROW_BYTES, WIDE\n"
        "from tests.nets.native.test_transformers import *\n"
        "assert features().isdisjoint((WIDE, NARROW_BYTES)) and IN_GROUPS\n"
        "network = RandomNetwork(17, activation=SILU, channels=20)\n"
        "forward = network.write([ATTENTION, FEED_FORWARD, NESTED], tip='rms')\n"
        "evaluator = opened(network.compressed())\n"
        "for size in SIZES:\n"
        "    check(evaluator.evaluate(EvaluationRequest(*inputs(*size))), forward(*inputs(*size), 1.0))\n"
        "test_shares(81, 40.0)\n"
        "test_products_of_bytes(5)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, env=environment, check=True, timeout=300)


# When they are used


def test_what_cannot_be_packed() -> None:
    too_deep = NESTED
    for _ in range(MOST_STREAMS - 1):
        too_deep = {"kind": "nested_bottleneck_block", "inner": (too_deep,)}
    for blocks in ([ORDINARY, ATTENTION], [DEEP], [FEED_FORWARD, ORDINARY], [too_deep]):
        network = RandomNetwork(15)
        network.write(blocks)
        assert unknown_to_kernels(load_model(network.compressed(), "random"))
    network = RandomNetwork(15)
    network.write([ATTENTION])
    model = load_model(network.compressed(), "random")
    assert not unknown_to_kernels(model)
    wide = np.broadcast_to(np.float32(0), (8, 8 << 20))
    object.__setattr__(model.trunk.blocks[0], "query", wide)
    assert unknown_to_kernels(model)


def test_a_verdict_survives_its_file() -> None:
    from nets.native.transformers.pack import Bytes

    matrix = Bytes(np.ones(2, np.float32), np.array([[1, -2], [3, 4]], np.int8), np.full(2, 0.5, np.float32))
    back = from_bytes(Verdict({"block1_first": matrix}, {"lead_mean": 0.25}, "it is slow").to_bytes())
    assert (back.loss, back.reason_against) == ({"lead_mean": 0.25}, "it is slow")
    for ours, expected in zip(back.in_bytes["block1_first"], matrix, strict=True):
        np.testing.assert_array_equal(ours, expected)
        assert ours.dtype == expected.dtype


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that `auto` calibrates, on a few positions, and that takes no time worth comparing."""
    monkeypatch.setattr("nets.open.SMALLEST_AUTO_BYTES", 0)
    monkeypatch.setattr("nets.precision.loss.SLOWEST", 1e9)
    defaults = calibrate.__defaults__
    assert defaults is not None
    monkeypatch.setattr(calibrate, "__defaults__", (SMALL_SERIES, *defaults[1:]))
    network = RandomNetwork(15, channels=16)
    network.write([ATTENTION, FEED_FORWARD, ATTENTION, FEED_FORWARD], tip="rms")
    path = tmp_path / "network.bin.gz"
    path.write_bytes(network.compressed())
    return path


@needs_kernels
def test_auto_is_int16_where_the_limits_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.transformers.calibrate.reason_against", lambda loss, share: "")
    notes: list[str] = []
    evaluator = open_network(path, "auto", "cpu", note=notes.append)
    assert (evaluator.attributes.precision, evaluator.attributes.provider) == ("int16", "native")
    assert len(notes) == 1
    assert "once" in notes[0]
    notes.clear()
    assert open_network(path, "auto", "cpu", note=notes.append).attributes.precision == "int16"
    assert not notes, "the second time there is nothing to do"
    spatial, global_ = inputs(9, 9)
    truth = open_network(path, "fp32", "cpu").evaluate(EvaluationRequest(spatial, global_))
    np.testing.assert_allclose(evaluator.evaluate(EvaluationRequest(spatial, global_)).value, truth.value, atol=0.05)
    for size in ((1, 1), (1, 7)):  # boards of a single line
        np.testing.assert_allclose(
            evaluator.evaluate(EvaluationRequest(*inputs(*size))).value,
            open_network(path, "fp32", "cpu").evaluate(EvaluationRequest(*inputs(*size))).value,
            atol=0.05,
        )


@needs_kernels
def test_sixteen_bits_where_eight_lose_too_much(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = ["its lead is wrong", "its lead is wrong", ""] if HAS_BYTES else [""]
    monkeypatch.setattr("nets.native.transformers.calibrate.reason_against", lambda loss, share: verdicts.pop(0))
    model = load_model(path.read_bytes(), "random")
    verdict = calibrate(model, plain(path.read_bytes()))
    assert not verdict.in_bytes
    assert not verdict.reason_against
    assert not verdicts


@needs_kernels
def test_auto_goes_on_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.transformers.calibrate.reason_against", lambda loss, share: "its lead is wrong")
    notes: list[str] = []
    assert open_network(path, "auto", "cpu", note=notes.append).attributes.precision != "int16"
    assert "network.bin.gz: not using int16, for in it its lead is wrong" in notes
    assert open_network(path, "int16", "cpu", note=notes.append).attributes.precision == "int16"
    assert notes[-1] == "network.bin.gz: using int16 as asked, though its lead is wrong"


def test_processors_without_vectors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.native.unsupported.is_available", lambda: False)
    for function in (open_network, check_network):
        with pytest.raises(EvaluatorError, match=r"network\.bin\.gz: int16 needs a processor with AVX2"):
            function(path, "int16", "cpu")  # type: ignore[operator]


@needs_kernels
def test_networks_of_convolutions_compile_nothing_of_it() -> None:
    """Nor do transformers' modules load where none is played."""
    code = (
        "import sys\n"
        "from nets.native.opening import calibration_key\n"
        "from tests.nets.native.test_convolutions import *\n"
        "network, _ = made()\n"
        "content = network.compressed()\n"
        "model = load_model(content, 'random')\n"
        "opened(model, content).evaluate(EvaluationRequest(*inputs(9, 9)))\n"
        "assert calibration_key(model)\n"
        "assert not [name for name in sys.modules if name.startswith('nets.native.transformers')]\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, timeout=300)


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "golden", "in_shorts", "every"),
    [
        ("b7c96h3tfrs-test5-cnorm", "b7c96h3tfrs-test5", 0.2, 1),
        ("b7c96h6kv3qk32v16tflrs-fson-bnh", "b7c96h6kv3", 0.2, 1),
        # It has twice as many blocks to lose something in, and in fp32 each position takes long.
        ("b10c384h6nbttflrs", "b10c384h6nbttflrs", 0.3, 6),
    ],
)
def test_limits_on_golden_positions(
    shared: Callable[[str], Path], net: str, golden: str, in_shorts: float, every: int
) -> None:
    """`in_shorts` is the share of the limits that 16 bits alone may lose; of the positions `every` so many are read."""
    source = shared(f"nets/{net}.bin.gz")
    reference = open_network(source, "fp32", "cpu")
    model = load_model(source.read_bytes(), net)
    assert unsupported_reason(model) == ""
    verdict = calibrate(model, reference)
    assert verdict.reason_against == ""
    assert bool(verdict.in_bytes) == HAS_BYTES
    scratch = new_scratch(reference.attributes.pass_alive_under_suicide)
    by_size: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for row in list(positions(shared(f"golden/{golden}.jsonl.gz")))[::every]:
        by_size.setdefault(tuple(row["size"]), []).append(encoded(game_of(row), COLOURS[row["to_play"]], scratch))
    batches = [tuple(np.stack(each) for each in zip(*entries, strict=True)) for entries in by_size.values()]
    for in_bytes, tolerance in ((verdict.in_bytes, 1.0), ({}, in_shorts)):
        packed = pack_tokens(model, in_bytes)
        candidate = NativeEvaluator(model, packed, net, lambda: reference, workspace=TokensWorkspace)
        loss, _ = compare(reference, candidate, batches)  # type: ignore[arg-type]
        assert reason_against(loss, 0.0, tolerance) == "", loss
