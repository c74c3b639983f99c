"""Samples in few bytes: what makes a chunk of a sample file, and what reads it again.

A chunk is up to MAX_SAMPLES samples of one canvas: a table of the global features that occur, komi aside, and then each
sample's decisions of a range coder (board_coding.py, label_coding.py). Planes and global features come back exactly,
labels in the steps that label_coding.py lists.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel
from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from nets.features import GLOBAL_KOMI, KOMI_UNIT
from training.positions.workers import new_worker_buffers
from training.samples.board_coding import code_board
from training.samples.label_coding import LABEL_CONTEXTS, code_labels
from training.samples.range_coder import CONTEXTS, begin, code_bit, code_plain, code_tree, finish, new_coder
from training.samples.samples import Samples, pack_planes

MAX_SAMPLES = 1 << 13
"""The most samples of a chunk: 20 MB in memory."""
SAMPLE_BYTES = 4096
"""More than a sample takes, whatever its content."""

KOMI_BITS, KOMI_SHIFT = 11, 1 << 10
DISTANCE_BITS = 13
CONDITIONS = LABEL_CONTEXTS
KOMI = CONDITIONS + MAX_SAMPLES
TWINS = KOMI + (1 << KOMI_BITS)
assert TWINS < CONTEXTS


class DamagedChunk(ValueError):
    """The bytes are no chunk."""


class _Work(NamedTuple):
    """What a sample is put together in."""

    numbers: NDArray[np.float32]
    """[19]"""
    spatial: NDArray[np.uint8]
    """[22, S, S]"""
    again: NDArray[np.uint8]
    """[22, S, S]"""
    stones: NDArray[np.uint8]
    """[S, S]"""
    moves: NDArray[np.int64]
    """[5]"""


def encode_chunk(samples: Samples, pass_alive_under_suicide: bool) -> bytes:
    """Return samples, at most MAX_SAMPLES of them, in few bytes. `pass_alive_under_suicide` says how the area features
    of their planes count, so that they can be made again; reading needs the same answer."""
    table, rows = np.unique(_conditions(samples.global_), axis=0, return_inverse=True)
    copies = Samples._make(array.copy() for array in samples)
    data = np.zeros(samples.length * SAMPLE_BYTES + 64, np.uint8)
    length = _code(
        copies, table, rows.reshape(-1), _komi(samples.global_), _twins(samples), data, 0, pass_alive_under_suicide
    )
    packed = zlib.compress(table.tobytes(), 9)
    return len(table).to_bytes(2, "little") + len(packed).to_bytes(4, "little") + packed + data[:length].tobytes()


def warm_up() -> None:
    """Compile all that `encode_chunk` and `decode_chunk` need; on a new machine this takes up to a minute. It encodes
    one sample, an empty board without labels."""
    canvas = 9
    spatial = np.ones((1, SPATIAL_PLANES, canvas, canvas), np.uint8)
    spatial[:, 1:] = 0
    nothing = np.zeros((1, canvas * canvas + 1), np.uint8)
    sample = Samples(
        pack_planes(spatial), np.zeros((1, GLOBAL_FEATURES), np.float32), nothing, nothing, np.full(1, -1, np.int16),
        np.zeros((1, 3), np.float32), np.zeros((1, SCORE_COLUMNS), np.float32),
        np.zeros((1, canvas * canvas), np.int8), np.zeros(1, np.uint8),
    )  # fmt: skip
    encode_chunk(sample, pass_alive_under_suicide=False)


def decode_chunk(
    content: bytes, canvas: int, count: int, has_optimistic: bool, pass_alive_under_suicide: bool
) -> Samples:
    """Return the samples of a chunk. Raises DamagedChunk; other damage gives other samples."""
    rows, length = int.from_bytes(content[:2], "little"), int.from_bytes(content[2:6], "little")
    if not 0 < rows <= MAX_SAMPLES or not 0 < count <= MAX_SAMPLES or len(content) <= 6 + length:
        raise DamagedChunk
    size = rows * GLOBAL_FEATURES * 4
    try:
        table = zlib.decompressobj().decompress(content[6 : 6 + length], size + 1)
    except zlib.error:
        raise DamagedChunk from None
    if len(table) != size:
        raise DamagedChunk
    conditions = np.frombuffer(table, np.float32).reshape(rows, GLOBAL_FEATURES).copy()
    if not np.isfinite(conditions).all():
        raise DamagedChunk
    cells = canvas * canvas
    samples = Samples(
        np.zeros((count, SPATIAL_PLANES, (cells + 7) // 8), np.uint8),
        np.zeros((count, GLOBAL_FEATURES), np.float32),
        np.zeros((count, cells + 1), np.uint8),
        np.zeros((count, cells + 1 if has_optimistic else 0), np.uint8),
        np.full(count, -1, np.int16),
        np.zeros((count, 3), np.float32),
        np.zeros((count, SCORE_COLUMNS), np.float32),
        np.zeros((count, cells), np.int8),
        np.zeros(count, np.uint8),
    )
    data = np.frombuffer(content, np.uint8, offset=6 + length).copy()
    nothing = np.full(count, -1, np.int64)
    _code(samples, conditions, nothing + 1, nothing, nothing, data, 1, pass_alive_under_suicide)
    return samples


def _code(
    samples: Samples,
    table: NDArray[np.float32],
    rows: NDArray[np.int64],
    komi: NDArray[np.int64],
    twins: NDArray[np.int64],
    data: NDArray[np.uint8],
    reads: int,
    pass_alive_under_suicide: bool,
) -> int:
    canvas = samples.canvas
    planes = (SPATIAL_PLANES, canvas, canvas)
    work = _Work(
        np.zeros(GLOBAL_FEATURES, np.float32), np.zeros(planes, np.uint8), np.zeros(planes, np.uint8),
        np.zeros((canvas, canvas), np.uint8), np.zeros(5, np.int64),
    )  # fmt: skip
    buffers = new_worker_buffers(pass_alive_under_suicide)
    length: int = code_samples(new_coder()[0], data, samples, table, rows, komi, twins, buffers, work, reads)
    return length


@kernel
def code_samples(coder, data, samples, table, rows, komi, twins, buffers, work, reads):
    """Write samples to `data`, or read them from it (`reads` 1). Return how many bytes that took.

    `table` float32[R, 19] has the global features without komi, and `rows` int64[N] which of its rows each sample has;
    `komi` int64[N] is in half points. `twins` int64[N] is an earlier sample with the same board and the same kinds of
    labels, or -1. What reading finds replaces the content of all arrays but `table`. Labels are rounded in place.
    """
    begin(coder, data, reads)
    bits = np.int64(0)
    while len(table) > 1 << bits:
        bits += 1
    for i in range(len(rows)):
        row = min(code_tree(coder, data, np.int64(CONDITIONS), bits, rows[i]), len(table) - 1)
        half_points = code_tree(coder, data, np.int64(KOMI), np.int64(KOMI_BITS), komi[i] + KOMI_SHIFT) - KOMI_SHIFT
        for feature in range(len(work.numbers)):
            work.numbers[feature] = table[row, feature]
        if half_points != 0:
            work.numbers[GLOBAL_KOMI] = half_points * 0.5 / KOMI_UNIT
        for feature in range(len(work.numbers)):
            samples.global_[i, feature] = work.numbers[feature]
        twin = twins[i]
        if code_bit(coder, data, np.int64(TWINS), twin >= 0) == 1:
            twin = max(i - code_plain(coder, data, np.int64(DISTANCE_BITS), i - twin), 0)
            twin = min(twin, i - 1)
        else:
            twin = np.int64(-1)
        if reads == 0 or twin >= 0:
            _unpack(samples.planes[i if twin < 0 else twin], work.spatial)
        if twin < 0:
            code_board(coder, data, work.numbers, buffers, work.spatial, work.again, work.stones, work.moves)
        else:
            _look_at(work.spatial, work.stones, work.moves)
        if reads == 1:
            _pack(work.spatial, samples.planes[i])
        size = np.int64(0)
        while size < work.spatial.shape[1] and work.spatial[0, 0, size] == 1:
            size += 1
        code_labels(coder, data, samples, i, twin, work.stones, size, work.moves)
    return finish(coder, data) if reads == 0 else np.int64(coder.place)


@kernel
def _look_at(spatial, stones, moves):
    """Find the stones of planes; the last moves are not looked for."""
    for y in range(stones.shape[0]):
        for x in range(stones.shape[1]):
            stones[y, x] = min(spatial[1, y, x] + 2 * spatial[2, y, x], 2)
    for turn in range(len(moves)):
        moves[turn] = -1


@kernel
def _unpack(packed, spatial):
    for plane in range(spatial.shape[0]):
        cell = 0
        for y in range(spatial.shape[1]):
            for x in range(spatial.shape[2]):
                spatial[plane, y, x] = (packed[plane, cell >> 3] >> (7 - (cell & 7))) & 1
                cell += 1


@kernel
def _pack(spatial, packed):
    packed[:, :] = 0
    for plane in range(spatial.shape[0]):
        cell = 0
        for y in range(spatial.shape[1]):
            for x in range(spatial.shape[2]):
                packed[plane, cell >> 3] |= spatial[plane, y, x] << (7 - (cell & 7))
                cell += 1


def _conditions(global_: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return global features without the komi that `_komi` says."""
    rest = global_.copy()
    rest[_komi(global_) != 0, GLOBAL_KOMI] = 0.0
    return rest


def _komi(global_: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the komi in half points, 0 where it is not one that says the same again."""
    given = global_[:, GLOBAL_KOMI]
    half_points = np.rint(given.astype(np.float64) * KOMI_UNIT * 2.0)
    is_exact = (half_points * 0.5 / KOMI_UNIT).astype(np.float32) == given
    is_exact &= np.abs(half_points) < KOMI_SHIFT
    found: NDArray[np.int64] = np.where(is_exact, half_points, 0).astype(np.int64)
    return found


def _twins(samples: Samples) -> NDArray[np.int64]:
    """Return for each sample the last one before it with the same planes and kinds of labels, or -1."""
    seen: dict[bytes, int] = {}
    twins = np.full(samples.length, -1, np.int64)
    for i in range(samples.length):
        key = samples.planes[i].tobytes() + samples.known[i].tobytes()
        twins[i] = seen.get(key, -1)
        seen[key] = i
    return twins
