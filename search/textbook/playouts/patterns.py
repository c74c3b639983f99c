"""A table of what the eight neighbours of an empty point say about a move there: eyes, patterns, empty neighbours.

The index is PLAYOUT_BOARD's `around`: there are 65536 surroundings. The byte holds, from the lowest bit:

    bits 0-1   it is an eye of BLACK, of WHITE: `table[around] & colour`
    bits 2-3   a pattern invites BLACK, WHITE to play there: `table[around] & PATTERN * colour`
    bits 4-6   the number of empty points among the four orthogonal neighbours, in units of EMPTY_NEIGHBOUR
    bit 7      ENCLOSED: stones of one colour alone, or none, are among the four, and so is an empty point
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK, EMPTY, WALL, WHITE

PATTERN = 4
EMPTY_NEIGHBOUR = 16
EMPTY_NEIGHBOURS = 7 * EMPTY_NEIGHBOUR
ENCLOSED = 128

# Gelly, Wang, Munos and Teytaud, "Modification of UCT with Patterns in Monte-Carlo Go" (2006), figures 2-5: places
# where a move is likely to be urgent. The move is in the middle. X and O are the two colours, either way round;
# `.` is empty, `#` the edge, `?` anything, `x` anything but O, `o` anything but X.
PATTERNS_FOR_BOTH = """
    XOX  XO.  XO?  XO?  ?O?  X.?  ?XO  ?OX
    .*.  .*.  X*.  O*o  X*X  O*?  o*o  X*O
    ???  ?.?  x.?  ?o?  ooo  ###  ###  ###
"""
PATTERNS_FOR_X = """
    OXX  ?XO
    .*.  x*x
    ?.?  ###
"""
"""Worth playing for X only: hane at the head of two stones, and turning at the edge."""


@lru_cache(maxsize=1)
def playout_table() -> NDArray[np.uint8]:
    """Make the table, uint8[65536], with the layout that this module describes."""
    codes = np.arange(1 << 16)
    # Neighbours in the order of AROUND: four orthogonal, then four diagonal.
    contents = np.stack([(codes >> 2 * i) & 3 for i in range(8)]).astype(np.uint8)
    orthogonal, diagonal = contents[:4], contents[4:]
    table = (EMPTY_NEIGHBOUR * (orthogonal == EMPTY).sum(axis=0)).astype(np.uint8)
    both_sides = (orthogonal == BLACK).any(axis=0) & (orthogonal == WHITE).any(axis=0)
    table[(orthogonal == EMPTY).any(axis=0) & ~both_sides] |= ENCLOSED
    at_edge = (diagonal == WALL).any(axis=0)
    for colour in (BLACK, WHITE):
        surrounded = ((orthogonal == colour) | (orthogonal == WALL)).all(axis=0)
        # One enemy on a diagonal may be cut off inside the board; at the edge it already makes the eye false.
        intruders = (diagonal == 3 - colour).sum(axis=0)
        table[surrounded & (intruders + at_edge < 2)] |= colour
        both = _matches(contents, PATTERNS_FOR_BOTH, BLACK) | _matches(contents, PATTERNS_FOR_BOTH, WHITE)
        table[both | _matches(contents, PATTERNS_FOR_X, colour)] |= PATTERN * colour
    return table


def _matches(contents: NDArray[np.uint8], patterns: str, x_colour: int) -> NDArray[np.bool_]:
    """Which of the surroundings `contents` (uint8[8, n]) fit one of the drawn patterns in one of the 8 symmetries."""
    o_colour = 3 - x_colour
    meaning = {
        "X": {x_colour},
        "O": {o_colour},
        ".": {EMPTY},
        "#": {WALL},
        "x": {EMPTY, x_colour, WALL},
        "o": {EMPTY, o_colour, WALL},
        "?": {EMPTY, BLACK, WHITE, WALL},
    }
    found = np.zeros(contents.shape[1], bool)
    for drawing in _symmetries(patterns):
        fits = np.ones_like(found)
        for row, symbol in zip(contents, drawing, strict=True):
            if symbol != "?":
                fits &= np.isin(row, list(meaning[symbol]))
        found |= fits
    return found


def _symmetries(patterns: str) -> set[str]:
    """Every symmetry of the drawn patterns as eight symbols in the order of AROUND."""
    rows = [line.split() for line in patterns.strip().splitlines()]
    found = set()
    for drawing in zip(*rows, strict=True):
        square = np.array([list(row) for row in drawing])
        for _ in range(4):
            square = np.rot90(square)
            for image in (square, square.T):
                flat = "".join(image.flatten())
                found.add("".join(flat[i] for i in (1, 3, 5, 7, 0, 2, 6, 8)))
    return found
