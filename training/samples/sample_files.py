"""Sample files: labelled positions that are kept to be learned from many times.

A file is a .npz with samples of one canvas, named by the canvas and a serial number. It is written whole or not at all,
and never over another one, so several processes can write to one folder.
"""

from __future__ import annotations

import io
import time
from functools import partial
from pathlib import Path

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from training.errors import TrainingError
from training.files import make_folder, read_arrays, write_new
from training.positions.canvas import CANVASES
from training.samples.samples import Samples, concatenate

FORMAT = "nobi-samples-1"
SUFFIX = ".samples.npz"
MAX_SAMPLES = 1 << 17
"""A file with more samples is damaged or hostile."""
KEPT_SECONDS = 120.0
"""A writer keeps no sample in memory for longer, as long as others come: so much is lost where the process is."""
ROUNDING = 1e-3
"""A probability may exceed 1 by this much."""


class SampleWriter:
    """Collects samples and writes them to a folder in files of about `capacity` samples."""

    def __init__(self, folder: Path, capacity: int = 8192) -> None:
        """Create the folder unless it exists. Raises TrainingError."""
        make_folder(folder)
        self._folder, self._capacity = folder, capacity
        self._parts: dict[int, list[Samples]] = {canvas: [] for canvas in CANVASES}
        self._written = time.monotonic()
        self.files = 0
        """Files written so far."""

    def add(self, samples: Samples) -> None:
        """Collect samples, and write all of them when there are enough, or they are KEPT_SECONDS old. Raises
        TrainingError."""
        parts = self._parts[samples.canvas]
        parts.append(samples)
        is_due = time.monotonic() - self._written >= KEPT_SECONDS
        if is_due or sum(part.length for part in parts) >= self._capacity:
            self.close()

    def close(self) -> None:
        """Write what there is, in files that may be small. Raises TrainingError."""
        self._written = time.monotonic()
        for canvas, parts in self._parts.items():
            if parts:
                self._flush(canvas)

    def _flush(self, canvas: int) -> None:
        samples = concatenate(self._parts[canvas])
        write_new(partial(next_path, self._folder, canvas), encode_samples(samples))
        self._parts[canvas] = []
        self.files += 1


def next_path(folder: Path, canvas: int) -> Path:
    """Return the path of the next sample file in a folder."""
    taken = [int(path.name.split(".")[0].split("-")[1]) for path in sample_files(folder, canvas)]
    return folder / f"{canvas:02d}-{max(taken, default=-1) + 1:06d}{SUFFIX}"


def sample_files(folder: Path, canvas: int | None = None) -> list[Path]:
    """List the sample files in a folder, the oldest first; `canvas` restricts them to one canvas."""
    start = "[0-9][0-9]" if canvas is None else f"{canvas:02d}"
    return sorted(
        folder.glob(f"{start}-[0-9][0-9][0-9][0-9][0-9][0-9]{SUFFIX}"), key=lambda path: (path.name[3:], path.name)
    )


def encode_samples(samples: Samples) -> bytes:
    """Return the content of a sample file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=np.array(FORMAT), **samples._asdict())
    return buffer.getvalue()


def read_samples(path: Path) -> Samples:
    """Read a sample file. Raises TrainingError where it is damaged, or something else."""
    version, *arrays = read_arrays(path, ("format", *Samples._fields), "a sample file")
    if version.shape != () or str(version) != FORMAT:
        raise TrainingError(f"{path}: not a sample file of this version")
    samples = Samples(*arrays)
    for name, (dtype, shape) in _layout(samples).items():
        array = getattr(samples, name)
        if array.dtype != dtype or array.shape != shape:
            raise TrainingError(f"{path}: a damaged sample file: {name} has an unexpected shape or type")
    problem = _problem(samples)
    if problem:
        raise TrainingError(f"{path}: a damaged sample file: {problem}")
    return samples


def _problem(samples: Samples) -> str | None:
    """Say what is wrong with the content of arrays that have the right shapes, if anything is."""
    if not all(np.isfinite(array).all() for array in (samples.global_, samples.value, samples.score)):
        return "a label is not finite"
    if (samples.value < 0.0).any() or (samples.value > 1.0 + ROUNDING).any():
        return "a value is no probability"
    canvas = samples.canvas
    if (samples.reply < -1).any() or (samples.reply > canvas * canvas).any():
        return "a reply lies outside the board"
    boards = np.unpackbits(samples.planes[:, 0], axis=1, count=canvas * canvas).reshape(-1, canvas, canvas)
    sides = boards[:, 0].sum(axis=1)[:, None]
    inside = np.arange(canvas)[None] < sides
    if (sides == 0).any() or (boards != inside[:, :, None] * inside[:, None, :]).any():
        return "a board is not a square in the corner of its canvas"
    return None


def _layout(samples: Samples) -> dict[str, tuple[type, tuple[int, ...]]]:
    """Return the dtype and shape that each array must have, given those of `known` and `ownership`."""
    count, canvas = len(samples.known), samples.canvas if samples.ownership.ndim == 2 else 0
    canvas = canvas if canvas in CANVASES and count <= MAX_SAMPLES else 0
    cells = canvas * canvas
    optimistic = cells + 1 if samples.optimistic.size else 0
    return {
        "ownership": (np.int8, (count, cells)),
        "planes": (np.uint8, (count, SPATIAL_PLANES, (cells + 7) // 8)),
        "global_": (np.float32, (count, GLOBAL_FEATURES)),
        "policy": (np.uint8, (count, cells + 1)),
        "optimistic": (np.uint8, (count, optimistic)),
        "reply": (np.int16, (count,)),
        "value": (np.float32, (count, 3)),
        "score": (np.float32, (count, SCORE_COLUMNS)),
        "known": (np.uint8, (count,)),
    }
