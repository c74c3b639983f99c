"""Checkpoints: whole or not at all, whatever happens while one is written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.training.pytorch import torch
from training.errors import TrainingError
from training.files import CHECKPOINT
from training.labels.samples import Origin
from training.run.checkpoint import Checkpoint, Progress, is_within_leg, load_checkpoint, save_checkpoint
from training.run.pack import LEG

CPU = torch.device("cpu")


def made_up(step: int) -> Checkpoint:
    weights = {"stem": torch.full((3,), float(step))}
    return Checkpoint(
        weights,
        {"weights": weights, "updates": step},
        [{"state": {}}],
        Progress(step, origin=Origin(("teacher",), True)),
    )


@pytest.mark.parametrize("budget", [0.0, 540.0])
def test_the_script_of_a_leg_elsewhere_sees_whether_it_has_ended(tmp_path: Path, budget: float) -> None:
    path, state = tmp_path / CHECKPOINT, made_up(1)
    state.progress.leg_budget = budget
    save_checkpoint(path, state)
    asked = re.search(r"grep -aq '(.*?)' run/checkpoint\.pt", LEG)
    assert asked is not None
    assert (asked[1].encode() in path.read_bytes()) == (budget == 0.0)
    assert is_within_leg(path) == (budget > 0.0)


@pytest.mark.parametrize(
    ("call", "error", "seen"),
    [
        ("fsync", OSError(28, "No space left on device"), TrainingError),
        ("replace", KeyboardInterrupt("killed"), KeyboardInterrupt),
    ],
)
def test_a_save_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException, seen: type[BaseException]
) -> None:
    path = tmp_path / CHECKPOINT
    save_checkpoint(path, made_up(1))

    def fail(*arguments: object) -> None:
        assert call == "fsync" or arguments[1] == path
        raise error

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(seen, match=error.args[-1]):
        save_checkpoint(path, made_up(2))
    assert load_checkpoint(path, CPU).progress.step == 1


def test_damage_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINT
    save_checkpoint(path, made_up(1))
    whole = path.read_bytes()
    weights = whole.index(torch.full((3,), 1.0).numpy().tobytes())
    for damaged in (
        b"\x80\x02garbage", b"", whole[: len(whole) // 2], whole[:-1],
        whole[: weights + 2] + b"\xff" + whole[weights + 3 :],
    ):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(TrainingError) as caught:
            load_checkpoint(path, CPU)
        assert "damaged checkpoint" in str(caught.value)
        assert "\n" not in str(caught.value)
    for other in ({"weights": {}}, [1, 2]):
        torch.save(other, path)
        with pytest.raises(TrainingError, match="damaged checkpoint"):
            load_checkpoint(path, CPU)


def test_there_is_none(tmp_path: Path) -> None:
    assert not is_within_leg(tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match="no checkpoint"):
        load_checkpoint(tmp_path / CHECKPOINT, CPU)
