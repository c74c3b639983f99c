"""Labelling in advance."""

# ruff: noqa: E402
from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")


from nets.features import GLOBAL_KOMI
from nets.katago.writer import encode_model
from tests.training.games import random_games, read_samples, write_records
from tests.training.networks import new_student, untrained
from tests.training.run.short_runs import config
from training.config import PlayConfig, describe
from training.labels import labelling
from training.labels.batches import Batch, BatchLoader
from training.labels.labelling import LabelledBatch, Labeller, label
from training.labels.samples import sample_files
from training.network import Network, NetworkEvaluation
from training.positions.canvas import batch_size_on


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_student_moves_in_its_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """One that always passes ends its games at once; those of the teacher, which begin alike, go on."""
    teacher, student = tmp_path / "teacher.bin.gz", tmp_path / "student.bin.gz"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    student.write_bytes(encode_model(untrained(seed=5).to_model("student", has_optimistic=True)))
    original, finished = Network.evaluate, []

    def passes(self: Network, *arguments: Any) -> NetworkEvaluation:
        evaluation = original(self, *arguments)
        if self.name == "student":
            evaluation.policy[:, -1] = 1000.0
        return evaluation

    closed = BatchLoader.close

    def close(self: BatchLoader) -> None:
        closed(self)
        finished.append(self.finished_games())

    monkeypatch.setattr(Network, "evaluate", passes)
    monkeypatch.setattr(BatchLoader, "close", close)
    play = PlayConfig(student=share, random_moves=0.0)
    settings = config(
        tmp_path / "none", teacher=str(teacher), records_share=0.0, play_share=1.0, canvas_shares={"9": 1.0},
        balanced_share=0.0, rules={"tromp-taylor": 1.0}, play=play,
    )  # fmt: skip
    labelled = label(tmp_path / "samples", settings, count=12 * batch_size_on(9, settings.run.batch), student=student)
    assert sum(read_samples(path).length for path in sample_files(tmp_path / "samples")) == labelled
    assert (finished[0] > 0) == (share == 1.0)


@pytest.mark.parametrize(("most", "changes"), [(0.0, False), (1000.0, True)])
def test_komi_makes_up_for_small_leads_alone(tmp_path: Path, records: Path, most: float, changes: bool) -> None:
    teacher = tmp_path / "teacher.bin.gz"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    settings = config(records, teacher=str(teacher), balanced_share=0.5, own_komi=1.0, balanced_most=most)
    settings = replace(settings, data=replace(settings.data, rules={"tromp-taylor": 1.0}))
    label(tmp_path / "samples", settings, count=30)
    samples = read_samples(sample_files(tmp_path / "samples")[0])
    assert samples.length % 6 == 0  # two of each four positions once more
    komi = set(np.abs(samples.global_[:, GLOBAL_KOMI] * 20).round(1).tolist())
    assert bool(komi - {0.5, 7.5}) == changes  # 0.5 in handicap games


KILLED = """
import sys
from pathlib import Path
from training.config import read_config
from training.labels import samples
from training.labels.labelling import label
samples.KEPT_SECONDS = 0.05
label(Path(sys.argv[1]), read_config(Path(sys.argv[2])))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_process_loses_little_and_repeats_nothing(tmp_path: Path) -> None:
    teacher, samples, file = tmp_path / "teacher.bin.gz", tmp_path / "samples", tmp_path / "label.toml"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = config(
        records, teacher=str(teacher), records_share=0.0, play_share=1.0, canvas_shares={"9": 1.0}, balanced_share=0.0
    )
    file.write_text(describe(settings))
    process = subprocess.Popen([sys.executable, "-c", KILLED, samples, file], stderr=subprocess.DEVNULL)
    while len(sample_files(samples)) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = {path: path.read_bytes() for path in sample_files(samples)}
    assert len(before) >= 3
    written = [read_samples(path).length for path in before]
    steps, batch = steps_of(samples), batch_size_on(9, settings.run.batch)
    assert steps * batch in (sum(written[:-1]), sum(written))  # the last file before a kill may come again
    label(samples, settings, count=2 * batch)
    assert steps_of(samples) == steps + 2
    assert [read_samples(path).length for path in sample_files(samples)[len(before) :]] == [2 * batch]
    assert all(path.read_bytes() == content for path, content in before.items())


def steps_of(samples: Path) -> int:
    """The number of batches that `samples` says are labelled: the positions of each follow from its number."""
    return int(json.loads((samples / labelling.STATE).read_text())["step"])


def test_interrupted_labelling_keeps_what_it_did(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, samples = tmp_path / "teacher.bin.gz", tmp_path / "samples"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    original = Labeller.labelled

    def interrupted(self: Labeller, batch: Batch) -> LabelledBatch:
        signal.raise_signal(signal.SIGTERM)
        return original(self, batch)

    monkeypatch.setattr(Labeller, "labelled", interrupted)
    settings = config(records, teacher=str(teacher))
    for _ in range(2):
        assert label(samples, settings, count=60) == 5  # one of the four was with_balanced_komi
    assert sum(read_samples(path).length for path in sample_files(samples)) == 10


def test_labelling_does_not_repeat_itself(tmp_path: Path, records: Path) -> None:
    """Not its games either, where there are no records to count."""
    teacher, samples = tmp_path / "teacher.bin.gz", tmp_path / "samples"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    settings = config(records, teacher=str(teacher), records_share=0.0, play_share=1.0, canvas_shares={"9": 1.0})
    for _ in range(2):
        label(samples, settings, count=20)
    one, other = (read_samples(path).planes for path in sample_files(samples))
    assert not {planes.tobytes() for planes in one} & {planes.tobytes() for planes in other}


def test_a_time_alone_ends_labelling(tmp_path: Path, records: Path) -> None:
    teacher = tmp_path / "teacher.bin.gz"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    settings = config(records, teacher=str(teacher))
    assert label(tmp_path / "samples", settings, seconds=0.5) > 0
