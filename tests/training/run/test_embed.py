"""Embedding a run's network: the files and the card's figures."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from nets import embedded
from nets.embedded import facts_file, int16_file, network_file, notice_file
from nets.graph.convert import load_model
from nets.katago.reader import decompress
from nets.native.calibrate import Verdict, from_bytes
from nets.native.simd.processor import is_arm
from nets.native.transformers.products import PRODUCTS, PRODUCTS_HERE
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD
from training.errors import TrainingError
from training.run import embed as embedding
from training.run.embed import BEGIN, END, embed, main, table
from training.yardstick import Measure


def test_the_table() -> None:
    facts = {"name": "nobi-b6c64-s5", "sha256": "ab", "positions": 12345, "steps": 7}
    assert "| samples drawn | 12,345 |" in table(facts)
    assert "yardstick" not in table(facts)
    figures = (2.5, 0.4, 0.25, 3.0, 0.5, -0.01, 0.2)
    measures = {"19x19": asdict(Measure(3, *figures)), "smaller": asdict(Measure(2, *figures))}
    lines = table({**facts, "yardstick": {"fp32": measures, "int16": measures}}).splitlines()
    assert lines[-1] == "| smaller boards, int16 | 2 | 2.500 | 0.400 | 0.250 | 3.000 | 0.500 | -0.010 | 0.200 |"
    assert len(lines) == 2 + 1 + 2 + 1 + 1 + 2 + 4


def test_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network of tests/nets, without what takes long: its calibration."""
    from tests.nets.random_networks import RandomNetwork

    random = RandomNetwork(8, channels=16)
    random.write([{"kind": "ordinary_block"}])
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))

    def found(*_: object, may_have_bf16: bool, may_have_int8: bool = True) -> Verdict:
        return Verdict({}, {}, "none", largest=8 if may_have_int8 else 16, in_bf16=may_have_bf16)

    def other_process(command: list[str], env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        assert env["NUMBA_CPU_NAME"] == "x86-64-v3"
        return subprocess.CompletedProcess(command, main(command[-3:]), "", "")

    monkeypatch.setattr(embedding, "calibrate", found)
    monkeypatch.setattr(embedding, "unsupported_reason", lambda model: "")
    weights = tmp_path / "weights"
    weights.mkdir()
    for module in (embedded, embedding):
        monkeypatch.setattr(module, "WEIGHTS", weights)
    (weights / "README.md").write_text(f"before {BEGIN} old {END} after")
    with pytest.raises(TrainingError, match="there is no student"):
        embed(tmp_path, None)
    (tmp_path / "student.bin.gz").write_bytes(random.compressed())
    (tmp_path / "student.json").write_text('{"positions": 12, "yardstick": {}}')
    assert "is embedded" in embed(tmp_path, None)
    check_a_convolutional_network(random.content, weights)
    transformer = RandomNetwork(15, channels=16)
    transformer.write([ATTENTION, FEED_FORWARD])
    (tmp_path / "student.bin.gz").write_bytes(transformer.compressed())
    (tmp_path / "student.json").write_text('{"began_as": "b10c384"}')
    monkeypatch.setattr(embedding.subprocess, "run", other_process)
    embed(tmp_path, None)
    model = load_model(network_file().read_bytes(), "embedded")
    kinds = {each: int16_file(each) for each in PRODUCTS if int16_file(each).exists()}
    assert kinds.keys() == {PRODUCTS_HERE, "pairs"} | (set() if is_arm() else {"groups"})
    for products, path in kinds.items():
        assert from_bytes(path.read_bytes(), model).largest == (16 if products == "pairs" != PRODUCTS_HERE else 8)
    assert "weights of b10c384, or a part" in notice_file().read_text()
    assert "| began as, or as a part of | b10c384 |" in (weights / "README.md").read_text()
    assert 'Copyright David J Wu ("lightvector")' in notice_file().read_text()
    assert "THE SOFTWARE IS PROVIDED" in notice_file().read_text()
    (tmp_path / "student.bin.gz").write_bytes(random.compressed())
    (tmp_path / "student.json").unlink()
    embed(tmp_path, None)
    assert not any(path.exists() for path in (*kinds.values(), notice_file()))


def check_a_convolutional_network(content: bytes, weights: Path) -> None:
    assert network_file() == weights / "nobi-strong.bin.gz"
    assert decompress(network_file().read_bytes()) == content
    assert not any(int16_file(products).exists() for products in PRODUCTS)
    facts = json.loads(facts_file().read_text())
    assert facts["positions"] == 12
    assert "yardstick" not in facts
    card = (weights / "README.md").read_text()
    assert card.startswith(f"before {BEGIN}")
    assert card.endswith(f"{END} after")
    assert facts["sha256"] in card
    assert "old" not in card
    assert not notice_file().exists()


def test_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for wrong in ([], [""], [str(tmp_path), "rows.npz", "more"]):
        assert main(wrong) == 2
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"nobi: {tmp_path}: there is no student.bin.gz")
