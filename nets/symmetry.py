"""The eight symmetries of a board, in KataGo's numbering, on points, moves, planes and network output.

Bit 0 of a symmetry's number turns the board upside down, bit 1 swaps left and right, and then bit 2 swaps rows and
columns. 0 is the identity. Boards that are not square have the first four only.

A move here is its *move index*, its place in a network's policy: y * width + x, and height * width for the pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.points import PASS, column_of, point_at, row_of

SYMMETRIES = 8
"""Of a square."""
UPSIDE_DOWN, LEFT_RIGHT, TRANSPOSED = 1, 2, 4
"""Bits of a symmetry's number."""


def symmetry_count(width: int, height: int) -> int:
    """Return how many symmetries such a board has; their numbers begin with 0."""
    return SYMMETRIES if width == height else SYMMETRIES // 2


def symmetric_point(point: int, width: int, height: int, symmetry: int) -> int:
    """Return where a symmetry takes a point of the board, or PASS. `symmetry` < symmetry_count(width, height)."""
    if point == PASS:
        return PASS
    x = width - 1 - column_of(point) if symmetry & LEFT_RIGHT else column_of(point)
    y = height - 1 - row_of(point) if symmetry & UPSIDE_DOWN else row_of(point)
    return point_at(y, x) if symmetry & TRANSPOSED else point_at(x, y)


def symmetry_permutations(width: int, height: int) -> NDArray[np.int16]:
    """Return where each symmetry takes each move: int16[symmetry_count, height * width + 1]. Row 0 is the identity."""
    y, x = np.divmod(np.arange(width * height), width)
    permutations = np.empty((symmetry_count(width, height), width * height + 1), np.int16)
    for symmetry, permutation in enumerate(permutations):
        u = width - 1 - x if symmetry & LEFT_RIGHT else x
        v = height - 1 - y if symmetry & UPSIDE_DOWN else y
        permutation[:-1] = u * width + v if symmetry & TRANSPOSED else v * width + u
        permutation[-1] = width * height
    return permutations
