"""Labelling in advance, and hard examples: what a student disagrees about with its teacher."""

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


from nets.evaluator import LEAD, WIN
from nets.features import GLOBAL_KOMI, GLOBAL_PASS_ENDS_PHASE
from nets.katago.writer import encode_model
from tests.training.games import random_games, write_records
from tests.training.networks import inputs, new_student, untrained
from tests.training.run.test_loop import config
from training.config import PlayConfig, describe
from training.network import Network, NetworkEvaluation
from training.positions.batch import Batch
from training.positions.canvas import batch_size_on
from training.positions.komi_balancing import KomiBalancing, with_balanced_komi
from training.positions.policy_games import GROUPS
from training.samples.sample_files import read_origin, read_samples, sample_files
from training.samples.samples import HAS_OPTIMISTIC, Samples, pack_planes, pack_probabilities, unpack_planes
from training.student.distiller import Distiller
from training.teacher import labelling
from training.teacher.hard_examples import HardExampleFilter, disagreement
from training.teacher.labelling import HardExampleMiner, HardExampleMining, label, relabelled
from training.teacher.labels import targets_from_teacher
from training.teacher.open import open_teacher


def labels(count: int, canvas: int) -> Samples:
    """A teacher who is sure of the first move, of a win, and of owning everything."""
    planes = np.zeros((count, 22, canvas, canvas), np.uint8)
    planes[:, 0] = 1
    policy = np.zeros((count, canvas * canvas + 1), np.float32)
    policy[:, 0] = 1
    value = np.zeros((count, 3), np.float32)
    value[:, WIN] = 1
    return Samples(
        pack_planes(planes), np.zeros((count, 19), np.float32), pack_probabilities(policy),
        np.zeros((count, 0), np.uint8), np.full(count, -1, np.int16), value, np.zeros((count, 6), np.float32),
        np.full((count, canvas * canvas), 127, np.int8), np.full(count, 255, np.uint8),
    )  # fmt: skip


def test_each_opinion_counts() -> None:
    logits = np.zeros((4, 5), np.float32)
    logits[:, 0] = 50.0
    logits[1] = 0.0
    value = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [1.0, 0, 0]], np.float32)
    ownership = np.ones((4, 4), np.float32)
    ownership[3] = [-1.0, -1.0, 1.0, 1.0]
    teacher = labels(4, 2)
    np.testing.assert_allclose(disagreement(logits, value, ownership, teacher), [0, np.log(5), 2, 4], atol=1e-5)
    planes = unpack_planes(teacher.planes, 2)
    planes[:, 0, 0] = 0  # what lies outside the board does not count
    assert disagreement(logits, value, ownership, teacher._replace(planes=pack_planes(planes)))[3] < 1e-5


def test_the_filter_keeps_the_greatest_of_each_source() -> None:
    random = np.random.default_rng(1)
    filter_ = HardExampleFilter(0.1)
    kept = {"near": [], "far": []}
    for _ in range(100):
        for source, shift in (("near", 0.0), ("far", 5.0)):
            values = (random.random(50) + shift).astype(np.float32)
            kept[source] += values[filter_.pick(source, values)].tolist()
    for source, shift in (("near", 0.0), ("far", 5.0)):
        assert 400 < len(kept[source]) < 650
        assert np.mean(np.array(kept[source]) - shift > 0.85) > 0.9
    assert filter_.line().startswith(f"{sum(map(len, kept.values())):,} of 10,000 kept")


def test_only_hard_examples_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teacher, student = tmp_path / "teacher.bin.gz", tmp_path / "student.bin.gz"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    student.write_bytes(encode_model(untrained(seed=5).to_model("student", has_optimistic=True)))
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = config(records, teacher=str(teacher), records_share=0.5, play_share=0.5, canvas_shares={"9": 1.0})
    labelled = label(tmp_path / "samples", settings, count=300, mining=HardExampleMining(student, 0.25))
    kept = sum(read_samples(path).length for path in sample_files(tmp_path / "samples"))
    assert 0.15 * labelled < kept < 0.45 * labelled
    means = capsys.readouterr().err.splitlines()[-1].split("mean disagreement ")[1].split(", of those kept ")
    assert float(means[1]) > float(means[0]) > 0


@pytest.mark.parametrize("opponent", [0.0, 1.0])
def test_a_student_plays_on_between_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opponent: float) -> None:
    """With all games its own, the teacher is asked for labels only, and those are some moves apart. As an opponent the
    teacher moves in between as well."""
    teacher, student = tmp_path / "teacher.bin.gz", tmp_path / "student.bin.gz"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    student.write_bytes(encode_model(untrained(seed=5).to_model("student", has_optimistic=True)))
    asked = {"teacher": 0, "student": 0}
    original = Network.evaluate

    def counted(self: Network, *arguments: Any) -> NetworkEvaluation:
        asked[self.name] += 1
        return original(self, *arguments)

    monkeypatch.setattr(Network, "evaluate", counted)
    records = write_records(tmp_path / "games.npz", random_games(count=1, length=30, seed=2))
    settings = config(
        records, teacher=str(teacher), records_share=0.0, play_share=1.0, canvas_shares={"9": 1.0}, balanced_share=0.0,
        play=PlayConfig(student=1.0, opponent=opponent, every=5),
    )  # fmt: skip
    steps = 12
    label(
        tmp_path / "samples",
        settings,
        count=steps * batch_size_on(9, settings.run.batch),
        mining=HardExampleMining(student),
    )
    # Every group of games is labelled once, then played four moves on, labelled again, and so on.
    between = (steps - GROUPS) * 4
    assert asked == {"teacher": steps + (between if opponent else 0), "student": steps + between}


