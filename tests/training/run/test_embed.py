"""Embedding a run's network: the files and the card's figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nets import embedded
from nets.embedded import STRONG, facts_file, int16_file, network_file
from nets.katago.reader import decompress
from nets.native.calibrate import Verdict, from_bytes
from training.errors import TrainingError
from training.run import embed as embedding
from training.run.embed import BEGIN, END, embed, main, table

MEASURE = {
    "policy_cross_entropy": 2.5,
    "top1": 0.4,
    "value_mse": 0.25,
    "lead_mae": 3.0,
    "ownership_mse": 0.5,
    "value_bias": -0.01,
    "lead_bias": 0.2,
}


def test_the_table() -> None:
    facts = {"name": "nobi-b6c64-s5", "sha256": "ab", "positions": 12345, "steps": 7}
    assert "| samples drawn | 12,345 |" in table(facts)
    assert "yardstick" not in table(facts)
    measures = {"19x19": {"rows": 3, **MEASURE}, "smaller": {"rows": 2, **MEASURE}}
    lines = table({**facts, "yardstick": {"fp32": measures, "int16": measures}}).splitlines()
    assert lines[-1] == "| smaller boards, int16 | 2 | 2.500 | 0.400 | 0.250 | 3.000 | 0.500 | -0.010 | 0.200 |"
    assert len(lines) == 2 + 1 + 2 + 1 + 1 + 2 + 4


def test_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network of tests/nets, without what takes long: its calibration."""
    from tests.nets.random_networks import RandomNetwork

    random = RandomNetwork(8, channels=16)
    random.write([{"kind": "ordinary_block"}])
    monkeypatch.setenv("NOBI_CACHE_DIR", str(tmp_path / "cache"))

    def found(*_: object, may_have_bf16: bool) -> Verdict:
        return Verdict({}, {}, "none", in_bf16=may_have_bf16)

    monkeypatch.setattr(embedding, "calibrate", found)
    monkeypatch.setattr(embedding, "unsupported_reason", lambda model: "")
    weights = tmp_path / "weights"
    weights.mkdir()
    for module in (embedded, embedding):
        monkeypatch.setattr(module, "WEIGHTS", weights)
    begin, end = BEGIN.format(STRONG), END.format(STRONG)
    (weights / "README.md").write_text(f"before {begin} old {end} after")
    with pytest.raises(TrainingError, match="there is no student"):
        embed(tmp_path, STRONG, None)
    (tmp_path / "student.bin.gz").write_bytes(random.compressed())
    (tmp_path / "student.json").write_text('{"positions": 12, "yardstick": {}}')
    assert "is embedded as strong" in embed(tmp_path, STRONG, None)
    assert network_file(STRONG) == weights / "nobi-strong.bin.gz"
    assert decompress(network_file(STRONG).read_bytes()) == random.content
    verdict = from_bytes(int16_file(STRONG).read_bytes())
    assert (verdict.reason_against, verdict.in_bf16) == ("none", False)
    facts = json.loads(facts_file(STRONG).read_text())
    assert facts["positions"] == 12
    assert "yardstick" not in facts
    card = (weights / "README.md").read_text()
    assert card.startswith(f"before {begin}")
    assert card.endswith(f"{end} after")
    assert facts["sha256"] in card
    assert "old" not in card


def test_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for wrong in ([], [str(tmp_path)], [str(tmp_path), "weak"], ["", "fast"]):
        assert main(wrong) == 2
    assert main([str(tmp_path), "fast"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"nobi: {tmp_path}: there is no student.bin.gz")
