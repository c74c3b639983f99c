"""Sample files: positions with what they should evaluate to, compact, kept to be learned from many times.

A file is a .npz of one canvas. Planes are packed to bits; probabilities are square roots in 1/255, precise where a
policy is small; ownership in 1/127. Files are written whole and renamed into place, named by a serial number in their
folder.
"""

from __future__ import annotations

import io
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from nets.symmetry import symmetry_images
from training.errors import TrainingError
from training.files import make_folder, write_new
from training.positions.batch import CANVASES
from training.positions.work import SYMMETRIES
from training.samples.npz import read_arrays

FORMAT = "nobi-samples-1"
SUFFIX = ".samples.npz"
MAX_SAMPLES = 1 << 17
"""In a file: a larger number is a damaged or hostile one."""

ROUNDING = 1e-3
"""By so much a probability may exceed 1."""

HAS_POLICY, HAS_OPTIMISTIC, HAS_VALUE, HAS_SCORE, HAS_ERRORS, HAS_OWNERSHIP = 1, 2, 4, 8, 16, 32
"""Bits of `known`."""


class Samples(NamedTuple):
    """N labelled positions on a canvas of S×S as a file holds them; the side to move's view."""

    planes: NDArray[np.uint8]
    """[N, 22, ceil(S*S / 8)] packed bits"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    policy: NDArray[np.uint8]
    """[N, S*S + 1] 255 * sqrt(probability)"""
    optimistic: NDArray[np.uint8]
    """[N, S*S + 1], or [N, 0] in files without"""
    reply: NDArray[np.int16]
    """[N] the opponent's next move as a cell, -1 unknown"""
    value: NDArray[np.float32]
    """[N, 3]"""
    score: NDArray[np.float32]
    """[N, 6]"""
    ownership: NDArray[np.int8]
    """[N, S*S] 127 * ownership"""
    known: NDArray[np.uint8]
    """[N] HAS_* bits: which labels there are"""

    @property
    def canvas(self) -> int:
        return round(self.ownership.shape[1] ** 0.5)

    @property
    def length(self) -> int:
        return len(self.global_)

    def chosen(self, index: NDArray[np.int64]) -> Samples:
        """Some of them."""
        return Samples._make(array[index] for array in self)