def test_a_quick_network_screens_for_a_dear_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick one sees all positions, the teacher only those that are kept, and its labels are what is written."""
    paths = {name: tmp_path / f"{name}.bin.gz" for name in ("teacher", "quick", "student")}
    for seed, (name, path) in enumerate(paths.items()):
        path.write_bytes(encode_model(untrained(seed=seed).to_model(name, has_optimistic=name == "teacher")))
    seen = dict.fromkeys(paths, 0)
    original = Network.evaluate

    def counted(self: Network, *arguments: Any) -> NetworkEvaluation:
        seen[self.name] += len(arguments[0])
        return original(self, *arguments)

    monkeypatch.setattr(Network, "evaluate", counted)
    records = write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    settings = config(records, teacher=str(paths["teacher"]), records_share=0.5, play_share=0.5)
    mining = HardExampleMining(paths["student"], 0.25, paths["quick"])
    done = label(tmp_path / "samples", settings, count=200, mining=mining)
    samples = [read_samples(path) for path in sample_files(tmp_path / "samples")]
    kept = sum(part.length for part in samples)
    assert seen["quick"] >= done
    assert kept < seen["teacher"] < 1.5 * kept  # those with balanced komi twice
    assert kept < 0.6 * done
    assert read_origin(tmp_path / "samples").teachers == ("teacher",)
    teacher = open_teacher(paths["teacher"], torch.device("cpu"))
    for part in samples:
        assert (part.known & HAS_OPTIMISTIC).all()
        planes = torch.from_numpy(unpack_planes(part.planes, part.canvas)).float()
        with torch.no_grad():
            evaluation = teacher.evaluate(planes, torch.from_numpy(part.global_), False)
        torch.testing.assert_close(torch.from_numpy(part.value), evaluation.value, atol=0.05, rtol=0)


@pytest.mark.parametrize("doublings", [0.0, 2.0])
def test_komi_is_balanced_by_the_teacher_that_labels(tmp_path: Path, doublings: float) -> None:
    """Another network found another komi balanced."""
    path = tmp_path / "teacher.bin.gz"
    path.write_bytes(encode_model(untrained().to_model("teacher", has_optimistic=True)))
    teacher = open_teacher(path, torch.device("cpu"))
    spatial, global_ = inputs(3, 9)
    global_[:, [0, GLOBAL_PASS_ENDS_PHASE]] = 0.0
    numbers = torch.tensor([0.0, 1.5]), torch.tensor([0.0, doublings]), torch.tensor([0.0, 0.5])
    made_of = KomiBalancing(torch.tensor([2, 1]), *numbers)
    boards = torch.cat([spatial, spatial[made_of.index]])
    by_another = global_[made_of.index]
    by_another[:, GLOBAL_KOMI] += 3.0
    batch = Batch(
        "test", boards.to(torch.uint8), torch.cat([global_, by_another]), torch.zeros(5, 3, dtype=torch.int16), None,
        True, made_of=made_of,
    )  # fmt: skip
    with torch.no_grad():
        evaluation = teacher.evaluate(spatial, global_, True)
        index = made_of.index
        wanted = with_balanced_komi(
            global_[index], evaluation.score[index, LEAD], torch.full((2,), 81.0), made_of, 1000.0
        )
        again = teacher.evaluate(boards[3:], wanted, True)
    old = targets_from_teacher(teacher.evaluate(boards, batch.global_, True), torch.arange(5), True)
    samples = relabelled(batch, old, np.array([1, 3, 4]), teacher, torch.device("cpu"), 1000.0)
    assert samples.reply.tolist() == [1, 3, 4]
    np.testing.assert_allclose(samples.global_, torch.cat([global_[1:2], wanted]).numpy(), atol=1e-6)
    np.testing.assert_allclose(samples.value[1:], again.value.numpy(), atol=1e-5)
    np.testing.assert_allclose(samples.value[:1], evaluation.value[1:2].numpy(), atol=1e-5)
    only = relabelled(batch, old, np.array([0, 2]), teacher, torch.device("cpu"), 1000.0)
    np.testing.assert_array_equal(only.global_, global_[[0, 2]].numpy())
    kept = relabelled(batch, old, np.array([3]), teacher, torch.device("cpu"), 0.0)
    np.testing.assert_array_equal(kept.global_, global_[[2]].numpy())  # a lead beyond the most


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
from training.samples import sample_files
from training.teacher.labelling import label
from training.config import read_config
sample_files.KEPT_SECONDS = 0.05
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


def test_a_network_agrees_with_itself(tmp_path: Path) -> None:
    path = tmp_path / "student.bin.gz"
    path.write_bytes(encode_model(new_student().to_model("student", has_optimistic=True)))
    miner = HardExampleMiner(HardExampleMining(path), torch.device("cpu"))
    spatial, global_ = inputs(3, 9)
    batch = Batch("test", spatial.to(torch.uint8), global_, torch.zeros(3, 3, dtype=torch.int16), None, True)
    logits, found = miner.compare(batch, labels(3, 9))
    assert logits.shape == (3, 82)
    assert (found > 1).all()
    with torch.no_grad():
        torch.testing.assert_close(logits, new_student()(spatial, global_).policy[:, 0], atol=0.02, rtol=0)  # in bf16


def test_interrupted_labelling_keeps_what_it_did(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, samples = tmp_path / "teacher.bin.gz", tmp_path / "samples"
    teacher.write_bytes(encode_model(new_student().to_model("teacher", has_optimistic=True)))
    original = Distiller.label

    def interrupted(self: Distiller, batch: Batch) -> object:
        signal.raise_signal(signal.SIGTERM)
        return original(self, batch)

    monkeypatch.setattr(Distiller, "label", interrupted)
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
