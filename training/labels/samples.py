"""Samples: labelled positions in a compact form, and the files in which they are kept to be learned from many times.

Planes are packed to bits; probabilities are stored as square roots in steps of 1/255, precise where a policy is small;
ownership in steps of 1/16: a mean square error of 0.0003, for half of the bytes in a file.

A file is a compressed .npz archive: the arrays of `Samples`, all of one canvas, and `origin`, which says where the
labels come from. In a folder, writers name their files by the canvas and a serial number; files of other names are read
as well. Each is written whole or not at all, and never over another one, so several processes can write to one folder.
"""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from training.errors import TrainingError
from training.files import make_folder, opened_arrays, write_new
from training.positions.canvas import CANVASES

HAS_POLICY, HAS_OPTIMISTIC, HAS_VALUE, HAS_SCORE, HAS_ERRORS, HAS_OWNERSHIP = 1, 2, 4, 8, 16, 32
"""Bits of `Samples.known`, one for each kind of label."""
OWNERSHIP_STEPS = 16

SUFFIX = ".samples"
WHAT = "a sample file of this version"
NAME = re.compile(r"(\d\d)-(\d{6})\.samples")
FULL = 1 << 11
"""Samples of a file of self-play that is full, and has a few more. They are few, since they take minutes to make."""
MAX_SAMPLES, MAX_BYTES = 1 << 14, 1 << 26
"""The most of a file; larger ones are damaged or hostile."""
LONGEST_ORIGIN = 1 << 16
"""The most bytes of a file's origin."""
KEPT_SECONDS = 120.0
"""A writer keeps no sample in memory for longer, as long as others come: so much is lost where the process is."""
ROUNDING = 1e-2
"""By so much the probabilities of a value may miss 1: bf16 does so by a half of it."""


class Samples(NamedTuple):
    """N labelled positions on a canvas of S×S, from the view of the side to move."""

    planes: NDArray[np.uint8]
    """[N, 22, ceil(S*S / 8)] packed bits"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    policy: NDArray[np.uint8]
    """[N, S*S + 1] 255 * sqrt(probability)"""
    optimistic: NDArray[np.uint8]
    """[N, S*S + 1] as `policy`; zeros where it is not known"""
    reply: NDArray[np.int16]
    """[N] the cell of the opponent's next move, -1 unknown"""
    value: NDArray[np.float32]
    """[N, 3] probabilities of win, loss, no result"""
    score: NDArray[np.float32]
    """[N, 6] the columns of `Evaluation.score`"""
    ownership: NDArray[np.int8]
    """[N, S*S] 127 * ownership"""
    known: NDArray[np.uint8]
    """[N] HAS_* bits: which labels each sample has"""

    @property
    def canvas(self) -> int:
        """The number of lines, S, of the canvas."""
        return round(self.ownership.shape[1] ** 0.5)

    @property
    def length(self) -> int:
        """The number of samples."""
        return len(self.global_)

    def chosen(self, index: slice | NDArray[np.int64]) -> Samples:
        """Return the samples with these indices."""
        return Samples._make(array[index] for array in self)


