"""Handicap stones: the fixed pattern of the GTP 2 specification (section 4.1), our free placement, and their number."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK, PASS, WHITE, column_of, point_at, row_of

_PATTERN = ("LB", "RT", "LT", "RB", "LM", "RM", "MB", "MT")
"""Each stone's column (left, middle, right) and row (top, middle, bottom). The last of 5, 7 or 9 is in the centre."""

NEVER = -1
"""Stands for no number of moves."""

HANDICAP_KOMI = 0.5
"""Customary komi where black has handicap stones."""
STANDARD_AREA, AREA_EXPONENT = 361, 0.75
LEAST_LEAD = 4.0
"""With a smaller lead at its start, in points on the standard board, KataGo takes a game for even."""


class HandicapError(ValueError):
    """This number of stones cannot be placed on this board."""


class HandicapCount:
    """The number of black's handicap stones, for rules that give white points for them, as a game's moves come and go.

    These are the stones of a setup that has black stones only, and the stones that black plays before white's first,
    because servers place handicap stones by ordinary moves too. A single white pass between them does not end the
    count; two white moves in a row mean that a position is being set up, so the moves do not count.
    """

    def __init__(self, setup: Iterable[int]) -> None:
        """Start from the colours of the stones of the setup."""
        colours = list(setup)
        self._placed = 0 if WHITE in colours else len(colours)
        self._counts = [self._placed]  # after each number of moves
        self._closed = 0 if WHITE in colours else NEVER  # the number of moves after which the count cannot change

    @property
    def stones(self) -> int:
        """The present number, never 1: one black move is no handicap."""
        return self._counts[-1] if self._counts[-1] > 1 else 0

    def copy(self) -> HandicapCount:
        """Return a copy that shares nothing with this count."""
        other = copy(self)
        other._counts = self._counts.copy()
        return other

    def add(self, move: tuple[int, int], previous: tuple[int, int] | None) -> None:
        """Add a move, (colour, point), that follows the move `previous`, or None where it is the first."""
        count = self._counts[-1]
        colour, point = previous or (BLACK, PASS)
        if self._closed == NEVER and colour == WHITE and (move[0] == WHITE or point != PASS):
            self._closed = len(self._counts)
            count = self._placed if move[0] == WHITE else count
        elif self._closed == NEVER and move[0] == BLACK and move[1] != PASS:
            count += 1
        self._counts.append(count)

    def remove(self) -> None:
        """Remove the last move."""
        self._counts.pop()
        if self._closed >= len(self._counts):
            self._closed = NEVER


def weight_of_a_point(area: Any) -> Any:
    """Return how many times as much a point of lead counts for as on 19×19, on boards of `area` points, as KataGo has
    it. Numbers and arrays are taken alike."""
    return (STANDARD_AREA / area) ** AREA_EXPONENT


def max_fixed_handicap(width: int, height: int) -> int:
    """Return the most stones of the fixed pattern: 0 if a side is under 7, 4 if one is 7 or even, else 9."""
    if min(width, height) < 7:
        return 0
    return 9 if min(width, height) >= 9 and width % 2 == 1 and height % 2 == 1 else 4


def max_free_handicap(width: int, height: int) -> int:
    """Return the most stones that may be placed freely: one point must stay empty, or they have no liberty."""
    return width * height - 1


def fixed_handicap(n: int, width: int, height: int) -> list[int]:
    """List the points of the fixed pattern of `n` stones. Raises HandicapError if the board has none for `n`."""
    most = max_fixed_handicap(width, height)
    if not 2 <= n <= most:
        choice = f"2 to {most} stones" if most else "no fixed handicap"
        raise HandicapError(f"{_board(width, height)} has {choice}")
    columns, rows = _lines(width), _lines(height)
    stones = (*_PATTERN[: n - 1], "MM") if n in (5, 7, 9) else _PATTERN[:n]
    return [point_at(columns["LMR".index(stone[0])], rows["TMB".index(stone[1])]) for stone in stones]


def free_handicap(n: int, width: int, height: int) -> list[int]:
    """Choose `n` points for black's handicap stones. Raises HandicapError unless 1 <= n <= `max_free_handicap`.

    The fixed pattern comes first. Each further stone, and on small boards every stone, goes where it is farthest from
    all other stones and from the edge.
    """
    if not 1 <= n <= max_free_handicap(width, height):
        raise HandicapError(f"{_board(width, height)} has room for 1 to {max_free_handicap(width, height)} stones")
    fixed = min(n, max_fixed_handicap(width, height))
    points = fixed_handicap(fixed, width, height) if fixed >= 2 else []
    y, x = np.mgrid[0:height, 0:width]
    # An edge is no rival for territory and a support for stones on the third line: it repels half as much as a stone.
    edge = np.minimum(np.minimum(x, width - 1 - x), np.minimum(y, height - 1 - y))
    room = 2.0 * (edge + 1)
    for point in points:
        _take(room, x, y, point)
    while len(points) < n:
        best = np.unravel_index(int(np.argmax(room)), room.shape)
        points.append(point_at(int(best[1]), int(best[0])))
        _take(room, x, y, points[-1])
    return points


def _board(width: int, height: int) -> str:
    """`a 9x9 board`, `an 11x9 board`: eight, eleven and eighteen begin with a vowel."""
    return f"{'an' if width in (8, 11, 18) else 'a'} {width}x{height} board"


def _lines(side: int) -> tuple[int, int, int]:
    """The pattern's three coordinates along one side: from the third line on sides up to 12, else the fourth."""
    first = 2 if side < 13 else 3
    return first, side // 2, side - 1 - first


def _take(room: NDArray[np.float64], x: NDArray[np.int64], y: NDArray[np.int64], point: int) -> None:
    """Lower `room` [height, width] to the distance from `point` where that is less."""
    np.minimum(room, np.hypot(x - column_of(point), y - row_of(point)), out=room)
