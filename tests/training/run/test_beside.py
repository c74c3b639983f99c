"""A run beside another one: its student learns from the same labels."""

# ruff: noqa: E402
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.katago.writer import encode_model
from tests.training.run.short_runs import config, set_clock, train_steps
from tests.training.student.test_network import SHAPE, new_student
from training.config import OptimiserConfig
from training.errors import TrainingError
from training.run.checkpoint import load_checkpoint
from training.run.folder import CHECKPOINT
from training.run.loop import TrainingTime, open_run
from training.run.trained_network import read_trained_network
from training.student.export import to_model

CPU = torch.device("cpu")


def test_a_run_beside_another_learns_what_it_would_learn_alone(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, beside, wide = tmp_path / "alone", tmp_path / "beside", tmp_path / "wide"
    settings = replace(config(records), optimiser=OptimiserConfig(warm_up=2, rate=0.001))
    larger = replace(config(records), network=replace(SHAPE, blocks=4))
    for folder in (alone, beside):
        train_steps(folder, settings, 1, monkeypatch)
    train_steps(wide, larger, 1, monkeypatch)
    train_steps(alone, settings, 3, monkeypatch)
    train_steps(wide, larger, 3, monkeypatch, beside)
    one, other = (load_checkpoint(folder / CHECKPOINT, CPU) for folder in (alone, beside))
    assert (one.progress.step, one.progress.samples) == (other.progress.step, other.progress.samples) == (4, 16)
    for name, weights in one.weights.items():
        torch.testing.assert_close(other.weights[name], weights, rtol=0, atol=0)


def test_both_runs_end_the_leg_with_a_network(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, wide = tmp_path / "beside", tmp_path / "wide"
    with pytest.raises(TrainingError, match="beside: no run has begun here"):
        open_run(wide, config(records), beside=beside)
    train_steps(beside, config(records), 1, monkeypatch)
    set_clock(monkeypatch)
    teacher = tmp_path / "teacher.bin.gz"
    teacher.write_bytes(encode_model(to_model(new_student(), "the-teacher", has_optimistic=True)))
    open_run(wide, config(records, teacher=str(teacher)), beside=beside).train(TrainingTime(budget=2.0))
    progress = [load_checkpoint(folder / CHECKPOINT, CPU).progress for folder in (wide, beside)]
    assert progress[1].step == progress[0].step + 1
    for folder, reached in zip((wide, beside), progress, strict=True):
        assert (reached.legs, reached.leg_budget) == (1, 0.0)
        assert read_trained_network(folder).facts["teachers"] == ["the-teacher"]
        card = json.loads((folder / "student.json").read_text())
        assert (card["positions"], card["steps"]) == (reached.samples, reached.step)
        line = json.loads((folder / "progress.jsonl").read_text().splitlines()[-1])
        assert line["spent"] == 1.0
        assert line["loss"]["total"] > 0.0
