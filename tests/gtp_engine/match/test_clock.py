"""The referee's clock."""

from __future__ import annotations

import pytest

from gtp_engine.match.clock import ClockError, SideClock, announcements, parse_control
from gtp_engine.session.clock import TimeControl


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("60", TimeControl.absolute(60)),
        ("10000000", TimeControl.absolute(1e7)),
        ("0:1:10000000", TimeControl.canadian(0, 1, 10_000_000)),
        ("0:30:1", TimeControl.canadian(0, 30, 1)),
        (" 60 ", TimeControl.absolute(60)),
        ("0:1.5:1", TimeControl.canadian(0, 1.5, 1)),
        ("canadian:300:30:5", TimeControl.canadian(300, 30, 5)),
        ("byoyomi:60:10:3", TimeControl.byoyomi(60, 10, 3)),
        ("Fischer:60:2", TimeControl.fischer(60, 2)),
        ("fischer:0.5:2", TimeControl.fischer(0.5, 2)),
        ("fischer-capped:60:0:90:15", TimeControl.fischer_capped(60, 0, 90, 15)),
        ("fischer-capped:60:2:90:15", TimeControl.fischer_capped(60, 2, 90, 15)),
        ("fischer-capped:60:2:-1:-1", TimeControl.fischer_capped(60, 2, -1, -1)),
    ],
)
def test_parse(text: str, control: TimeControl) -> None:
    assert parse_control(text) == control


NO_CONTROLS = """
    x 0 60:30 60:30:0 60:0:5 -1 10000001 fischer:10000001:0 fischer-capped:60:2:10000001:-1 nan inf 0:0:0 1:2:3:4
    byoyomi:1 fischer:0:0 fischer:0:5 fischer-capped:0:5:-1:-1 fischer:-1:2 byoyomi:1:1:-1 byoyomi:0:30:2.5 0:30:1.9
    fischer-capped:60:2 fischer-capped:60:2:0:1 fischer-capped:60:-1:5:5 fischer-capped:60:2:-2:5 a:1
"""


@pytest.mark.parametrize("text", ["", *NO_CONTROLS.split()])
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ClockError):
        parse_control(text)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("60", ["time_settings 60 0 0"]),
        ("0:1:1", ["time_settings 0 1 1"]),
        ("0:0.5:1", ["time_settings 0 0.5 1", "time_settings 0 1 1"]),
        ("byoyomi:60:10:3", ["kgs-time_settings byoyomi 60 10 3", "time_settings 80 10 1"]),
        ("byoyomi:2000000:10:3", ["kgs-time_settings byoyomi 2000000 10 3", "time_settings 2000020 10 1"]),
        (
            "fischer:1234567.5:1",
            ["kata-time_settings fischer 1234567.5 1", "time_settings 1234567.5 0 0", "time_settings 1234568 0 0"],
        ),
        ("600.5:30:5", ["time_settings 600.5 30 5", "time_settings 601 30 5"]),
        ("600:0.5:5", ["time_settings 600 0.5 5", "time_settings 600 1 5"]),
        ("fischer-capped:60:0:90:15", ["kata-time_settings fischer-capped 60 0 90 15", "time_settings 60 0 0"]),
        ("fischer:60:2.5", ["kata-time_settings fischer 60 2.5", "time_settings 60 0 0"]),
        ("fischer-capped:60:2:90:-1", ["kata-time_settings fischer-capped 60 2 90 -1", "time_settings 60 0 0"]),
    ],
)
def test_announcements(text: str, commands: list[str]) -> None:
    assert announcements(parse_control(text)) == commands


def test_main_time_is_not_counted_in_stones() -> None:
    for control in (TimeControl.canadian(10, 5, 2), TimeControl.byoyomi(10, 5, 2), TimeControl.fischer(10, 5)):
        clock = SideClock(control)
        assert clock.time_left() == (10, 0)
        assert clock.spend(4) == 0
        assert clock.time_left() == (11 if control.increment else 6, 0)


def test_main_time_that_is_used_up_to_its_end_is_over() -> None:
    clock = SideClock(TimeControl.canadian(10, 5, 2))
    assert clock.spend(10) == 0
    assert clock.time_left() == (5, 1)


def test_a_capped_clock_has_a_cap_and_a_most_for_a_move() -> None:
    clock = SideClock(TimeControl.fischer_capped(10, 2, 11, 4))
    assert clock.allowance() == 4
    assert clock.spend(0.5) == 0
    assert clock.time_left() == (11, 0)
    assert clock.spend(5) == pytest.approx(1)
    assert clock.time_left() == (8, 0), "what was too long for a move is spent all the same"


def test_main_time_runs_into_the_first_period() -> None:
    clock = SideClock(TimeControl.canadian(10, 5, 2))
    assert clock.allowance() == 15
    assert clock.spend(12) == 0
    assert clock.time_left() == (3, 1)
    assert clock.spend(3) == 0
    assert clock.time_left() == (5, 2), "the stones were played: a new period"


def test_a_period_for_every_move() -> None:
    clock = SideClock(TimeControl.canadian(0, 1, 1))
    for _ in range(3):
        assert clock.time_left() == (1, 1)
        assert clock.spend(0.9) == 0
    assert clock.spend(1.25) == pytest.approx(0.25)
    assert clock.time_left() == (1, 1), "what is only counted does not follow the engine into the next period"


