"""Whole runs, tiny: resumed to the step, killed, in legs, with labels and without; and what they say of their pace."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from gtp_engine import command_line
from nets.katago.writer import encode_model
from nets.open import open_network
from nobi_machine.progress import StatusLine
from tests.clocks import Clock
from tests.training.games import random_games, read_samples, write_records
from tests.training.networks import NESTED, SHAPE, new_student
from tests.training.pytorch import torch
from tests.training.run.short_runs import config, set_clock, train_steps
from training.config import describe, read_config
from training.errors import TrainingError
from training.files import CHECKPOINT, STUDENT
from training.labels.batches import Batch, BatchLoader
from training.labels.in_advance import label
from training.labels.samples import sample_files
from training.network import Network
from training.run import loop as module
from training.run.checkpoint import Checkpoint, Progress, load_checkpoint
from training.run.loop import DEVICE, POSITIONS, LegClock, Pace, open_run
from training.run.trained_network import read_trained_network
from training.student import learner
from training.student.beginning import read_student
from training.student.learner import LabelMemory, Learner

CPU = torch.device("cpu")


def test_an_interrupted_run_goes_on_to_the_step(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train_steps(whole, config(records), 5, monkeypatch)
    for steps in (2, 1, 2):
        train_steps(parts, config(records), steps, monkeypatch)
    one, other = (load_checkpoint(folder / CHECKPOINT, CPU) for folder in (whole, parts))
    assert one.progress.step == other.progress.step == 5
    assert one.progress.records_drawn == other.progress.records_drawn == 20
    for name, weights in one.weights.items():
        torch.testing.assert_close(other.weights[name], weights, rtol=0, atol=0)


def test_a_leg_ends_with_a_network_and_the_next_begins_with_it_and_nothing_else(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch)
    folder, settings = tmp_path / "run", config(records)
    first = open_run(folder, settings).train(budget=2.0)
    assert first.spent == 1.0
    assert 18 <= first.step <= 20
    name = open_network(folder / STUDENT, precision="fp32").attributes.name
    assert name == f"nobi-b3c16-s{first.samples}"
    card = json.loads((folder / "student.json").read_text())
    assert (card["positions"], card["steps"], card["teachers"]) == (first.samples, first.step, [])
    checkpoint = load_checkpoint(folder / CHECKPOINT, CPU)
    second = checkpoint.progress
    assert (second.legs, second.leg_budget, second.step) == (1, 0.0, first.step)
    assert checkpoint.optimiser is None
    assert checkpoint.average is None
    assert (folder / "leg1.bin.gz").read_bytes() == (folder / STUDENT).read_bytes()
    assert (folder / "progress.jsonl").exists()
    assert read_trained_network(folder).model.name == name  # whatever the next leg begins with

    learner = open_run(folder, settings).learner
    network = Network(read_student(folder / STUDENT))
    for student in (learner.student, learner.average.network):
        torch.testing.assert_close(student.stem.weight, network.stem.weight, rtol=0, atol=0)
    assert not any(part.state for part in learner.optimisers.parts)
    train_steps(folder, settings, 2, monkeypatch)  # but a leg that is interrupted goes on as it was
    interrupted = load_checkpoint(folder / CHECKPOINT, CPU)
    assert interrupted.optimiser is not None
    assert interrupted.average is not None
    assert interrupted.average["updates"] == 2


def test_a_network_without_its_state_is_begun_with(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it comes back from another machine."""
    folder, settings = tmp_path / "run", config(records)
    folder.mkdir()
    (folder / STUDENT).write_bytes(encode_model(new_student(NESTED).to_model("brought", has_optimistic=True)))
    (folder / "student.json").write_text('{"name": "brought", "positions": 700, "steps": 7, "teachers": ["it"]}')
    assert train_steps(folder, settings, 2, monkeypatch).step == 9
    (folder / STUDENT).unlink()
    model, facts = read_trained_network(folder)
    assert model.name == "nobi-b2c16h2nbttf-s708"
    assert facts["teachers"] == ["it"]
    assert train_steps(folder, settings, 1, monkeypatch).step == 10


