"""Checkpoints: a folder that holds all of a run's state, replaced whole or not at all."""

from __future__ import annotations

import io
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from training.errors import TrainingError
from training.samples.origin import Origin

WEIGHTS, AVERAGE, OPTIMISER, STATE = "weights.pt", "average.pt", "optimiser.pt", "state.json"


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    """Steps done."""
    samples: int = 0
    """Positions trained on."""
    records_drawn: int = 0
    """Of them, those from records: the next sample's number."""
    leg_budget: float = 0.0
    """Seconds of the leg in progress; a leg ends with the decay of the rate."""
    leg_spent: float = 0.0
    """Seconds of it that are used up."""
    leg_began: int = 0
    """Steps that were done when it began."""
    legs: int = 0
    """Legs completed."""
    origin: Origin = field(default_factory=Origin)
    """Of all labels learned from."""

    @property
    def spent(self) -> float:
        """Share of the leg's budget, 0 to 1."""
        return min(1.0, self.leg_spent / self.leg_budget) if self.leg_budget > 0 else 0.0


@dataclass(frozen=True)
class Checkpoint:
    """What a run is resumed from."""

    weights: dict[str, Any]
    average: dict[str, Any]
    optimiser: list[dict[str, Any]]
    progress: Progress


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace `folder`. When this fails, by a full disk say, what was there stays. Raises TrainingError."""
    fresh = folder.with_name(folder.name + ".new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        parts = {WEIGHTS: checkpoint.weights, AVERAGE: checkpoint.average, OPTIMISER: checkpoint.optimiser}
        for name, part in parts.items():
            buffer = io.BytesIO()
            torch.save(part, buffer)
            _write(fresh / name, buffer.getvalue())
        _write(fresh / STATE, msgspec.json.format(msgspec.json.encode(checkpoint.progress), indent=1))
        _replace(folder, fresh)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        reason = error.strerror or str(error)
        raise TrainingError(f"{folder}: the checkpoint was not saved: {reason}; the one before it is kept") from None


def has_checkpoint(folder: Path) -> bool:
    return _present(folder) is not None


def is_within_leg(folder: Path) -> bool:
    """Whether a leg was interrupted there."""
    present = _present(folder)
    return present is not None and _read_progress(present / STATE).leg_budget > 0


def load_checkpoint(folder: Path, device: torch.device) -> Checkpoint:
    """Read a checkpoint. Raises TrainingError for one that is damaged or missing."""
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
    """Keep a second copy of a checkpoint. When this fails, what was at `target` stays. Raises TrainingError."""
    fresh = target.with_name(target.name + ".new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(source, fresh)
        _replace(target, fresh)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise TrainingError(f"{target}: {error.strerror or error}") from None


def _replace(folder: Path, fresh: Path) -> None:
    """Put `fresh` in the place of `folder`; a kill on the way leaves one of them where `_present` finds it."""
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(folder, old)
    os.rename(fresh, folder)
    shutil.rmtree(old, ignore_errors=True)


def _present(folder: Path) -> Path | None:
    """The folder, or what an interrupted replacement left of it."""
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


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
