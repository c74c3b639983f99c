"""How Winograd's method cuts a board into tiles, and its matrices.

    output = A^T [(G w G^T) * (B^T input B)] A          Lavin and Gray, https://arxiv.org/abs/1509.09308

A *place* is one of the (m + 2) × (m + 2) numbers of a transformed tile of m × m points: the value of its polynomial at
one of POINTS vertically and one horizontally. Each place has its own product of matrices, so fewer places are faster.

A side is cut into parts of 4, 3 and 2 points, as few as possible, so that 19 points cost 29 places and not 30, and 9
cost 15 and not 18. Without parts of 4 an activation can have almost four times as many levels, and 19 points cost 33
places. A part of m points evaluates polynomials at m + 2 of POINTS, always the first ones; so places at the
same points share their weights, whatever tile they lie in. What the methods for 2, 3 and 4 points differ in is left to
the transforms of the outputs.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE

POINTS = (0.0, 1.0, -1.0, math.inf, 2.0, -2.0)
WEIGHT_FACTORS = (1.0, 0.5, 0.5, 1.0, 0.25, 0.25)
"""What rows of G are multiplied by, so that weights are of one size at all places."""
PLACES = len(POINTS) ** 2
"""How many places a tile of 4×4 points has; place 6 * i + j is at point i vertically and j horizontally."""
LARGEST, FINER, SMALLEST = 4, 3, 2
"""The side of a tile in points: the largest, the largest where a network needs finer levels, and the smallest."""
MOST_TILES = -(-MAX_SIZE // FINER)

TILING = np.dtype(
    [
        ("height", np.int64),
        ("width", np.int64),
        ("tile_rows", np.int64),
        ("tile_columns", np.int64),
        ("heights", np.int64, MOST_TILES),  # of the rows of tiles, from the top, larger ones first
        ("widths", np.int64, MOST_TILES),  # of the columns of tiles, from the left, larger ones first
        ("rows_with", np.int64, len(POINTS)),  # rows of tiles that have places at a point
        ("columns_with", np.int64, len(POINTS)),
        ("starts", np.int64, PLACES),  # of a place's tiles among those of all places
        ("counts", np.int64, PLACES),  # tiles of all boards that have a place
    ]
)


def parts(side: int, largest: int = LARGEST) -> list[int]:
    """Cut a side of 2 or more points into as few parts of at most `largest` points as possible, larger parts first."""
    count = -(-side // largest)
    return [side // count + (number < side % count) for number in range(count)]


def tiling(boards: int, height: int, width: int, largest: int = LARGEST) -> NDArray[np.void]:
    """Make the TILING record of `boards` boards, in an array of one."""
    result = np.zeros(1, TILING)
    record = result[0]
    heights, widths = np.array(parts(height, largest)), np.array(parts(width, largest))
    record["height"], record["width"] = height, width
    record["tile_rows"], record["tile_columns"] = len(heights), len(widths)
    record["heights"][: len(heights)], record["widths"][: len(widths)] = heights, widths
    least = np.maximum(np.arange(len(POINTS)) - 1, SMALLEST)  # points of the smallest part that has each
    record["rows_with"] = (heights >= least[:, None]).sum(axis=1)
    record["columns_with"] = (widths >= least[:, None]).sum(axis=1)
    counts = boards * np.outer(record["rows_with"], record["columns_with"]).ravel()
    record["counts"] = counts
    record["starts"] = np.cumsum(counts) - counts
    return result


def input_matrix(m: int) -> NDArray[np.int64]:
    """Return B^T [m + 2, m + 2] of a part of m points; all its numbers are integers."""
    finite = [point for point in POINTS[: m + 2] if math.isfinite(point)]
    result = np.zeros((m + 2, m + 2))
    for row, point in enumerate(POINTS[: m + 2]):
        others = [other for other in finite if other != point]
        polynomial = np.poly(others)[::-1]
        result[row, : len(polynomial)] = polynomial
    return np.rint(result).astype(np.int64)


def weight_matrix() -> NDArray[np.float64]:
    """Return G [6, 3], of which parts of fewer points use the first rows."""
    rows = [point ** np.arange(3) if math.isfinite(point) else np.array([0.0, 0.0, 1.0]) for point in POINTS]
    return np.array(rows) * np.array(WEIGHT_FACTORS)[:, None]


def places(largest: int) -> list[int]:
    """List the numbers of the places that parts of at most `largest` points have."""
    return [len(POINTS) * i + j for i in range(largest + 2) for j in range(largest + 2)]


@lru_cache(maxsize=2)
def reach(largest: int = LARGEST) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sums of the positive and of the negative factors, without sign, of Winograd's input transform.

    Both are [places]: the largest over all sizes of tiles at each place.
    """
    highest, lowest = np.zeros(PLACES, np.int64), np.zeros(PLACES, np.int64)
    for m_y in range(SMALLEST, largest + 1):
        for m_x in range(SMALLEST, largest + 1):
            both = np.einsum("iy,jx->ijyx", input_matrix(m_y), input_matrix(m_x)).reshape(m_y + 2, m_x + 2, -1)
            at = (len(POINTS) * np.arange(m_y + 2)[:, None] + np.arange(m_x + 2)).ravel()
            highest[at] = np.maximum(highest[at], np.maximum(both, 0).sum(axis=2).ravel())
            lowest[at] = np.maximum(lowest[at], np.maximum(-both, 0).sum(axis=2).ravel())
    return highest[places(largest)], lowest[places(largest)]
