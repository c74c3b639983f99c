"""Labelling in advance: positions and a teacher's evaluation of them are written to sample files.

On a processor a label costs about as much as a training step, so it pays to learn from each label several times.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config import TrainingConfig
from training.errors import TrainingError
from training.files import write_whole
from training.interruption import interruptible
from training.positions.batch import Batch
from training.samples.origin import Origin, add_origin
from training.samples.sample_files import SampleWriter
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
from training.teacher.open import Teacher, open_teacher

STATE = "labelling.json"


@dataclass(frozen=True)
class HardExampleMining:
    """A student that moves in its share of the games, and how much of what it disagrees about is kept."""

    student: Path
    """A KataGo network, such as Nobi's training writes."""
    share: float = 1.0
    """The share of the labelled positions to keep: those about which the disagreement is greatest."""


class HardExampleMiner:
    """Compares a student's evaluation of positions with the labels that the teacher gave them."""

    def __init__(self, mining: HardExampleMining, device: torch.device, threads: int = 0) -> None:
        """Open the student on the teacher's `device`; `threads` is as in open_teacher. Raises TrainingError."""
        self._network = open_teacher(mining.student, device, threads=threads)
        self._device = device
        self.filter = HardExampleFilter(mining.share)

    @torch.no_grad()
    def policy(self, spatial: Tensor, global_: Tensor, fills_canvas: bool) -> Tensor:
        """Return the student's logits [N, S*S + 1]."""
        return self._network(spatial, global_, fills_canvas).policy

    @torch.no_grad()
    def compare(self, batch: Batch, samples: Samples) -> tuple[Tensor, NDArray[np.float32]]:
        """Return the student's logits [N, S*S + 1] for a batch, and [N]: how far it disagrees with the labels of the
        batch, which `samples` has."""
        planes = batch.spatial.to(self._device).float().contiguous(memory_format=torch.channels_last)
        evaluation = self._network(planes, batch.global_.to(self._device), batch.fills_canvas)
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

    With `mining` only hard examples are written. What an earlier call wrote stays, and its positions are not repeated.
    Return the number of positions labelled. Raises TrainingError.
    """
    if not config.data.teacher:
        raise TrainingError("labelling needs a teacher: set data.teacher")
    distiller = Distiller(config)
    miner = None if mining is None else HardExampleMiner(mining, distiller.device, config.run.threads)
    writer = SampleWriter(folder)
    state = _read_state(folder)
    teacher = distiller.teacher
    assert teacher is not None
    add_origin(folder, Origin((teacher.name,), teacher.has_optimistic, teacher.pass_alive_under_suicide))
    status = StatusLine()
    batches = distiller.batches(state["records_drawn"], state["step"], None if miner is None else miner.policy)
    started, done = time.monotonic(), 0
    try:
        with interruptible() as interrupted:
            while (count is None or done < count) and (seconds is None or time.monotonic() - started < seconds):
                batch, targets, play_on = distiller.label(batches.next(state["step"]))
                samples, logits = samples_from_targets(batch, targets, teacher), None
                if miner is not None:
                    logits, disagreements = miner.compare(batch, samples)
                    samples = samples.chosen(miner.filter.pick(batch.source, disagreements))
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
        _write_state(folder, state)
        writer.close()
    status.show(f"{done:,} positions labelled in {time.monotonic() - started:,.0f} s", final=True)
    if miner is not None:
        status.note(miner.filter.line())
    return done


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


def _read_state(folder: Path) -> dict[str, int]:
    try:
        state = json.loads((folder / STATE).read_text())
        return {"step": int(state["step"]), "records_drawn": int(state["records_drawn"])}
    except FileNotFoundError:
        return {"step": 0, "records_drawn": 0}
    except (OSError, ValueError, KeyError, TypeError):
        raise TrainingError(f"{folder / STATE}: damaged; remove it to begin again from the first record") from None


def _write_state(folder: Path, state: dict[str, int]) -> None:
    write_whole(folder / STATE, json.dumps(state).encode())
