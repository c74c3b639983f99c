"""Sample files of the earlier version, a .npz each, which `nobi pack` converts. They are written no more."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from training.errors import TrainingError
from training.files import read_arrays
from training.positions.canvas import CANVASES
from training.samples.samples import Samples

FORMAT = "nobi-samples-1"
SUFFIX = ".samples.npz"
MAX_SAMPLES = 1 << 17
"""A file with more samples is damaged or hostile."""
ROUNDING = 1e-3
"""A probability may exceed 1 by this much."""


def older_files(folder: Path) -> list[Path]:
    """List the files of the earlier version in a folder."""
    return sorted(folder.glob(f"[0-9]*{SUFFIX}"))


def read_older_samples(path: Path) -> Samples:
    """Read a file of the earlier version. Raises TrainingError where it is damaged, or something else."""
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
