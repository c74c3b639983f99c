"""Sets of points as rows of bits: bit x of row y + 1 is the point (x, y). So a whole row is looked at in one step.

Rows 0 and height + 1 stand for the walls, and stay empty.
"""

from __future__ import annotations

from go_rules.compilation.jit import kernel
from go_rules.points import MAX_SIZE

BIT_ROWS = MAX_SIZE + 2
"""Rows of a set, walls included."""


@kernel
def put_neighbours(points, allowed, height, out):
    """Fill `out` with the points of `allowed` that are next to one of `points`."""
    for y in range(1, height + 1):
        row = points[y]
        out[y] = ((row << 1) | (row >> 1) | points[y - 1] | points[y + 1]) & allowed[y]


@kernel
def spread(points, allowed, height):
    """Add to `points`, which are `allowed`, all that are connected with them through `allowed` points."""
    changed = True
    while changed:
        changed = False
        for turn in range(2 * height):
            y = turn + 1 if turn < height else 2 * height - turn
            before = points[y]
            row = before | ((points[y - 1] | points[y + 1]) & allowed[y])
            if row != 0:
                row = _spread_in_row(row, allowed[y])
                points[y] = row
                changed |= row != before


@kernel
def _spread_in_row(points, allowed):
    """Let points spread both ways along a row: by 1, 2, 4, 8 and 16 places, where nothing lies between."""
    left = points
    right = points
    way_left = allowed
    way_right = allowed
    for step in (1, 2, 4, 8, 16):
        left |= way_left & (left << step)
        right |= way_right & (right >> step)
        way_left &= way_left << step
        way_right &= way_right >> step
    return left | right
