"""Time controls, the account the engine keeps, and the guarantee that it never loses on time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from go_rules.points import BLACK, WHITE
from gtp_engine.session.clock import Clock, System, TimeControl, TimeLeft, after_move, full_time
from gtp_engine.session.time_management import SMALLEST, is_time_kept, seconds_for_move

LAG = 0.3


@pytest.mark.parametrize(
    ("control", "system"),
    [
        (TimeControl.canadian(600, 30, 5), System.CANADIAN),
        (TimeControl.canadian(600, 0, 0), System.ABSOLUTE),
        (TimeControl.canadian(600, 0, 5), System.ABSOLUTE),
        (TimeControl.canadian(1, 1, 0), System.NONE),
        (TimeControl.canadian(0, 0, 0), System.NONE),
        (TimeControl.absolute(0), System.NONE),
        (TimeControl.byoyomi(0, 0, 0), System.NONE),
        (TimeControl.fischer(0, 0), System.NONE),
        (TimeControl.fischer_capped(0, 0, -1, -1), System.NONE),
        (TimeControl.byoyomi(600, 30, 0), System.ABSOLUTE),
        (TimeControl.byoyomi(0, 30, 1), System.BYOYOMI),
        (TimeControl.byoyomi(600, 0, 3), System.ABSOLUTE),
        (TimeControl.fischer(0, 5), System.FISCHER),
        (TimeControl.fischer(60, 0), System.FISCHER),
        (TimeControl.fischer_capped(0, 5, -1, -1), System.FISCHER_CAPPED),
        (TimeControl.fischer_capped(60, 0, -1, -1), System.FISCHER_CAPPED),
    ],
)
def test_time_settings(control: TimeControl, system: System) -> None:
    assert control.system is system


def test_canadian_account() -> None:
    control = TimeControl.canadian(10, 30, 3)
    left = after_move(control, full_time(control), 4)
    assert left == TimeLeft(6)
    # The move that enters the period is charged at least its share of it.
    assert after_move(control, left, 8) == TimeLeft(0, True, period=20, stones=2)
    left = after_move(control, left, 18)
    assert left == TimeLeft(0, True, period=18, stones=2)
    left = after_move(control, left, 10)
    assert left == TimeLeft(0, True, period=8, stones=1)
    assert after_move(control, left, 5) == TimeLeft(0, True, period=30, stones=3)
    assert after_move(control, TimeLeft(0, True, period=8, stones=2), 9) == TimeLeft(0, True, period=0, stones=1)


def test_a_cap_of_nothing_is_a_cap() -> None:
    control = TimeControl.fischer_capped(60, 5, 0, 0)
    assert (control.cap, control.move_maximum) == (0, 0)
    assert after_move(control, full_time(control), 1) == TimeLeft(0)


def test_no_clock_no_account() -> None:
    assert after_move(TimeControl(), TimeLeft(0), 5) == TimeLeft(0)


def test_absolute_account() -> None:
    control = TimeControl.absolute(10)
    assert after_move(control, full_time(control), 4) == TimeLeft(6)
    assert after_move(control, TimeLeft(6), 7) == TimeLeft(0), "there is no overtime"


def test_byoyomi_account() -> None:
    control = TimeControl.byoyomi(10, 30, 3)
    left = after_move(control, full_time(control), 15)
    assert left == TimeLeft(0, True, period=30, periods=3)
    assert after_move(control, left, 29) == left
    assert after_move(control, left, 31) == TimeLeft(0, True, period=30, periods=2)
    assert after_move(control, left, 65) == TimeLeft(0, True, period=30, periods=1)
    assert after_move(control, left, 1000) == TimeLeft(0, True, period=30, periods=1)
    # A time that is used up to its end is used up.
    assert after_move(control, left, 30) == TimeLeft(0, True, period=30, periods=2)
    assert after_move(control, full_time(control), 10) == TimeLeft(0, True, period=30, periods=3)
    # What `time_left` said of the present period counts for it alone.
    assert after_move(control, TimeLeft(0, True, period=5, periods=3), 6) == TimeLeft(0, True, period=30, periods=2)
    assert after_move(control, TimeLeft(0, True, period=5, periods=3), 34) == TimeLeft(0, True, period=30, periods=2)


def test_fischer_account() -> None:
    control = TimeControl.fischer_capped(20, 5, 22, -1)
    assert after_move(control, full_time(control), 10) == TimeLeft(15)
    assert after_move(control, full_time(control), 1) == TimeLeft(22)
    assert after_move(control, full_time(control), 21) == TimeLeft(5), "the game goes on though it was late"


def test_time_left_corrects() -> None:
    clock = Clock(TimeControl.byoyomi(600, 30, 5))
    clock.correct(BLACK, 123, 0)
    assert clock.left[BLACK] == TimeLeft(123)
    clock.correct(BLACK, 12, 4)
    assert clock.left[BLACK] == TimeLeft(0, True, period=12, periods=4)
    assert clock.left[WHITE] == TimeLeft(600)
    clock.restart()
    assert clock.left[BLACK] == TimeLeft(600)


def test_unannounced_overtime_is_canadian() -> None:
    clock = Clock(TimeControl.absolute(600))
    clock.correct(BLACK, 30, 5)
    assert clock.left[BLACK] == TimeLeft(0, True, period=30, stones=5)
    assert clock.left[WHITE].main == 600
    assert clock.control == TimeControl.canadian(600, 30, 5)
    assert seconds_for_move(clock.control, clock.left[BLACK], 50, 361, 0) == pytest.approx(30 / 5 * 0.9)


def test_time_left_without_time_settings() -> None:
    clock = Clock()
    clock.correct(BLACK, 0, 0)
    assert clock.control.system is System.NONE
    clock.correct(BLACK, 300, 0)
    assert clock.control.system is System.ABSOLUTE
    assert clock.left[BLACK].main == 300
    assert clock.left[WHITE].main == 300


def test_main_time_used_up_starts_overtime() -> None:
    clock = Clock(TimeControl.canadian(600, 30, 5))
    clock.correct(WHITE, 0, 0)
    assert clock.left[WHITE] == TimeLeft(0, True, period=30, stones=5)
    clock = Clock(TimeControl.byoyomi(600, 30, 3))
    clock.correct(WHITE, 0, 0)
    assert clock.left[WHITE] == TimeLeft(0, True, period=30, periods=3)
    clock = Clock(TimeControl.absolute(600))
    clock.correct(WHITE, -1.5, 0)
    assert clock.left[WHITE] == TimeLeft(0)


@pytest.mark.parametrize(
    ("seconds", "periods", "left"),
    [
        (0, 3, TimeLeft(0, True, period=0, periods=3)),
        (-1.5, 3, TimeLeft(0, True, period=28.5, periods=2)),
        (-31.5, 3, TimeLeft(0, True, period=28.5, periods=1)),
        (-1e300, 3, TimeLeft(0, True, period=0, periods=1)),
        (-1.5, 1, TimeLeft(0, True, period=0, periods=1)),
        (-1.5, 0, TimeLeft(0, True, period=28.5, periods=3)),
        (-31.5, 0, TimeLeft(0, True, period=28.5, periods=2)),
        (31, 9, TimeLeft(0, True, period=30, periods=3)),
    ],
)
def test_no_byoyomi_clock_has_less_than_nothing_or_more_than_there_is(
    seconds: float, periods: int, left: TimeLeft
) -> None:
    clock = Clock(TimeControl.byoyomi(600, 30, 3))
    clock.correct(BLACK, seconds, periods)
    assert clock.left[BLACK] == left


def test_a_canadian_period_of_which_no_stone_is_played_begins() -> None:
    clock = Clock(TimeControl.canadian(600, 30, 5))
    for seconds, stones, left in (
        (0, 5, TimeLeft(0, True, period=30, stones=5)),
        (-1.5, 5, TimeLeft(0, True, period=28.5, stones=5)),
        (-1.5, 0, TimeLeft(0, True, period=28.5, stones=5)),
        (0.5, 5, TimeLeft(0, True, period=0.5, stones=5)),
        (0, 4, TimeLeft(0, True, period=0, stones=4)),
    ):
        clock.correct(BLACK, seconds, stones)
        assert clock.left[BLACK] == left
    # It is all the time for this one move: a turn that began earlier may have used it up.
    clock = Clock(TimeControl.canadian(600, 30, 1))
    clock.correct(BLACK, 0, 1)
    assert clock.left[BLACK] == TimeLeft(0, True, period=0, stones=1)


def test_a_fischer_clock_has_no_stones() -> None:
    """Some controllers send one stone for want of a better number."""
    for control in (TimeControl.fischer(60, 5), TimeControl.fischer_capped(60, 5, 90, -1)):
        clock = Clock(control)
        clock.correct(BLACK, 30, 1)
        assert clock.left[BLACK] == TimeLeft(30)
        assert clock.control == control


def test_a_period_that_is_over_is_a_clock() -> None:
    """What comes first of a clock may be that nothing is left of it: the next move is as quick as can be."""
    clock = Clock()
    clock.correct(BLACK, 0, 5)
    assert clock.control.system is System.CANADIAN
    assert clock.left[BLACK].in_overtime
    assert seconds_for_move(clock.control, clock.left[BLACK], 50, 361, 0) == SMALLEST


def test_no_clock_no_limit() -> None:
    assert seconds_for_move(TimeControl(), TimeLeft(0), 0, 361, LAG) is None


@pytest.mark.parametrize(
    ("control", "left", "low", "high"),
    [
        # A last byo-yomi period: nearly all of it, but for the lag and a tenth (at most a second).
        (TimeControl.byoyomi(0, 30, 1), None, 28.6, 28.8),
        (TimeControl.byoyomi(0, 1, 1), None, 0.55, 0.65),
        # Five periods after the present one are a reserve. Of more than those a move gets another one, or more.
        (TimeControl.byoyomi(0, 30, 6), None, 28.6, 28.8),
        (TimeControl.byoyomi(0, 30, 7), None, 58.6, 58.8),
        (TimeControl.byoyomi(0, 30, 20), None, 58.6, 58.8),
        (TimeControl.byoyomi(0, 5, 200), None, 8.6, 8.8),
        # The rest of a period that is nearly used up and the next one, where another follows.
        (TimeControl.byoyomi(0, 30, 5), TimeLeft(0, True, period=0, periods=5), 28.6, 28.8),
        (TimeControl.byoyomi(0, 30, 5), TimeLeft(0, True, period=10, periods=5), 38.6, 38.8),
        (TimeControl.byoyomi(0, 30, 5), TimeLeft(0, True, period=16, periods=5), 14.6, 14.8),
        (TimeControl.byoyomi(0, 30, 2), TimeLeft(0, True, period=4, periods=2), 32.6, 32.8),
        (TimeControl.byoyomi(0, 30, 2), TimeLeft(0, True, period=6, periods=2), 5.0, 5.2),
        (TimeControl.byoyomi(0, 30, 2), TimeLeft(0, True, period=0, periods=1), SMALLEST, SMALLEST),
        (TimeControl.byoyomi(0, 30, 2), TimeLeft(0, True, period=1, periods=1), 0.5, 0.7),
        # Periods too short for the lag are not used up for nothing.
        (TimeControl.byoyomi(0, 0.3, 5), TimeLeft(0, True, period=0.1, periods=5), SMALLEST, SMALLEST),
        # What is left of the present period counts, and the stones that are left in it.
        (TimeControl.byoyomi(0, 30, 3), TimeLeft(0, True, period=10, periods=3), 8.6, 8.8),
        (TimeControl.canadian(0, 300, 25), TimeLeft(0, True, period=100, stones=4), 23.6, 23.8),
        # The rest of the main time, and the first period with it.
        (TimeControl.byoyomi(10, 30, 3), None, 38.6, 38.8),
        (TimeControl.byoyomi(44, 30, 3), None, 72.6, 72.8),
        (TimeControl.canadian(10, 300, 25), None, 10.0, 11.0),
        # Long main time: e / 1.75 of what overtime gives; longer than the game needs: in equal parts.
        (TimeControl.byoyomi(900, 30, 3), None, 46.0, 46.6),
        (TimeControl.byoyomi(9000, 30, 3), None, 95.0, 130.0),
        (TimeControl.canadian(900, 300, 25), None, 18.0, 18.7),
        (TimeControl.canadian(0, 300, 25), None, 10.0, 11.0),
        (TimeControl.canadian(600, 0, 0), None, 3.0, 12.0),
        (TimeControl.fischer(300, 10), None, 9.0, 16.0),
        # A quarter of the bank is for thinking, however much the lag will be.
        (TimeControl.absolute(20), None, 0.063, 0.065),
        # Almost nothing left.
        (TimeControl.absolute(600), TimeLeft(0.2), SMALLEST, SMALLEST),
        (TimeControl.fischer(300, 10), TimeLeft(2.0), 0.1, 1.0),
        # A full clock of limited size: use what would be lost.
        (TimeControl.fischer_capped(60, 10, 60, -1), None, 9.0, 14.0),
        (TimeControl.fischer_capped(600, 10, 600, 3), None, 2.6, 2.8),
    ],
)
def test_seconds_for_move(control: TimeControl, left: TimeLeft | None, low: float, high: float) -> None:
    """In the middle of a 19x19 game."""
    seconds = seconds_for_move(control, left or full_time(control), 60, 361, LAG)
    assert seconds is not None
    assert low <= seconds <= high


def test_what_a_full_clock_cannot_hold_is_spent_on_early_moves_too() -> None:
    control = TimeControl.fischer_capped(60, 10, 60, -1)
    assert seconds_for_move(control, full_time(control), 0, 361, LAG) == pytest.approx(10 - LAG)


@pytest.mark.parametrize("overtime", [TimeControl.byoyomi(0, 30, 5), TimeControl.canadian(0, 300, 25)])
def test_main_time_before_overtime_is_thought_in(overtime: TimeControl) -> None:
    """All of it buys thinking beside what overtime gives, whose moves are those of a game without main time."""
    thought = []
    for main in (0.0, 300.0, 900.0, 1800.0):
        clock, total = Clock(replace(overtime, main=main)), 0.0
        for number in range(120):
            seconds = seconds_for_move(clock.control, clock.left[BLACK], 2 * number, 361, LAG)
            assert seconds is not None
            total += seconds
            clock.spend(BLACK, seconds + LAG)
        assert clock.left[BLACK].in_overtime
        thought.append(total)
    assert thought == sorted(thought)
    # A move in main time gives up its period, so only some of main time is a gain.
    assert thought[-1] - thought[0] > 1800 / 3.5


@pytest.mark.parametrize(
    ("control", "left", "seconds", "is_kept"),
    [
        (TimeControl.absolute(60), None, 1, True),
        (TimeControl.fischer(60, 5), None, 1, True),
        (TimeControl.byoyomi(60, 30, 3), None, 1, True),
        (TimeControl.byoyomi(60, 30, 3), TimeLeft(0, True, period=30, periods=3), 28, False),
        (TimeControl.byoyomi(60, 30, 3), TimeLeft(0, True, period=10, periods=3), 38, True),
        (TimeControl.canadian(60, 30, 2), None, 1, True),
        (TimeControl.canadian(60, 30, 2), TimeLeft(0, True, period=30, stones=2), 14, True),
        (TimeControl.canadian(60, 30, 2), TimeLeft(0, True, period=30, stones=1), 28, False),
    ],
)
def test_where_time_left_over_is_of_use(
    control: TimeControl, left: TimeLeft | None, seconds: float, is_kept: bool
) -> None:
    assert is_time_kept(control, left or full_time(control), seconds) is is_kept


def test_first_moves_are_quick() -> None:
    control = TimeControl.absolute(600)
    first, later = (seconds_for_move(control, full_time(control), n, 361, LAG) for n in (0, 40))
    assert first is not None
    assert later is not None
    assert first < 0.6 * later


controls = st.one_of(
    st.builds(TimeControl.absolute, st.floats(40, 7200)),
    st.builds(TimeControl.canadian, st.floats(0, 3600), st.floats(20, 600), st.integers(1, 25)),
    st.builds(TimeControl.byoyomi, st.floats(0, 3600), st.floats(1, 60), st.integers(1, 10)),
    st.builds(TimeControl.fischer, st.floats(5, 3600), st.floats(1, 60)),
    st.builds(TimeControl.fischer_capped, st.floats(5, 3600), st.floats(1, 60), st.floats(60, 3600), st.just(-1.0)),
)


@settings(max_examples=300)
@given(
    control=controls,
    area=st.sampled_from([81, 169, 361]),
    lags=st.lists(st.floats(0.0, 0.2), min_size=5, max_size=20),
    late=st.floats(0.0, 0.06),
    told=st.booleans(),
    gone=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5),
)
def test_no_game_is_lost_on_time(
    control: TimeControl, area: int, lags: list[float], late: float, told: bool, gone: list[float]
) -> None:
    """A controller's clock that charges up to 0.2 s of lag, for games as long as the board has points.

    Absolute time has to be as much as the lag alone costs; a Canadian period, too. Of a byo-yomi period that is not the
    last one, some may be over before we are told.
    """
    moves = area // 2
    if control.system is System.ABSOLUTE and control.main < 0.35 * moves:
        return
    if control.system is System.CANADIAN and control.period < 0.8 * control.stones:
        return
    ours, theirs = Clock(control), full_time(control)
    for number in range(moves):
        before = 0.0
        if told:
            if theirs.periods > 1:
                before = theirs.period * gone[number % len(gone)]
            tell(ours, replace(theirs, period=theirs.period - before))
        seconds = seconds_for_move(ours.control, ours.left[BLACK], 2 * number, area, LAG)
        assert seconds is not None
        assert seconds > 0
        assert math.isfinite(seconds)
        elapsed = seconds + late
        charged = before + elapsed + lags[number % len(lags)]
        theirs, lost = charge(control, theirs, charged)
        assert not lost, f"move {number}: {charged:.2f} s of {theirs}"
        ours.spend(BLACK, elapsed + LAG)


def tell(clock: Clock, left: TimeLeft) -> None:
    stones = (left.periods if clock.control.system is System.BYOYOMI else left.stones) if left.in_overtime else 0
    clock.correct(BLACK, left.period if left.in_overtime else left.main, stones)


def charge(control: TimeControl, left: TimeLeft, seconds: float) -> tuple[TimeLeft, bool]:
    """An independent referee: what is left after a move, and whether it lost the game."""
    if control.system in (System.ABSOLUTE, System.FISCHER, System.FISCHER_CAPPED):
        rest = left.main - seconds
        gained = min(rest + control.increment, control.cap) if control.system is not System.ABSOLUTE else rest
        return TimeLeft(gained), rest < 0
    if not left.in_overtime:
        rest = left.main - seconds
        if rest > 0:
            return TimeLeft(rest), False
        seconds = -rest
        left = TimeLeft(0.0, True, period=control.period, periods=control.periods, stones=control.stones)
    if control.system is System.BYOYOMI:
        used = int(seconds // control.period) if left.period == control.period else 0
        return TimeLeft(0.0, True, control.period, left.periods - used), left.periods - used < 1
    rest = left.period - seconds
    if left.stones == 1:
        return TimeLeft(0.0, True, control.period, stones=control.stones), rest < 0
    return TimeLeft(0.0, True, rest, stones=left.stones - 1), rest < 0
