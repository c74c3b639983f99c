"""The POSITION record: all that the kernels know about one moment of a game.

Positions live in arrays (`stack = new_stack(n)`), and `copy_position(stack[i + 1], stack[i])` copies one. A record of
an array is a view, so a kernel that gets `stack[i]` changes the array.

A position's hash is the exclusive or of random 64-bit numbers, its Zobrist keys. A fixed generator makes them, so
hashes are the same on every machine and in every run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.points import N_POINTS

_generator = np.random.Generator(np.random.PCG64(20161010))

STONE_KEYS = _generator.integers(1, 2**64, size=(3, N_POINTS), dtype=np.uint64)
"""[colour, point]: a stone of that colour there. Row 0 is zero: EMPTY changes no hash."""
STONE_KEYS[0] = 0

KO_KEYS = _generator.integers(1, 2**64, size=N_POINTS, dtype=np.uint64)
"""[point]: that point is banned by simple ko."""

TO_PLAY_KEYS = _generator.integers(1, 2**64, size=3, dtype=np.uint64)
"""[colour]: that colour is to move."""

PHASE_KEYS = _generator.integers(1, 2**64, size=4, dtype=np.uint64)
"""[phase]: the game is in that phase. The main phase changes no hash."""
PHASE_KEYS[0] = 0

BUTTON_KEY = _generator.integers(1, 2**64, dtype=np.uint64)
"""The button is still to be taken."""

BLOCKED_KEYS = _generator.integers(1, 2**64, size=N_POINTS, dtype=np.uint64)
"""[point]: the stone there may not be retaken yet (clean-up phases)."""

START_KEYS = _generator.integers(1, 2**64, size=(3, N_POINTS), dtype=np.uint64)
"""[colour, point]: a stone of that colour was there as the second clean-up phase began."""


HISTORY_MOVES = 5
"""How many of the last moves a position keeps, which is as many as the networks see."""

POSITION = np.dtype(
    [
        # Per point (N_POINTS entries).
        ("board", "i1", (N_POINTS,)),  # EMPTY, BLACK, WHITE or WALL
        ("marks", "i1", (N_POINTS,)),  # bit set, see MARK_*
        ("chain", "i2", (N_POINTS,)),  # head of the stone's chain; undefined where there is no stone
        ("next", "i2", (N_POINTS,)),  # next stone of the same chain, a ring; undefined without a stone
        ("liberties", "i2", (N_POINTS,)),  # exact liberty count, at chain heads only
        ("stones", "i2", (N_POINTS,)),  # number of stones, at chain heads only
        # Scalars.
        ("hash", "u8"),  # Zobrist hash of the stones alone
        ("captured", "i4", (3,)),  # stones of colour c removed so far, at index c (0 unused)
        ("white_bonus", "f4"),  # points for white that are not on the board: +1 a black stone played, -1 a white one
        # (territory rules, until the second clean-up phase), and half a point for taking the button
        ("move_number", "i4"),  # moves played since the start, passes included
        ("width", "i2"),
        ("height", "i2"),
        ("ko", "i2"),  # the one point banned by simple ko, or NO_POINT
        ("recent", "i2", (HISTORY_MOVES,)),  # last moves, newest first, alternating, of this phase; else NO_POINT
        ("to_play", "i1"),  # colour to move
        ("passes", "i1"),  # consecutive passes that count toward the end of the phase, at most phases.MOST_PASSES
        ("passed_here", "i1"),  # 1: the side to move passed in this very situation before, and another pass ends the
        # phase; set by those who know the history (Game, the search), where positions may come back for ever
        ("phase", "i1"),  # PHASE_*
        ("button", "i1"),  # 1 while the button is still to be taken
    ],
    align=True,
)

MARK_KO_RECAPTURE_BLOCKED = 1  # clean-up phases: this stone may not be retaken yet
MARK_BLACK_AT_CLEANUP_2 = 2  # a black stone stood here when the second clean-up phase began
MARK_WHITE_AT_CLEANUP_2 = 4

PHASE_MAIN, PHASE_CLEANUP_1, PHASE_CLEANUP_2, PHASE_OVER = 0, 1, 2, 3


def new_stack(length: int) -> NDArray[np.void]:
    """Make an array of `length` positions, all zeros: call `clear` on a position before you use it."""
    return np.zeros(length, POSITION)