def test_byoyomi_uses_periods_up() -> None:
    clock = SideClock(TimeControl.byoyomi(0, 10, 3))
    assert clock.allowance() == 30
    assert clock.spend(15) == 0
    assert clock.time_left() == (10, 2)
    assert clock.spend(21) == pytest.approx(1)


# --- The lag: how far below zero a clock may be -------------------------------------------------------------------


def moves_in_time(clock: SideClock, seconds: float, most: int = 50) -> int:
    """How many moves of so many seconds come before the first late one."""
    return next((count for count in range(most) if clock.spend(seconds) > 0), most)


@pytest.mark.parametrize(
    ("text", "seconds", "moves"),
    [
        ("2", 0.45, 5),  # 2.25 s of 2.5
        ("2", 0.4, 6),
        ("2", 2.4, 1),
        ("2", 2.6, 0),
        ("fischer:2:0.25", 0.5, 9),  # after nine moves the clock is at -0.25, and the tenth leaves it at -0.75
        ("fischer:2:0.5", 0.5, 50),
        ("fischer-capped:2:0.25:2.5:-1", 0.5, 9),
        ("fischer-capped:9:0:-1:1", 1.4, 6),  # each is longer than a move may be by less than the lag: 8.4 s of 9.5
        ("fischer-capped:9:0:-1:1", 1.6, 0),
        ("canadian:0:2:5", 0.45, 50),  # 2.25 s for each five stones
        ("canadian:0:2:5", 0.55, 4),
        ("canadian:0:2:5", 0.6, 4),
        ("canadian:0:2:5", 0.65, 3),
        ("canadian:1:2:5", 0.55, 10),  # the first period has 2.3 s of five moves, and the second 2.75
        ("byoyomi:0:1:3", 1.4, 50),  # two periods are lost, and the last one is overstepped by less than the lag
        ("byoyomi:0:1:3", 1.6, 2),
        ("0:1:1", 1.4, 50),
        ("0:1:1", 1.6, 0),
    ],
)
def test_a_clock_has_the_lag_once_and_no_move_has_it_for_itself(text: str, seconds: float, moves: int) -> None:
    assert moves_in_time(SideClock(parse_control(text), 0.5), seconds) == moves


def test_a_clock_below_zero() -> None:
    """It says zero, and what is left of the lag is all that the next move has."""
    clock = SideClock(TimeControl.absolute(2), 0.5)
    assert clock.limit() == 2.5
    assert clock.spend(2.25) == 0
    assert (clock.time_left(), clock.allowance(), clock.limit()) == ((0, 0), 0, 0.25)
    assert clock.spend(0.25) == 0
    assert clock.spend(0.25) == pytest.approx(0.75)
    assert (clock.time_left(), clock.limit()) == ((0, 0), 0.5), (
        "a game that goes on after a late move goes on from zero"
    )
    clock = SideClock(TimeControl.canadian(0, 2, 3), 0.5)
    assert clock.spend(2.25) == 0
    assert (clock.time_left(), clock.limit()) == ((0, 2), 0.25)
    assert clock.spend(0.125) == 0
    assert clock.spend(0.125) == 0
    assert (clock.time_left(), clock.limit()) == ((2, 3), 2.5), "a new period is full"
    clock = SideClock(TimeControl.fischer(2, 1), 0.5)
    assert clock.spend(2.25) == 0
    assert (clock.time_left(), clock.limit()) == ((0.75, 0), 1.25)
    clock = SideClock(TimeControl.fischer(2, 0.125), 0.5)
    assert clock.spend(2.25) == 0
    assert (clock.time_left(), clock.limit()) == ((0, 0), 0.375)
    assert clock.spend(0) == 0
    assert (clock.time_left(), clock.limit()) == ((0, 0), 0.5)


def test_a_byoyomi_period_is_lost_by_its_last_moment() -> None:
    """The lag keeps no period: it only keeps the last one from losing the game."""
    clock = SideClock(TimeControl.byoyomi(1, 2, 3), 0.5)
    assert clock.spend(3.25) == 0
    assert clock.time_left() == (2, 2)
    assert clock.spend(2.25) == 0
    assert clock.time_left() == (2, 1)
    assert clock.spend(2.25) == 0
    assert (clock.time_left(), clock.limit()) == ((2, 1), 2.5)


def test_byoyomi_for_an_engine_that_was_told_of_main_time() -> None:
    """All periods but the last are main time for it, from the beginning to the last period."""
    clock = SideClock(TimeControl.byoyomi(1, 2, 5))
    assert announcements(clock.control)[-1] == "time_settings 9 2 1"
    told = []
    for seconds in (0.5, 1.5, 2.5, 5, 1.5, 1.5):
        told.append(clock.time_left(in_periods=False))
        assert clock.spend(seconds) == 0
    assert told == [(9, 0), (8.5, 0), (8, 0), (6, 0), (2, 0), (2, 0)]
    clock.spend(2)
    assert clock.time_left(in_periods=False) == (2, 1)
    clock = SideClock(TimeControl.byoyomi(3, 2, 1))
    assert clock.time_left(in_periods=False) == (3, 0)
    clock.spend(3)
    assert clock.time_left(in_periods=False) == (2, 1)
    other = SideClock(TimeControl.canadian(3, 2, 4))
    other.spend(4)
    assert other.time_left(in_periods=False) == other.time_left() == (1, 3)
