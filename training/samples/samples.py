"""Samples: labelled positions in a compact form, and how they are turned by the symmetries of the board.

Planes are packed to bits; probabilities are stored as square roots in steps of 1/255, precise where a policy is small;
ownership in steps of 1/16: a mean square error of 0.0003, for half of the bytes in a file.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import SPATIAL_PLANES
from nets.symmetry import symmetry_permutations

HAS_POLICY, HAS_OPTIMISTIC, HAS_VALUE, HAS_SCORE, HAS_ERRORS, HAS_OWNERSHIP = 1, 2, 4, 8, 16, 32
"""Bits of `Samples.known`, one for each kind of label."""
OWNERSHIP_STEPS = 16


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


def turned(samples: Samples, symmetries: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Samples]:
    """Turn each sample by its symmetry. Return the planes uint8 [N, 22, S, S], and the samples with turned labels."""
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
        optimistic=samples.optimistic[rows, moves],
        reply=reply.astype(np.int16),
        ownership=samples.ownership[rows, source],
    )


@cache
def _sources(size: int, canvas: int, symmetry: int) -> NDArray[np.int64]:
    """Return [S*S]: which cell comes to each cell when a board of size×size is turned. Cells outside it stay."""
    rows, columns = np.divmod(np.arange(size * size), size)
    new_rows, new_columns = np.divmod(symmetry_permutations(size, size)[symmetry][:-1].astype(np.int64), size)
    table = np.arange(canvas * canvas)
    table[new_rows * canvas + new_columns] = rows * canvas + columns
    return table
