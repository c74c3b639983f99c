"""Labelling in advance: positions and a teacher's opinion of them, written to sample files.

Where a label costs as much as a training step, on a CPU, each is worth being learned from several times.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from training.config import TrainingConfig
from training.errors import TrainingError
from training.files import write_whole
from training.positions.feed import Feed, Item
from training.run.interruption import interruptible
from training.run.progress import Reporter
from training.samples.origin import Origin, add_origin
from training.samples.sample_files import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    SampleWriter,
    pack_planes,
    pack_probabilities,
)
from training.student.distiller import Distiller
from training.student.losses import Targets
from training.teacher.disagreement import Selection
from training.teacher.hard_examples import Doubter

STATE = "labelling.json"


@dataclass(frozen=True)
class Doubts:
    """A student that moves in its share of the games, and keeps what it disagrees about."""

    student: Path
    """A KataGo network, such as Nobi's training writes."""
    share: float = 1.0
    """Of the positions labelled, those to keep."""


def label(
    folder: Path,
    config: TrainingConfig,
    count: int | None = None,
    seconds: float | None = None,
    doubts: Doubts | None = None,
) -> int:
    """Label about `count` more positions, for `seconds` at most, and write them, or those that are doubted, to
    `folder`. What an earlier call wrote stays, and its positions are not repeated. Returns the number labelled. Raises
    TrainingError."""
    if not config.data.teacher:
        raise TrainingError("labelling needs a teacher: set data.teacher")
    distiller = Distiller(config)
    doubter = None if doubts is None else Doubter(doubts.student, distiller.device, config.run.threads)
    selection = Selection(1.0 if doubts is None else doubts.share)
    writer = SampleWriter(folder)
    state = _read_state(folder)
    teacher = distiller.teacher
    assert teacher is not None
    add_origin(folder, Origin((teacher.name,), teacher.has_optimistic, teacher.pass_alive_under_suicide))
    reporter = Reporter(folder)
    feed = Feed(
        config,
        pass_alive_under_suicide=distiller.pass_alive_under_suicide,
        has_teacher=True,
        pinned=distiller.device.type == "cuda",
        player=partial(distiller.play, student=None if doubter is None else doubter.policy),
        records_drawn=state["records_drawn"],
        first_step=state["step"],
    )
    started, done = time.monotonic(), 0
    try:
        with interruptible() as interrupted:
            while (count is None or done < count) and (seconds is None or time.monotonic() - started < seconds):
                item, targets, go_on = distiller.label(feed.next(state["step"]))
                samples, logits = samples_of(item, targets, distiller), None
                if doubter is not None:
                    logits, disagreements = doubter(item, samples)
                    samples = samples.chosen(selection.pick(item.source, disagreements))
                files = writer.files
                if samples.length:
                    writer.add(samples)
                go_on(logits)
                done += len(item.global_)
                state["step"] += 1
                state["records_drawn"] = feed.records_drawn
                if writer.files != files:
                    _write_state(folder, state)
                speed = done / (time.monotonic() - started)
                goal = "" if count is None else f" of {count:,}"
                reporter.line(f"{done:,}{goal} positions labelled, {speed:,.0f}/s, {feed.finished_games()} games")
                if interrupted.is_set():
                    break
    finally:
        feed.close()
        _write_state(folder, state)
        writer.close()
    reporter.line(f"{done:,} positions labelled in {time.monotonic() - started:,.0f} s", final=True)
    if doubter is not None:
        reporter.note(selection.line())
    return done


def samples_of(item: Item, targets: Targets, distiller: Distiller) -> Samples:
    """A labelled batch as samples."""
    known = HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP
    teacher = distiller.teacher
    assert teacher is not None
    known |= (HAS_OPTIMISTIC if teacher.has_optimistic else 0) | (HAS_ERRORS if teacher.has_errors else 0)
    return Samples(
        planes=pack_planes(item.spatial.numpy()),
        global_=item.global_.numpy().copy(),
        policy=pack_probabilities(targets.policy.numpy()),
        optimistic=pack_probabilities(targets.optimistic.numpy()),
        reply=targets.reply.numpy().astype(np.int16),
        value=targets.value.numpy().astype(np.float32),
        score=targets.score.numpy().astype(np.float32),
        ownership=torch.round(targets.ownership * 127.0).to(torch.int8).numpy(),
        known=np.full(len(item.global_), known, np.uint8),
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