def pack_planes(spatial: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack planes [N, 22, S, S] of zeros and ones to bits."""
    return np.packbits(spatial.reshape(*spatial.shape[:2], -1), axis=2)


def unpack_planes(planes: NDArray[np.uint8], canvas: int) -> NDArray[np.uint8]:
    """Unpack bits to planes [N, 22, S, S]: the inverse of `pack_planes`."""
    bits = np.unpackbits(planes, axis=2, count=canvas * canvas)
    return bits.reshape(*planes.shape[:2], canvas, canvas)


def pack_probabilities(probabilities: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Store probabilities as their square roots in steps of 1/255."""
    return np.rint(np.sqrt(np.clip(probabilities, 0.0, 1.0)) * 255.0).astype(np.uint8)


def unpack_probabilities(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return probabilities [N, ...] that sum to 1 again in each row that has any: `pack_probabilities` undone."""
    squares: NDArray[np.float32] = np.square(packed.astype(np.float32))
    totals: NDArray[np.float32] = np.maximum(squares.sum(axis=1, keepdims=True), 1.0)
    return squares / totals


def pack_samples(
    spatial: NDArray[np.uint8],
    global_: NDArray[np.float32],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    score: NDArray[np.float32],
    ownership: NDArray[np.float32],
    known: NDArray[np.uint8],
    optimistic: NDArray[np.float32] | None = None,
    reply: NDArray[np.int16] | None = None,
) -> Samples:
    """Pack N labelled positions: planes [N, 22, S, S], policies [N, S*S + 1] of probabilities, ownership [N, S*S] in
    [-1, 1], and the other fields of Samples as they are. Without `reply` no reply is known."""
    return Samples(
        planes=pack_planes(spatial),
        global_=global_,
        policy=pack_probabilities(policy),
        optimistic=np.zeros(policy.shape, np.uint8) if optimistic is None else pack_probabilities(optimistic),
        reply=np.full(len(policy), -1, np.int16) if reply is None else reply,
        value=value,
        score=score,
        ownership=np.rint(np.rint(ownership * OWNERSHIP_STEPS) * (127 / OWNERSHIP_STEPS)).astype(np.int8),
        known=known,
    )


def concatenate(parts: list[Samples]) -> Samples:
    """Join samples of one canvas."""
    return Samples._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


class Origin(msgspec.Struct, frozen=True):
    """Which networks made some labels, and what kind of labels they are. Sample files and checkpoints record it."""

    teachers: tuple[str, ...] = ()
    """Names of the networks that made them; none for labels that are records' moves and results."""
    has_optimistic: bool = False
    """Whether some of them have an optimistic policy."""
    pass_alive_under_suicide: bool = False
    """Whether area features of the positions count pass-alive groups as under rules with suicide (nets.features)."""

    def joined_with(self, other: Origin) -> Origin:
        """Return the origin of labels of both origins together."""
        new = tuple(name for name in other.teachers if name not in self.teachers)
        return Origin(
            self.teachers + new,
            self.has_optimistic or other.has_optimistic,
            self.pass_alive_under_suicide or other.pass_alive_under_suicide,
        )


class Chunk(NamedTuple):
    """A sample file, as far as it is known without reading its samples."""

    path: Path
    canvas: int
    length: int
    """How many samples it has."""
    origin: Origin


class SampleWriter:
    """Collects samples and writes them to a folder in files of about `capacity` samples."""

    def __init__(self, folder: Path, origin: Origin, capacity: int = FULL) -> None:
        """Create the folder unless it exists. Raises TrainingError."""
        make_folder(folder)
        self._folder, self._origin, self._capacity = folder, origin, capacity
        self._parts: dict[int, list[Samples]] = {canvas: [] for canvas in CANVASES}
        self._units: dict[int, list[str]] = {canvas: [] for canvas in CANVASES}
        self._written = time.monotonic()

    def add(self, samples: Samples, unit: str = "") -> None:
        """Collect samples, and write all of them when there are enough, or they are KEPT_SECONDS old. `unit` is the key
        of the unit of work that made them. Raises TrainingError."""
        parts = self._parts[samples.canvas]
        parts.append(samples)
        self._units[samples.canvas] += [unit] if unit else []
        is_due = time.monotonic() - self._written >= KEPT_SECONDS
        if is_due or sum(part.length for part in parts) >= self._capacity:
            self.close()

    def close(self) -> None:
        """Write what there is, in files that may be small. Raises TrainingError."""
        self._written = time.monotonic()
        for canvas, parts in self._parts.items():
            while parts:
                samples = concatenate(parts)
                first, rest = (samples.chosen(part) for part in (slice(MAX_SAMPLES), slice(MAX_SAMPLES, None)))
                units = () if rest.length else self._units[canvas]
                write_new(partial(next_path, self._folder, canvas), encode_samples(first, self._origin, units))
                parts[:] = [rest] if rest.length else []
            self._units[canvas].clear()


def next_path(folder: Path, canvas: int) -> Path:
    """Return the path of the next sample file in a folder."""
    names = [NAME.fullmatch(path.name) for path in sample_files(folder)]
    taken = [int(name[2]) for name in names if name and int(name[1]) == canvas]
    return folder / f"{canvas:02d}-{max(taken, default=-1) + 1:06d}{SUFFIX}"


def sample_files(folder: Path) -> list[Path]:
    """List the sample files in a folder; those that one writer wrote of one canvas in the order of their age."""
    return sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: (path.name[3:], path.name))


def encode_samples(samples: Samples, origin: Origin, units: Sequence[str] = ()) -> bytes:
    """Return the content of a file with samples of one canvas, at most MAX_SAMPLES of them, and the keys of the units
    of work that made them."""
    buffer = io.BytesIO()
    about, made_by = (np.frombuffer(msgspec.json.encode(each), np.uint8) for each in (origin, units))
    np.savez_compressed(buffer, origin=about, units=made_by, **samples._asdict())
    return buffer.getvalue()


def units_in(folder: Path) -> dict[str, int]:
    """Return the keys of the units of work whose samples are in the files of a folder, each with the number of samples
    in its file. Raises TrainingError."""
    found = dict[str, int]()
    for path in sample_files(folder):
        with opened_arrays(path, WHAT, MAX_BYTES) as arrays:
            if arrays.has("units"):
                keys = msgspec.json.decode(arrays.read("units", np.uint8).tobytes(), type=list[str])
                found |= dict.fromkeys(keys, arrays.shape("known")[0])
    return found


def decode_samples(content: bytes) -> Samples:
    """Return the samples that `encode_samples` made this of. Nothing is checked."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return Samples(**{name: arrays[name] for name in Samples._fields})


def read_header(path: Path) -> Chunk:
    """Read what a file says of its samples, and none of them. Raises TrainingError."""
    with opened_arrays(path, WHAT, MAX_BYTES) as arrays:
        (length, cells), (about,) = arrays.shape("ownership"), arrays.shape("origin")
        canvas = math.isqrt(cells)
        is_sound = canvas in CANVASES and cells == canvas * canvas and 0 < length <= MAX_SAMPLES
        if not is_sound or about > LONGEST_ORIGIN:
            raise ValueError("no sample file has such arrays")
        origin = msgspec.json.decode(arrays.read("origin", np.uint8, (about,)).tobytes(), type=Origin)
    return Chunk(path, canvas, length, origin)


def read_chunk(chunk: Chunk) -> Samples:
    """Read the samples of a file. Raises TrainingError where it is damaged."""
    cells = chunk.canvas**2
    layout: dict[str, tuple[type, tuple[int, ...]]] = {
        "planes": (np.uint8, (SPATIAL_PLANES, (cells + 7) // 8)),
        "global_": (np.float32, (GLOBAL_FEATURES,)),
        "policy": (np.uint8, (cells + 1,)),
        "optimistic": (np.uint8, (cells + 1,)),
        "reply": (np.int16, ()),
        "value": (np.float32, (3,)),
        "score": (np.float32, (SCORE_COLUMNS,)),
        "ownership": (np.int8, (cells,)),
        "known": (np.uint8, ()),
    }
    with opened_arrays(chunk.path, WHAT, MAX_BYTES) as arrays:
        samples = Samples(
            **{name: arrays.read(name, kind, (chunk.length, *row)) for name, (kind, row) in layout.items()}
        )
    problem = _problem(samples)
    if problem:
        raise TrainingError(f"{chunk.path}: a damaged sample file: {problem}")
    return samples


def _problem(samples: Samples) -> str | None:
    """Say what is wrong with the content of arrays that have the right shapes, if anything is."""
    canvas = samples.canvas
    if not all(np.isfinite(array).all() for array in (samples.global_, samples.value, samples.score)):
        return "a number is not finite"
    totals = samples.value.sum(axis=1)[samples.known & HAS_VALUE != 0]
    if (samples.value < 0.0).any() or (np.abs(totals - 1.0) > ROUNDING).any():
        return "a value is no probability"
    if (samples.reply < -1).any() or (samples.reply > canvas * canvas).any():
        return "a reply lies outside the board"
    boards = np.unpackbits(samples.planes[:, 0], axis=1, count=canvas * canvas).reshape(-1, canvas, canvas)
    inside = np.arange(canvas)[None] < boards[:, 0].sum(axis=1)[:, None]
    if not boards[:, 0, 0].all() or (boards != inside[:, :, None] * inside[:, None, :]).any():
        return "a board is not a square in the corner of its canvas"
    outside = boards.reshape(samples.length, -1) == 0
    if any(policy[:, :-1][outside].any() for policy in (samples.policy, samples.optimistic)):
        return "a move lies outside the board"
    return None


def read_origin(source: Path) -> Origin:
    """Return the origin of the samples in a file or folder, as far as they are written. Raises TrainingError."""
    origin = Origin()
    for chunk in SampleSources((str(source),)).chunks():
        origin = origin.joined_with(chunk.origin)
    return origin


class SampleSources:
    """The files of some folders of samples, and other sample files. Folders are looked through again each time."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        self._sources = [Path(source) for source in sources]
        self._known: dict[Path, Chunk] = {}

    def chunks(self, canvas: int | None = None) -> list[Chunk]:
        """List the files, of one canvas or of all. Raises TrainingError where one is damaged."""
        found = []
        for source in self._sources:
            for path in [source] if source.is_file() else sample_files(source):
                if path not in self._known:  # what was written never changes
                    self._known[path] = read_header(path)
                if canvas in (None, self._known[path].canvas):
                    found.append(self._known[path])
        return found
