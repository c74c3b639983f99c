"""Our seconds for a move beside KataGo's, on clocks of every kind at every stage.

KataGo's numbers are the answers of its own code (version 1.17.2, `cpp/search/timecontrols.cpp`) with the `lagBuffer` of
its `gtp_example.cfg`, one second: the time that it recommends, rounded up to the end of a period as its search does it,
and the most. Ours are with a `lag` of 0.3 seconds on a quiet machine.
"""

from __future__ import annotations

import pytest

from go_rules.points import BLACK
from gtp_engine.session.lateness import Lateness
from gtp_engine.session.time_management import SMALLEST, most_seconds, seconds_for_move
from tests.gtp_engine.fakes import Dialogue

LAG, LATE = 0.3, Lateness().expected
KATAGO_LAG = 1.0
NOTICEABLE = 0.5
"""Seconds: less than this is the same as this."""

AREA = "KataGo spreads absolute time over nearly all points of the board, we over six tenths of them"
OPENING = "first moves, which anyone plays by heart, get half of their time"
SIXTH = "KataGo gives a sixth period away at once, we when a move needs a further one"
BEGINS = "no seconds for all stones of a period: it begins, while KataGo takes it to be used up"

Case = tuple[int, int, str, str, float, float]
"""Side of the board, moves played with all stones still there, what `kata-time_settings` and then `time_left` said
(empty where nothing did), KataGo's seconds, and its most."""

ALIKE: list[Case] = [
    (19, 0, "absolute 600", "", 2.3, 118.8),
    (19, 200, "absolute 600", "1 0", 0, 0.05),
    (9, 0, "absolute 300", "", 5.17, 58.8),
    (9, 40, "absolute 300", "20 0", 0.33, 2.8),
    (19, 60, "fischer 300 10", "", 11.56, 66.8),
    (19, 150, "fischer 300 10", "14 0", 9.04, 9.6),
    (19, 150, "fischer 300 10", "4 0", 2, 3),
    (19, 60, "fischer 20 30", "", 18, 19),
    (9, 20, "fischer 60 5", "", 5.94, 14.8),
    (19, 60, "fischer-capped 600 10 600 -1", "", 14.22, 126.8),
    (19, 100, "fischer-capped 120 30 300 -1", "300 0", 31.9, 82.8),
    (9, 20, "fischer-capped 60 5 90 4", "", 3, 3),
    (19, 0, "byoyomi 600 30 5", "", 45.6, 149),
    (19, 60, "byoyomi 600 30 5", "400 0", 45.6, 109),
    (19, 80, "byoyomi 600 30 5", "40 0", 69, 69),
    (19, 80, "byoyomi 600 30 5", "10 0", 39, 39),
    (19, 100, "byoyomi 600 30 5", "30 5", 29, 29),
    (19, 100, "byoyomi 600 30 5", "16 5", 15, 15),
    (19, 100, "byoyomi 600 30 5", "14 5", 43, 43),
    (19, 100, "byoyomi 600 30 5", "0 5", 29, 29),
    (19, 100, "byoyomi 600 30 5", "12 3", 11, 11),
    (19, 100, "byoyomi 600 30 5", "3 2", 31, 31),
    (19, 100, "byoyomi 600 30 5", "0 2", 28, 28),
    (19, 100, "byoyomi 600 30 5", "30 1", 28, 28),
    (19, 100, "byoyomi 600 30 5", "0 1", 0, 0),
    (19, 100, "byoyomi 30 2 5", "0 5", 1, 1),
    (19, 100, "byoyomi 30 2 5", "0.3 5", 1.3, 1.3),
    (19, 60, "byoyomi 0 30 20", "", 59, 119),
    (19, 100, "byoyomi 0 30 10", "2 7", 61, 61),
    (19, 100, "byoyomi 0 5 200", "", 14, 199),
    (19, 100, "byoyomi 0 4 10", "24 9", 10.2, 10.2),
    (9, 20, "byoyomi 60 10 3", "", 14.53, 26.5),
    (9, 30, "byoyomi 0 1 3", "0.3 3", 0.15, 0.15),
    (19, 60, "canadian 600 300 25", "400 0", 17.64, 94.79),
    (19, 80, "canadian 600 300 25", "12 0", 23, 26.79),
    (19, 80, "canadian 600 300 25", "300 25", 11, 14.79),
    (19, 80, "canadian 600 300 25", "100 4", 24, 29.77),
    (19, 80, "canadian 600 300 25", "20 1", 18, 18),
    (19, 80, "canadian 600 300 25", "5 20", 0.12, 0.16),
    (19, 80, "canadian 600 300 25", "0 3", 0, 0),
    (19, 80, "canadian 0 4 10", "24 9", 1.67, 2.43),
    (13, 40, "canadian 60 60 10", "60 10", 5, 6.74),
    (9, 10, "canadian 0 30 1", "30 1", 28, 28),
]
"""Clocks for which neither of us takes more than twice as long as the other."""

DIFFERENT: list[tuple[int, int, str, str, float, float, str]] = [
    (19, 60, "absolute 600", "400 0", 1.63, 78.8, AREA),
    (19, 250, "absolute 600", "60 0", 0.52, 10.8, AREA),
    (13, 30, "absolute 900", "700 0", 8.29, 138.8, AREA),
    (19, 0, "byoyomi 0 30 20", "", 59, 119, OPENING),
    (19, 100, "byoyomi 0 30 10", "30 6", 59, 59, SIXTH),
    (19, 80, "canadian 600 300 25", "0 25", 0, 0, BEGINS),
]
"""The others, and why."""


def ours(side: int, moves: int, settings: str, left: str) -> tuple[float, float]:
    """What we think, and the most that the clock allows."""
    dialogue = Dialogue()
    dialogue.ask(f"kata-time_settings {settings}")
    if left:
        dialogue.ask(f"time_left b {left}")
    clock = dialogue.session.clock
    seconds = seconds_for_move(clock.control, clock.left[BLACK], moves, side * side, LAG, LATE)
    assert seconds is not None
    return seconds, most_seconds(clock.control, clock.left[BLACK])


def ratio(seconds: float, others: float) -> float:
    return max(NOTICEABLE, seconds) / max(NOTICEABLE, others)


@pytest.mark.parametrize(("side", "moves", "settings", "left", "katago", "most"), ALIKE)
def test_no_clock_is_read_otherwise_than_by_katago(
    side: int, moves: int, settings: str, left: str, katago: float, most: float
) -> None:
    seconds, allowed = ours(side, moves, settings, left)
    assert seconds <= max(SMALLEST, allowed - LAG)
    assert seconds <= most + KATAGO_LAG
    assert 1 / 2 <= ratio(seconds, katago) <= 2
    assert seconds > SMALLEST or katago < NOTICEABLE, "an answer at once where there is time"


@pytest.mark.parametrize(("side", "moves", "settings", "left", "katago", "most", "reason"), DIFFERENT)
def test_where_we_differ_from_katago(
    side: int, moves: int, settings: str, left: str, katago: float, most: float, reason: str
) -> None:
    seconds, allowed = ours(side, moves, settings, left)
    assert seconds <= allowed - LAG
    assert seconds <= most + KATAGO_LAG or reason == BEGINS
    assert not 1 / 2 <= ratio(seconds, katago) <= 2, "no longer different"
