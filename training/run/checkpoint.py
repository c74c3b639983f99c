"""Checkpoints: folders with all of a run's state, each replaced whole or not at all.

    part1.pt, part2.pt, ...   the weights and, within a leg, their average and the optimisers' state, as one torch file
                              cut in pieces
    state.json                the progress, and the checksum of each piece

Pieces are small enough for whatever carries a run to another machine file by file.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import torch

from go_rules.machine.files import PUBLIC, read_regular, write_whole
from training.errors import TrainingError
from training.samples.sample_files import Origin

STATE = "state.json"
WEIGHTS, AVERAGE, OPTIMISER = "weights", "average", "optimiser"
PART_BYTES = 15 << 20
"""The size of a piece; the last one may be smaller."""
MOST_PARTS = 1000

Content = TypeVar("Content")


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


class _Parts(msgspec.Struct):
    """The part of state.json about the pieces. Checkpoints of earlier versions have none."""

    parts: tuple[str, ...] = ()
    """SHA-256 of each piece."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`. Where this fails, the one before stays. Raises TrainingError."""
    buffer = io.BytesIO()
    torch.save(
        {WEIGHTS: checkpoint.weights, AVERAGE: checkpoint.average, OPTIMISER: checkpoint.optimiser},
        buffer,
    )
    content = buffer.getvalue()
    pieces = [content[first : first + PART_BYTES] for first in range(0, len(content), PART_BYTES)]
    checksums = [hashlib.sha256(piece).hexdigest() for piece in pieces]
    state = {**msgspec.to_builtins(checkpoint.progress), "parts": checksums}
    try:
        with _replacement_of(folder) as fresh:
            fresh.mkdir(parents=True)
            for number, piece in enumerate(pieces, 1):
                write_whole(fresh / _part_name(number), piece, PUBLIC, durable=True)
            write_whole(fresh / STATE, msgspec.json.format(msgspec.json.encode(state), indent=1), PUBLIC, durable=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise TrainingError(f"{folder}: the checkpoint was not saved: {reason}; the one before it is kept") from None


def has_checkpoint(folder: Path) -> bool:
    """Return whether there is a checkpoint in `folder`."""
    return _present(folder) is not None


def is_within_leg(folder: Path) -> bool:
    """Return whether the checkpoint in `folder` is of a leg that was interrupted."""
    present = _present(folder)
    return present is not None and _read_state(present, Progress).leg_budget > 0


def load_checkpoint(folder: Path, device: torch.device) -> Checkpoint:
    """Read a checkpoint. Raises TrainingError where it is damaged or missing."""
    present = _present(folder)
    if present is None:
        raise TrainingError(f"{folder}: there is no checkpoint")
    loaded = _load(present, _joined(present, _read_state(present, _Parts).parts), device)
    try:
        return Checkpoint(loaded[WEIGHTS], loaded[AVERAGE], loaded[OPTIMISER], _read_state(present, Progress))
    except (KeyError, TypeError):
        raise TrainingError(f"{present}: a damaged checkpoint: it lacks a part of the state") from None


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


def _part_name(number: int) -> str:
    return f"part{number}.pt"


def _joined(folder: Path, checksums: tuple[str, ...]) -> bytes:
    """Read the pieces of a checkpoint. Raises TrainingError where one is not what was written."""
    if not checksums:
        raise TrainingError(f"{folder}: a checkpoint of an earlier version, which this one cannot resume")
    if len(checksums) > MOST_PARTS:
        raise TrainingError(f"{folder}: a damaged checkpoint: {len(checksums)} pieces")
    pieces = []
    for number, checksum in enumerate(checksums, 1):
        path = folder / _part_name(number)
        try:
            piece = read_regular(path, PART_BYTES)
        except OSError as error:
            raise TrainingError(f"{path}: a damaged checkpoint: {error.strerror or error}") from None
        if hashlib.sha256(piece).hexdigest() != checksum:
            raise TrainingError(f"{path}: a damaged checkpoint: this piece is not what was written")
        pieces.append(piece)
    return b"".join(pieces)


def _load(folder: Path, content: bytes, device: torch.device) -> Any:
    try:
        return torch.load(io.BytesIO(content), map_location=device, weights_only=True)
    except Exception as error:  # torch and pickle have many errors of their own for damaged content
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TrainingError(f"{folder}: a damaged checkpoint: {reason[:200]}") from None


def _read_state(folder: Path, kind: type[Content]) -> Content:
    path = folder / STATE
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise TrainingError(f"{path}: a damaged checkpoint: {error}") from None
