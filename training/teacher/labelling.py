"""Labelling in advance: positions and a teacher's evaluation of them are written to sample files.

On a processor a label costs about as much as a training step, so it pays to learn from each label several times.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nets.evaluator import LEAD
from nobi_machine.interruption import interruptible
from training.config import TrainingConfig
from training.errors import TrainingError
from training.files import write_whole
from training.positions.batch import Batch
from training.positions.komi_balancing import with_balanced_komi
from training.samples.sample_files import Origin, SampleWriter
from training.samples.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    pack_samples,
)
from training.status_line import StatusLine
from training.student.distiller import Distiller
from training.student.losses import Targets
from training.teacher.hard_examples import HardExampleFilter, disagreement
from training.teacher.labels import targets_from_teacher
from training.teacher.open import Teacher, open_teacher

STATE = "labelling.json"


@dataclass(frozen=True)
class HardExampleMining:
    """A student that moves in its share of the games, and how much of what it disagrees about is kept."""

    student: Path
    """A KataGo network, such as Nobi's training writes."""
    share: float = 1.0
    """The share of the positions to keep: those about which the disagreement is greatest."""
    screen: Path | None = None
    """A quicker network that plays the teacher's games, and whose labels the student disagrees with: the teacher labels
    only what is kept. None: the teacher does all of it."""


class HardExampleMiner:
    """Compares a student's evaluation of positions with the labels that the teacher gave them."""

    def __init__(
        self, mining: HardExampleMining, device: torch.device, threads: int = 0, balanced_most: float = float("inf")
    ) -> None:
        """Open the student on the teacher's `device`; `threads` is as in open_teacher. Leads of more than
        `balanced_most` points are not balanced by komi. Raises TrainingError."""
        self._network = open_teacher(mining.student, device, threads=threads)
        self._device, self._balanced_most = device, balanced_most
        self.filter = HardExampleFilter(mining.share)
        self.teacher: Teacher | None = None
        """The network on the same device that labels the hard examples once more; None: they keep their labels."""

    @torch.no_grad()
    def policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        """Return the student's logits [N, S*S + 1]."""
        return self._network.evaluate(spatial, global_, fills_canvas).policy

    def mine(self, batch: Batch, targets: Targets, samples: Samples) -> tuple[Samples, Tensor]:
        """Return the hard examples of a batch, whose labels are `targets` and, packed, `samples`; and the student's
        logits [N, S*S + 1] for all of it."""
        logits, disagreements = self.compare(batch, samples)
        kept = self.filter.pick(batch.source, disagreements)
        if self.teacher is None or len(kept) == 0:
            return samples.chosen(kept), logits
        return relabelled(batch, targets, kept, self.teacher, self._device, self._balanced_most), logits

    @torch.no_grad()
    def compare(self, batch: Batch, samples: Samples) -> tuple[Tensor, NDArray[np.float32]]:
        """Return the student's logits [N, S*S + 1] for a batch, and [N]: how far it disagrees with the labels of the
        batch, which `samples` has."""
        planes = batch.spatial.to(self._device).float().contiguous(memory_format=torch.channels_last)
        evaluation = self._network.evaluate(planes, batch.global_.to(self._device), batch.fills_canvas)
        parts = (evaluation.policy, evaluation.value, evaluation.ownership)
        policy, value, ownership = (part.cpu().numpy() for part in parts)
        return evaluation.policy, disagreement(policy, value, ownership, samples)


def label(
    folder: Path,
    config: TrainingConfig,
    count: int | None = None,
    seconds: float | None = None,
    mining: HardExampleMining | None = None,
) -> int:
    """Label about `count` positions, for `seconds` at most, and write them to sample files in `folder`.

    With `mining` only hard examples are written. What an earlier call wrote stays, and its positions are not repeated,
    however that call ended. Return the number of positions looked at. Raises TrainingError.
    """
    if not config.data.teacher:
        raise TrainingError("labelling needs a teacher: set data.teacher")
    screen = None if mining is None else mining.screen
    distiller = Distiller(config if screen is None else _taught_by(config, screen))
    teacher = first_teacher = distiller.teacher
    assert first_teacher is not None
    assert teacher is not None
    miner = None
    if mining is not None:
        miner = HardExampleMiner(mining, distiller.device, config.run.threads, config.data.balanced_most)
        if screen is not None:
            teacher = miner.teacher = _second_teacher(config, distiller, first_teacher)
    state = _read_state(folder)
    origin = Origin((teacher.name,), teacher.has_optimistic, teacher.pass_alive_under_suicide)
    writer = SampleWriter(folder, origin)
    status = StatusLine()
    batches = distiller.batches(state["records_drawn"], state["step"], None if miner is None else miner.policy)
    started, done = time.monotonic(), 0
    try:
        with interruptible() as interrupted:
            while (count is None or done < count) and (seconds is None or time.monotonic() - started < seconds):
                batch, targets, play_on = distiller.label(batches.next(state["step"]))
                samples, logits = samples_from_targets(batch, targets, first_teacher), None
                if miner is not None:
                    samples, logits = miner.mine(batch, targets, samples)
                files = writer.files
                if samples.length:
                    writer.add(samples)
                play_on(logits)
                done += len(batch.global_)
                state["step"] += 1
                state["records_drawn"] = batches.records_drawn
                if writer.files != files:
                    _write_state(folder, state)
                speed = done / (time.monotonic() - started)
                goal = "" if count is None else f" of {count:,}"
                status.show(f"{done:,}{goal} positions labelled, {speed:,.0f}/s, {batches.finished_games()} games")
                if interrupted.is_set():
                    break
    finally:
        batches.close()
        writer.close()
        _write_state(folder, state)
    status.show(f"{done:,} positions labelled in {time.monotonic() - started:,.0f} s", final=True)
    if miner is not None:
        status.note(miner.filter.line())
    return done


