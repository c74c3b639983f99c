"""Checkpoints: all state of a run in one file, replaced whole or not at all.

It is a file of PyTorch's: the weights and, within a leg, their average and the optimisers' state; and the progress, as
JSON.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from nobi_machine.files import PUBLIC, opened_regular, write_whole
from training.errors import TrainingError
from training.labels.samples import Origin


@dataclass
class Progress:
    """How far a run has come."""

    step: int = 0
    """Steps done."""
    samples: int = 0
    """Positions trained on."""
    records_drawn: int = 0
    """How many of them it drew from records itself: the number of the next sample."""
    leg_budget: float = 0.0
    """Seconds of the leg in progress; 0 between two legs."""
    leg_spent: float = 0.0
    """Seconds of the leg that are used up."""
    leg_began: int = 0
    """Steps that were done when the leg began."""
    reserved: float = 0.0
    """Seconds of the leg's budget that its end needs: measuring the network, and writing it and the state."""
    legs: int = 0
    """Legs completed."""
    origin: Origin = field(default_factory=Origin)
    """The origin of all labels learned from."""
    began_as: str = ""
    """The name of the network without a known origin whose weights, or a part of them, these began as; "" if none."""

    @property
    def spent(self) -> float:
        """The share of the leg's training time that is used up, 0 to 1."""
        seconds = self.leg_budget - self.reserved
        return min(1.0, self.leg_spent / seconds) if seconds > 0 else 0.0


@dataclass(frozen=True)
class Checkpoint:
    """All state that a run is resumed from."""

    weights: dict[str, Any]
    average: dict[str, Any] | None
    """The average of the weights; None between two legs, when it is what the weights are."""
    optimiser: list[dict[str, Any]] | None
    """The state of the optimisers; None between two legs: each begins with a warm-up."""
    progress: Progress


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint at `path`. Where this fails, the one before stays. Raises TrainingError."""
    buffer = io.BytesIO()
    torch.save({**vars(checkpoint), "progress": msgspec.json.encode(checkpoint.progress).decode()}, buffer)
    try:
        write_whole(path, buffer.getvalue(), PUBLIC, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TrainingError(f"{path}: the checkpoint was not saved: {reason}; the one before it is kept") from None


def is_within_leg(path: Path) -> bool:
    """Return whether there is a checkpoint at `path`, of a leg that was interrupted. Raises TrainingError where it is
    damaged."""
    return path.exists() and load_checkpoint(path, torch.device("cpu")).progress.leg_budget > 0


def load_checkpoint(path: Path, device: torch.device) -> Checkpoint:
    """Read a checkpoint. Raises TrainingError where it is damaged or missing."""
    if not path.exists():
        raise TrainingError(f"{path}: there is no checkpoint")
    try:
        with opened_regular(path) as file:
            damaged = zipfile.ZipFile(file).testzip()  # torch.load does not compare checksums
            if damaged is not None:
                raise TrainingError(f"{path}: a damaged checkpoint: {damaged} is not what was written")
            file.seek(0)
            loaded = torch.load(file, map_location=device, weights_only=True)
        return Checkpoint(**{**loaded, "progress": msgspec.json.decode(loaded["progress"], type=Progress)})
    except TrainingError:
        raise
    except Exception as error:  # torch and pickle have many errors of their own for damaged content
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TrainingError(f"{path}: a damaged checkpoint: {reason[:200]}") from None
