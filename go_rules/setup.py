"""The position that a game starts from: an empty board, or stones set up on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from go_rules import board
from go_rules.points import BLACK, EMPTY, N_POINTS, WALL, WHITE
from go_rules.rules import SCORING_TERRITORY, Rules

Captured = tuple[int, int]
"""How many black and how many white stones were taken off the board."""


def set_up(start: np.void, stones: Iterable[tuple[int, int]], rules: Rules, captured: Captured) -> str | None:
    """Put stones, (colour, point) each, on the empty board `start`.

    Returns None, or why they cannot stand like that: a `reason` of RuleViolation.
    """
    played = {BLACK: captured[0], WHITE: captured[1]}
    for colour, point in stones:
        if not 0 < point < N_POINTS or start["board"][point] == WALL:
            return "off board"
        if start["board"][point] != EMPTY:
            return "occupied"
        taken, removed, _ = board.place_stone(start, point, colour)
        if taken or removed:
            return "no liberties"
        played[colour] += 1
    start["captured"][BLACK], start["captured"][WHITE] = captured
    if rules.scoring == SCORING_TERRITORY:
        start["white_bonus"] = played[BLACK] - played[WHITE]
    return None


def captured_before(start: np.void) -> Captured:
    """Return what was captured before a position."""
    return int(start["captured"][BLACK]), int(start["captured"][WHITE])
