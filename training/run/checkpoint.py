"""Checkpoints: folders with all of a run's state, each replaced whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from go_rules.machine.files import PUBLIC, write_whole
from training.errors import TrainingError
from training.files import named_errors
from training.samples.origin import Origin

WEIGHTS, AVERAGE, OPTIMISER, STATE = "weights.pt", "average.pt", "optimiser.pt", "state.json"


@dataclass
class Progress:
    """How far a run has come."""

    step: int = 0
    """Steps done."""
    samples: int = 0
    """Positions trained on."""
    records_drawn: int = 0
    """How many of them came from records: the number of the next sample."""
    leg_budget: float = 0.0
    """Seconds of the leg in progress; 0 between two legs."""
    leg_spent: float = 0.0
    """Seconds of the leg that are used up."""
    leg_began: int = 0
    """Steps that were done when the leg began."""
    legs: int = 0
    """Legs completed."""
    origin: Origin = field(default_factory=Origin)
    """The origin of all labels learned from."""

    @property
    def spent(self) -> float:
        """The share of the leg's budget that is used up, 0 to 1."""
        return min(1.0, self.leg_spent / self.leg_budget) if self.leg_budget > 0 else 0.0


@dataclass(frozen=True)
class Checkpoint:
    """All state that a run is resumed from."""

    weights: dict[str, Any]
    average: dict[str, Any]
    optimiser: list[dict[str, Any]]
    progress: Progress


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`. Where this fails, the one before stays. Raises TrainingError."""
    parts = {WEIGHTS: checkpoint.weights, AVERAGE: checkpoint.average, OPTIMISER: checkpoint.optimiser}
    try:
        with _replacement_of(folder) as fresh:
            fresh.mkdir(parents=True)
            for name, part in parts.items():
                buffer = io.BytesIO()
                torch.save(part, buffer)
                write_whole(fresh / name, buffer.getvalue(), PUBLIC, durable=True)
            state = msgspec.json.format(msgspec.json.encode(checkpoint.progress), indent=1)
            write_whole(fresh / STATE, state, PUBLIC, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TrainingError(f"{folder}: the checkpoint was not saved: {reason}; the one before it is kept") from None


def has_checkpoint(folder: Path) -> bool:
    """Return whether there is a checkpoint in `folder`."""
    return _present(folder) is not None


def is_within_leg(folder: Path) -> bool:
    """Return whether the checkpoint in `folder` is of a leg that was interrupted."""
    present = _present(folder)
    return present is not None and _read_progress(present / STATE).leg_budget > 0


def load_checkpoint(folder: Path, device: torch.device) -> Checkpoint:
    """Read a checkpoint. Raises TrainingError where it is damaged or missing."""
    present = _present(folder)
    if present is None:
        raise TrainingError(f"{folder}: there is no checkpoint")
    try:
        weights, average, optimiser = (
            torch.load(present / name, map_location=device, weights_only=True) for name in (WEIGHTS, AVERAGE, OPTIMISER)
        )
    except Exception as error:  # torch and pickle have many errors of their own for damaged content
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TrainingError(f"{present}: a damaged checkpoint: {reason[:200]}") from None
    return Checkpoint(weights, average, optimiser, _read_progress(present / STATE))


def copy_checkpoint(source: Path, target: Path) -> None:
    """Put a copy of a checkpoint in place of `target`. Where this fails, `target` stays. Raises TrainingError."""
    with named_errors(target), _replacement_of(target) as fresh:
        shutil.copytree(source, fresh)


@contextmanager
def _replacement_of(folder: Path) -> Iterator[Path]:
    """Give the path of a new folder for the body to create, which then takes the place of `folder` in one step.

    A kill on the way leaves the new folder or the old one where `_present` finds it. Raises OSError.
    """
    fresh, old = (folder.with_name(folder.name + end) for end in (".new", ".old"))
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        yield fresh
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            os.rename(folder, old)
        os.rename(fresh, folder)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _present(folder: Path) -> Path | None:
    """Return the folder, or what an interrupted replacement left of it, or None."""
    for name in (folder.name, folder.name + ".old"):
        candidate = folder.with_name(name)
        if (candidate / STATE).exists():
            return candidate
    return None


def _read_progress(path: Path) -> Progress:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError) as error:
        raise TrainingError(f"{path}: a damaged checkpoint: {error}") from None