@torch.no_grad()
def relabelled(
    batch: Batch,
    targets: Targets,
    chosen: NDArray[np.int64],
    teacher: Teacher,
    device: torch.device,
    balanced_most: float = float("inf"),
) -> Samples:
    """Have a teacher on `device` label the chosen positions, at least one, in rising order, of a batch that has other
    `targets`.

    What was made of others of the batch with balanced komi (`batch.made_of`) gets the komi that this teacher finds
    balanced; leads beyond `balanced_most` points stay.
    """
    index = torch.from_numpy(chosen)
    made_of = batch.made_of
    first = len(batch.global_) - (0 if made_of is None else len(made_of.index))
    copies = index[index >= first] - first
    source = index.clone()
    if made_of is not None:
        made_of = made_of.chosen(copies)
        source[index >= first] = made_of.index
    planes = batch.spatial[source].to(device).float().contiguous(memory_format=torch.channels_last)
    global_ = batch.global_[source].to(device)
    if made_of is not None and len(copies):
        balanced, own = planes[-len(copies) :], global_[-len(copies) :]
        lead = teacher.evaluate(balanced, own, batch.fills_canvas).score[:, LEAD]
        area = balanced[:, 0].sum((1, 2))
        own = with_balanced_komi(own, lead, area, made_of.to(device), balanced_most)
        global_ = torch.cat([global_[: -len(copies)], own])
    evaluation = teacher.evaluate(planes, global_, batch.fills_canvas)
    new = targets_from_teacher(evaluation, targets.reply[index].to(device), teacher.has_errors)
    part = replace(batch, spatial=batch.spatial[index], global_=global_.to("cpu"), made_of=None)
    return samples_from_targets(part, new.to(torch.device("cpu")), teacher)


def samples_from_targets(batch: Batch, targets: Targets, teacher: Teacher) -> Samples:
    """Convert a batch on the CPU and the targets that a teacher gave it to samples."""
    known = HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP
    known |= (HAS_OPTIMISTIC if teacher.has_optimistic else 0) | (HAS_ERRORS if teacher.has_errors else 0)
    return pack_samples(
        batch.spatial.numpy(),
        batch.global_.numpy().copy(),
        targets.policy.numpy(),
        targets.value.numpy().astype(np.float32),
        targets.score.numpy().astype(np.float32),
        targets.ownership.numpy(),
        np.full(len(batch.global_), known, np.uint8),
        targets.optimistic.numpy(),
        targets.reply.numpy().astype(np.int16),
    )


def _taught_by(config: TrainingConfig, teacher: Path) -> TrainingConfig:
    return replace(config, data=replace(config.data, teacher=str(teacher)))


def _second_teacher(config: TrainingConfig, distiller: Distiller, first: Teacher) -> Teacher:
    """Open the configuration's teacher beside the one that the distiller has. Raises TrainingError."""
    run = config.run
    second = open_teacher(Path(config.data.teacher), distiller.device, run.teacher_precision, run.threads)
    if second.pass_alive_under_suicide != first.pass_alive_under_suicide:
        raise TrainingError(f"{first.name} cannot screen for {second.name}: pass-alive groups are other features")
    return second


def _read_state(folder: Path) -> dict[str, int]:
    try:
        state = json.loads((folder / STATE).read_bytes())
        return {"step": int(state["step"]), "records_drawn": int(state["records_drawn"])}
    except FileNotFoundError:
        return {"step": 0, "records_drawn": 0}
    except (OSError, ValueError, KeyError, TypeError):
        raise TrainingError(f"{folder / STATE}: damaged; remove it to begin again from the first record") from None


def _write_state(folder: Path, state: dict[str, int]) -> None:
    write_whole(folder / STATE, json.dumps(state).encode())