def test_the_mean_of_runs_that_began_with_one_network(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for seed, folder in enumerate(runs):
        folder.mkdir()
        (folder / STUDENT).write_bytes(encode_model(new_student(NESTED).to_model("brought", has_optimistic=True)))
        (folder / "student.json").write_text('{"name": "brought", "positions": 700, "steps": 7, "teachers": ["it"]}')
        settings = config(records)
        train_steps(folder, replace(settings, run=replace(settings.run, seed=seed)), 2 + seed, monkeypatch)
    one, two = (read_trained_network(folder).model.trunk.stem.weights for folder in runs)
    out = tmp_path / "mean.bin.gz"
    assert command_line.run(["export", *map(str, (*runs, out))]) == 0
    mean = Network(read_student(out)).stem.to_model().weights
    assert not np.allclose(one, two, rtol=1e-6)
    np.testing.assert_allclose(mean, (one + two) / 2, rtol=1e-5, atol=1e-7)
    card = json.loads((tmp_path / "mean.json").read_text())
    assert (card["name"], card["steps"], card["positions"]) == ("nobi-b2c16h2nbttf-s720", 7 + 2 + 3, 700 + 8 + 12)
    shapes = {"wider": replace(NESTED, policy_channels=12), "heads": replace(NESTED, attention_heads=4)}
    for name, shape in shapes.items():
        other = tmp_path / name
        train_steps(other, replace(config(records), network=shape), 1, monkeypatch)
        assert command_line.run(["export", *map(str, (runs[0], other, out))]) == 1
        assert f"{name}: its network has another shape than that of" in capsys.readouterr().err


def test_batches_that_a_teacher_labelled_are_learned_from_again(
    tmp_path: Path, records: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "LabelMemory", partial(LabelMemory, kept=2))
    settings = config(records, teacher=str(teacher), repeats=3, balanced_share=0.0)
    progress = train_steps(tmp_path / "run", settings, 5, monkeypatch)
    assert progress.step == 5
    assert progress.samples == 4 * (5 + 2 * 4)  # from the second step on, each is followed by two more


def test_a_leg_without_a_step_is_told_and_writes_no_network(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch)
    folder = tmp_path / "run"

    def fail_to_learn() -> None:
        with pytest.raises(TrainingError, match=r"nothing was learned: the start took the whole budget of 1\.5 s"):
            open_run(folder, config(records)).train(budget=1.5, began=-5.0)

    fail_to_learn()
    assert not (folder / STUDENT).exists()
    assert not (folder / "leg1.bin.gz").exists()
    first = open_run(folder, config(records)).train(budget=2.0)  # the next leg has its own budget
    assert first.step > 0
    written = (folder / STUDENT).read_bytes()
    fail_to_learn()
    assert (folder / STUDENT).read_bytes() == written
    kept = load_checkpoint(folder / CHECKPOINT, CPU).progress
    assert (kept.step, kept.legs, kept.leg_budget) == (first.step, 1, 0.0)


def test_the_rate_warms_up_in_every_leg(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch)
    shares = []
    original = Learner.step

    def step(self: Learner, batch: Batch, share: float) -> dict[str, torch.Tensor]:
        shares.append(share)
        return original(self, batch, share)

    monkeypatch.setattr(Learner, "step", step)
    lengths = []
    for _ in range(2):
        open_run(tmp_path / "run", config(records)).train(budget=1.0)
        lengths.append(len(shares))
    assert shares[: lengths[0]][:2] == shares[lengths[0] :][:2] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_a_run_says_who_taught_it(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, samples, run = tmp_path / "teacher.bin.gz", tmp_path / "samples", tmp_path / "run"
    taught = new_student().to_model("the-teacher", has_optimistic=True, pass_alive_under_suicide=True)
    teacher.write_bytes(encode_model(taught))
    label(samples, config(records, teacher=str(teacher)), count=20)
    from_files = config(records, records_share=0.0, samples_share=1.0, samples=(str(samples),))
    train_steps(run, from_files, 2, monkeypatch)
    for file in (teacher, *sample_files(samples)):  # what is exported depends on neither
        file.unlink()
    model, facts = read_trained_network(run)
    assert facts["teachers"] == ["the-teacher"]
    assert model.pass_alive_under_suicide
    assert (model.policy.second.weights[0] != model.policy.second.weights[1]).any()  # the optimistic policy is learned


def test_a_damaged_sample_file_loses_nothing(
    tmp_path: Path, records: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, run = tmp_path / "samples", tmp_path / "run"
    label(samples, config(records, teacher=str(teacher)), count=20)
    opened = open_run(run, config(records, records_share=0.0, samples_share=1.0, samples=(str(samples),)))
    original = opened.learner.step

    def step(batch: Batch, share: float) -> None:
        (samples / "19-000001.samples").write_bytes(b"damaged")
        original(batch, share)

    monkeypatch.setattr(opened.learner, "step", step)
    with pytest.raises(TrainingError, match=r"19-000001\.samples: not a sample file"):
        opened.train(budget=1e5)
    assert load_checkpoint(run / CHECKPOINT, CPU).progress.step > 0


def test_a_loss_that_is_no_number_never_replaces_a_checkpoint(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, settings = tmp_path / "run", config(records)
    train_steps(folder, settings, 2, monkeypatch)
    settings = replace(settings, run=replace(settings.run, save_every=1e-9))
    opened = open_run(folder, settings)
    opened.learner.losses = {"total": torch.tensor(float("nan"))}
    monkeypatch.setattr(opened.learner, "step", lambda batch, share: None)
    with pytest.raises(TrainingError, match="no longer a number"):
        opened.train(budget=1e5)
    assert load_checkpoint(folder / CHECKPOINT, CPU).progress.step == 2


def test_a_full_disk_does_not_end_a_run(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = config(records)
    settings = replace(settings, run=replace(settings.run, save_every=1e-9))
    saved = module.save_checkpoint
    failures = iter([True, True])

    def save(folder: Path, checkpoint: Checkpoint) -> None:
        if next(failures, False):
            raise TrainingError("the checkpoint was not saved: No space left on device")
        saved(folder, checkpoint)

    monkeypatch.setattr(module, "save_checkpoint", save)
    train_steps(tmp_path / "run", settings, 4, monkeypatch)
    assert capsys.readouterr().err.count("No space left") == 2
    assert load_checkpoint(tmp_path / "run" / CHECKPOINT, CPU).progress.step == 4


def test_a_leg_ends_within_its_budget(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before training counts, and some of the time is kept for writing the state and the network."""
    clock = set_clock(monkeypatch)
    monkeypatch.setattr(StatusLine, "is_due", property(lambda status: True))
    saved = module.save_checkpoint

    def save(folder: Path, checkpoint: Checkpoint) -> None:
        clock.now += 1.0
        saved(folder, checkpoint)

    monkeypatch.setattr(module, "save_checkpoint", save)
    progress = open_run(tmp_path / "run", config(records)).train(budget=20.0, began=-5.0)
    assert progress.spent == 1.0
    assert 2.0 < progress.reserved < 3.0
    assert 18.0 < clock.now - -5.0 <= 20.5


def test_batches_that_do_not_fit_are_halved(
    tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = config(records)
    settings = replace(settings, run=replace(settings.run, batch=64))
    opened = open_run(tmp_path / "run", settings)
    original = opened.learner.step
    sizes = []

    def step(batch: Batch, share: float) -> dict[str, torch.Tensor]:
        sizes.append(len(batch.global_))
        if sizes[-1] > 16:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        if len(sizes) > 4:
            signal.raise_signal(signal.SIGTERM)
        return original(batch, share)

    monkeypatch.setattr(opened.learner, "step", step)
    progress = opened.train(budget=1e5)
    assert sizes == [64, 32, 16, 16, 16]
    assert (progress.step, progress.samples, progress.records_drawn) == (3, 48, 48)
    assert capsys.readouterr().err.count("memory is full") == 2


def test_memory_for_no_batch_at_all_is_told(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_run(tmp_path / "run", config(records))

    def step(batch: Batch, share: float) -> NoReturn:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(opened.learner, "step", step)
    with pytest.raises(TrainingError, match="memory is full"):
        opened.train(budget=1e5)


def test_a_teacher_labels_records_games_and_sample_files(
    tmp_path: Path, records: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(records, teacher=str(teacher), records_share=0.5, play_share=0.5, canvas_shares={"9": 1.0})
    progress = train_steps(tmp_path / "run", settings, 6, monkeypatch)
    assert 0 < progress.records_drawn < progress.samples

    samples = tmp_path / "samples"
    for share in (0.0, 1.0):
        data = replace(settings.data, records_share=share, play_share=1.0 - share)
        assert label(samples, replace(settings, data=data), count=60) >= 60
    files = sample_files(samples)
    assert {read_samples(path).canvas for path in files} == {9, 19}
    from_files = config(records, records_share=0.0, samples_share=1.0, samples=(str(samples),))
    assert train_steps(tmp_path / "second", from_files, 3, monkeypatch).records_drawn == 0

    def planes(steps: range) -> list[torch.Tensor]:
        batches = BatchLoader(from_files, pass_alive_under_suicide=False, has_teacher=False, pinned=False)
        drawn = [batches.next(step).spatial for step in steps]
        batches.close()
        return drawn

    # A run that goes on sees what it would have seen, not what it began with.
    for one, other in zip(planes(range(6))[4:], planes(range(4, 6)), strict=True):
        assert torch.equal(one, other)


def test_positions_with_balanced_komi_count(
    tmp_path: Path, records: Path, teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, samples in ((0.0, 8), (0.5, 12)):
        settings = config(records, teacher=str(teacher), balanced_share=share)
        assert train_steps(tmp_path / str(share), settings, 2, monkeypatch).samples == samples


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"records_share": 0.0}, "no source"),
        ({"play_share": 1.0}, "data.teacher"),
        ({"records_share": 0.0, "samples_share": 1.0}, "no sample files"),
        ({"rules": {"tibetan": 1.0}}, "tibetan"),
        ({"canvas_shares": {"8": 1.0}}, "8"),
        ({"teacher": "none.bin.gz"}, "none.bin.gz"),
    ],
)
def test_runs_that_cannot_start_say_why(
    tmp_path: Path, records: Path, changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(TrainingError) as caught:
        open_run(tmp_path / "run", config(records, **changes)).train(budget=1.0)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_shape_cannot_go_on(tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(records)
    train_steps(tmp_path / "run", settings, 1, monkeypatch)
    wider = replace(settings, network=replace(SHAPE, channels=24))
    with pytest.raises(TrainingError, match="not of this network"):
        open_run(tmp_path / "run", wider)


TRAIN = """
import sys
from pathlib import Path
from training.config import read_config
from training.run.loop import open_run
open_run(Path(sys.argv[1]), read_config(Path(sys.argv[2]))).train(budget=1e5)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "training.toml"
    settings = config(write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2)))
    always = replace(settings.run, save_every=1e-4)
    file.write_text(describe(replace(settings, run=always)))
    process = subprocess.Popen([sys.executable, "-c", TRAIN, run, file], stderr=subprocess.DEVNULL)
    while not (run / CHECKPOINT).exists() and process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.3)  # it saves nearly all of the time
    process.kill()
    assert process.wait() == -signal.SIGKILL
    saved = load_checkpoint(run / CHECKPOINT, torch.device("cpu")).progress
    assert saved.step > 0
    assert open_run(run, read_config(file)).progress.step == saved.step


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_speeds_and_waits_are_those_since_the_last_line(clock: Clock) -> None:
    pace = Pace(learned=1000)
    with pace.waiting(POSITIONS):
        clock.now += 2.0
    clock.now += 8.0
    assert pace.speeds(made=50, learned=1200, copying=1.0) == (
        20.0,
        "5/s made  20/s learned  waits: positions 20%, copies 10%, device 0%",
    )
    with pace.waiting(DEVICE):
        clock.now += 5.0
    assert pace.speeds(made=100, learned=1200, copying=1.0) == (
        0.0,
        "10/s made  0/s learned  waits: positions 0%, copies 0%, device 100%",
    )


def test_a_legs_end_has_its_time(clock: Clock) -> None:
    progress = Progress(leg_budget=100.0, leg_spent=20.0)
    legs = LegClock(progress, began=-10.0)
    legs.tick()
    assert progress.leg_spent == 30.0  # what was before counts
    legs.longest_save = 2.0
    legs.reserve(unmeasured=10.0)
    assert progress.reserved == pytest.approx(1.0 + 2 * 2.0 + 10.0)
    legs.longest_measure = 4.0
    legs.reserve(unmeasured=10.0)
    assert progress.reserved == pytest.approx(1.0 + 2 * 2.0 + 4.0)
    assert progress.spent == pytest.approx(30.0 / 91.0)
    legs.longest_save = 1000.0
    legs.reserve(unmeasured=0.0)
    assert progress.reserved == 50.0
