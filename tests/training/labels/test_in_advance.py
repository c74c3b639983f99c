"""Labelling in advance."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.features import GLOBAL_KOMI
from nets.katago.writer import encode_model
from tests.training.games import random_games, read_samples, write_records
from tests.training.networks import untrained
from tests.training.run.short_runs import config
from training.config import PlayConfig, TrainingConfig, describe
from training.labels.batches import Batch
from training.labels.in_advance import label
from training.labels.labelling import LabelledBatch, Labeller
from training.labels.samples import sample_files, units_in
from training.network import Network, NetworkEvaluation


def by_policy(tmp_path: Path, teacher: Path, **data: object) -> TrainingConfig:
    return config(
        tmp_path / "none", teacher=str(teacher), records_share=0.0, play_share=1.0, canvas_shares={"9": 1.0}, **data
    )


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_student_moves_in_its_games(
    tmp_path: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """One that always passes ends its games at once; those of the teacher, which begin alike, go on."""
    student = tmp_path / "student.bin.gz"
    student.write_bytes(encode_model(untrained(seed=5).to_model("student", has_optimistic=True)))
    original = Network.evaluate

    def passes(self: Network, *arguments: Any) -> NetworkEvaluation:
        evaluation = original(self, *arguments)
        if self.name == "student":
            evaluation.policy[:, -1] = 1000.0
        return evaluation

    monkeypatch.setattr(Network, "evaluate", passes)
    play = PlayConfig(student=share, random_moves=0.0)
    settings = by_policy(tmp_path, teacher, balanced_share=0.0, rules={"tromp-taylor": 1.0}, play=play)
    labelled = label(tmp_path / "samples", settings, count=1, student=student)
    games = 16
    assert (labelled == 2 * games) == (share == 1.0)
    assert labelled >= 2 * games


@pytest.mark.parametrize(("most", "changes"), [(0.0, False), (1000.0, True)])
def test_komi_makes_up_for_small_leads_alone(
    tmp_path: Path, records: Path, teacher: Path, most: float, changes: bool
) -> None:
    settings = config(records, teacher=str(teacher), balanced_share=0.5, own_komi=1.0, balanced_most=most)
    settings = replace(settings, data=replace(settings.data, rules={"tromp-taylor": 1.0}))
    label(tmp_path / "samples", settings, count=30)
    samples = read_samples(sample_files(tmp_path / "samples")[0])
    assert samples.length == 289 * 4 * 1.5  # two of each four positions once more
    komi = set(np.abs(samples.global_[:, GLOBAL_KOMI] * 20).round(1).tolist())
    assert bool(komi - {0.5, 7.5}) == changes  # 0.5 in handicap games


KILLED = """
import sys
from pathlib import Path
from training.config import read_config
from training.labels.in_advance import label
label(Path(sys.argv[1]), read_config(Path(sys.argv[2])))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_process_goes_on_and_its_files_are_what_they_would_have_been(tmp_path: Path, teacher: Path) -> None:
    killed, whole, file = tmp_path / "killed", tmp_path / "whole", tmp_path / "label.toml"
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = config(records, teacher=str(teacher), play_share=1.0, canvas_shares={"9": 1.0})
    file.write_text(describe(settings))
    process = subprocess.Popen([sys.executable, "-c", KILLED, killed, file], stderr=subprocess.DEVNULL)
    while len(sample_files(killed)) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = {path: path.read_bytes() for path in sample_files(killed)}
    assert len(before) >= 2
    there = sum(read_samples(path).length for path in before)
    new = label(killed, settings, count=there + 1)
    assert new > 0
    assert all(path.read_bytes() == content for path, content in before.items())
    assert label(whole, settings, count=there + 1) == there + new
    assert units_in(whole) == units_in(killed)
    assert {path.read_bytes() for path in sample_files(whole)} == {path.read_bytes() for path in sample_files(killed)}


def test_interrupted_labelling_ends_between_two_batches(
    tmp_path: Path, records: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, batches = Labeller.labelled, list[Batch]()

    def interrupted(self: Labeller, batch: Batch) -> LabelledBatch:
        batches.append(batch)
        signal.raise_signal(signal.SIGTERM)
        time.sleep(0.1)
        return original(self, batch)

    monkeypatch.setattr(Labeller, "labelled", interrupted)
    assert label(tmp_path / "samples", config(records, teacher=str(teacher)), count=60) == 0
    assert len(batches) < 10


def test_units_differ(tmp_path: Path, teacher: Path) -> None:
    settings, samples = by_policy(tmp_path, teacher), tmp_path / "samples"
    label(samples, settings, count=1)
    label(samples, settings, count=1 + sum(units_in(samples).values()))
    one, other = (read_samples(path).planes for path in sample_files(samples))
    assert not {planes.tobytes() for planes in one[100:]} & {planes.tobytes() for planes in other[100:]}


def test_a_time_alone_ends_labelling(tmp_path: Path, records: Path, teacher: Path) -> None:
    assert label(tmp_path / "samples", config(records, teacher=str(teacher)), seconds=0.5) > 0