def pack_planes(spatial: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[N, 22, S, S] zeros and ones to bits."""
    return np.packbits(spatial.reshape(*spatial.shape[:2], -1), axis=2)


def unpack_planes(planes: NDArray[np.uint8], canvas: int) -> NDArray[np.uint8]:
    """The inverse of `pack_planes`."""
    bits = np.unpackbits(planes, axis=2, count=canvas * canvas)
    return bits.reshape(*planes.shape[:2], canvas, canvas)


def pack_probabilities(probabilities: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.rint(np.sqrt(np.clip(probabilities, 0.0, 1.0)) * 255.0).astype(np.uint8)


def unpack_probabilities(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """They sum to 1 again, in each row that has any."""
    squares = np.square(packed.astype(np.float32))
    return squares / np.maximum(squares.sum(axis=1, keepdims=True), 1.0)


def concatenate(parts: list[Samples]) -> Samples:
    """Samples of one canvas, one after another."""
    return Samples._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def turned(samples: Samples, symmetries: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Samples]:
    """The planes [N, 22, S, S] and all labels turned, each sample by its symmetry."""
    canvas = samples.canvas
    planes = unpack_planes(samples.planes, canvas).reshape(samples.length, SPATIAL_PLANES, -1)
    sizes = planes[:, 0, :canvas].sum(axis=1)
    source = np.stack([_sources(int(n), canvas, int(s)) for n, s in zip(sizes, symmetries, strict=True)])
    rows = np.arange(samples.length)[:, None]
    destination = np.argsort(source, axis=1)
    moves = np.concatenate([source, np.full((samples.length, 1), canvas * canvas)], axis=1)
    reply = samples.reply.astype(np.int64)
    on_board = (reply >= 0) & (reply < canvas * canvas)
    reply[on_board] = destination[rows[on_board, 0], reply[on_board]]
    spatial = np.take_along_axis(planes, source[:, None, :], axis=2).reshape(-1, SPATIAL_PLANES, canvas, canvas)
    return spatial, samples._replace(
        policy=samples.policy[rows, moves],
        optimistic=samples.optimistic[rows, moves] if samples.optimistic.shape[1] else samples.optimistic,
        reply=reply.astype(np.int16),
        ownership=samples.ownership[rows, source],
    )


@cache
def _sources(size: int, canvas: int, symmetry: int) -> NDArray[np.int64]:
    """[S*S]: which cell comes to each cell when a board of size×size is turned; cells outside it stay."""
    rows, columns = np.divmod(np.arange(size * size), size)
    new_rows, new_columns = np.divmod(symmetry_images(size, size)[symmetry][:-1].astype(np.int64), size)
    table = np.arange(canvas * canvas)
    table[new_rows * canvas + new_columns] = rows * canvas + columns
    return table


class SampleWriter:
    """Writes samples to a folder, in files of `capacity`."""

    def __init__(self, folder: Path, capacity: int = 8192) -> None:
        """Raises TrainingError where the folder cannot be made."""
        make_folder(folder)
        self._folder, self._capacity = folder, capacity
        self._parts: dict[int, list[Samples]] = {canvas: [] for canvas in CANVASES}
        self.files = 0
        """Files written so far."""

    def add(self, samples: Samples) -> None:
        """Keep samples, writing a file as often as there are enough. Raises TrainingError."""
        parts = self._parts[samples.canvas]
        parts.append(samples)
        if sum(part.length for part in parts) >= self._capacity:
            self._flush(samples.canvas)

    def close(self) -> None:
        """Write what is left, in smaller files."""
        for canvas, parts in self._parts.items():
            if parts:
                self._flush(canvas)

    def _flush(self, canvas: int) -> None:
        samples = concatenate(self._parts[canvas])
        write_new(partial(next_path, self._folder, canvas), encode_samples(samples))
        self._parts[canvas] = []
        self.files += 1


def next_path(folder: Path, canvas: int) -> Path:
    """A name not yet used: canvas and serial number."""
    taken = [int(path.name.split(".")[0].split("-")[1]) for path in sample_files(folder, canvas)]
    return folder / f"{canvas:02d}-{max(taken, default=-1) + 1:06d}{SUFFIX}"


def sample_files(folder: Path, canvas: int | None = None) -> list[Path]:
    """The sample files in a folder, oldest first."""
    start = "[0-9][0-9]" if canvas is None else f"{canvas:02d}"
    return sorted(
        folder.glob(f"{start}-[0-9][0-9][0-9][0-9][0-9][0-9]{SUFFIX}"), key=lambda path: (path.name[3:], path.name)
    )


def encode_samples(samples: Samples) -> bytes:
    """The content of a sample file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=np.array(FORMAT), **samples._asdict())
    return buffer.getvalue()


def read_samples(path: Path) -> Samples:
    """Read a sample file. Raises TrainingError for one that is damaged or something else."""
    version, *arrays = read_arrays(path, ("format", *Samples._fields), "a sample file")
    if version.shape != () or str(version) != FORMAT:
        raise TrainingError(f"{path}: not a sample file of this version")
    samples = Samples(*arrays)
    for name, (dtype, shape) in _layout(samples).items():
        array = getattr(samples, name)
        if array.dtype != dtype or array.shape != shape:
            raise TrainingError(f"{path}: a damaged sample file: {name} has an unexpected shape or type")
    objection = _objection(samples)
    if objection:
        raise TrainingError(f"{path}: a damaged sample file: {objection}")
    return samples


def _objection(samples: Samples) -> str | None:
    """What is wrong with the content of arrays that have the right shapes."""
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
    """What dtype and shape each array must have, given the number of samples and the canvas of `ownership`."""
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


def random_symmetries(count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """One for each of `count` samples."""
    return generator.integers(0, SYMMETRIES, count)
