"""The clocks of a game as a controller describes them: the time control, and what each side has left of it.

Many controllers never send `time_left`, so the engine keeps its own account and lets `time_left` correct it.
All times are seconds. Sources: GTP 2 draft 2, section 4.2 (`time_settings`, `time_left`); KGS's and KataGo's GTP
extensions (`kgs-time_settings`, `kata-time_settings`).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from go_rules.points import BLACK, WHITE


class System(enum.Enum):
    """The kinds of time controls."""

    NONE = "none"
    """No clock at all."""
    ABSOLUTE = "absolute"
    BYOYOMI = "byoyomi"
    """Periods; one that is not used up starts afresh."""
    CANADIAN = "canadian"
    """Periods in which a number of stones must be played."""
    FISCHER = "fischer"
    """Each move adds an increment."""
    FISCHER_CAPPED = "fischer-capped"


@dataclass(frozen=True)
class TimeControl:
    """A time control: how much time each side has."""

    system: System = System.NONE
    main: float = 0.0
    period: float = 0.0
    """The length of one overtime period in seconds."""
    periods: int = 0
    """Byo-yomi periods at the start."""
    stones: int = 0
    """Moves to play within a Canadian period."""
    increment: float = 0.0
    cap: float = math.inf
    """The most a Fischer clock can hold."""
    move_maximum: float = math.inf
    """The most a single move may take."""

    @classmethod
    def absolute(cls, main: float) -> TimeControl:
        """Make a time control of main time only, in seconds.

        Nobody can play in no time at all: programs that send zeros mean that there is no clock.
        """
        return cls(System.ABSOLUTE, main) if main > 0 else cls()

    @classmethod
    def byoyomi(cls, main: float, period: float, periods: int) -> TimeControl:
        """Make a time control of main time, and then a number of periods. Without periods this is absolute time."""
        if period <= 0 or periods <= 0:
            return cls.absolute(main)
        return cls(System.BYOYOMI, main, period=period, periods=periods)

    @classmethod
    def canadian(cls, main: float, period: float, stones: int) -> TimeControl:
        """Make a time control of main time, and then periods for a number of stones, as in `time_settings`.

        Without stones in a period there is no clock; without a period there is main time only.
        """
        if period <= 0:
            return cls.absolute(main)
        if stones <= 0:
            return cls()
        return cls(System.CANADIAN, main, period=period, stones=stones)

    @classmethod
    def fischer(cls, main: float, increment: float) -> TimeControl:
        """Make a time control of main time, and an increment after each move. Without both there is no clock."""
        return cls(System.FISCHER, main, increment=increment) if main > 0 or increment > 0 else cls()

    @classmethod
    def fischer_capped(cls, main: float, increment: float, cap: float, move_maximum: float) -> TimeControl:
        """Make Fischer time with a cap on the clock and a maximum for a move. If one is negative, there is none.

        Without time and without an increment there is no clock.
        """
        if main <= 0 and increment <= 0:
            return cls()
        return cls(
            System.FISCHER_CAPPED,
            main,
            increment=increment,
            cap=cap if cap >= 0 else math.inf,
            move_maximum=move_maximum if move_maximum >= 0 else math.inf,
        )


@dataclass(frozen=True)
class TimeLeft:
    """What one side has left on its clock."""

    main: float
    """Main time left; on a Fischer clock all time that is left."""
    in_overtime: bool = False
    period: float = 0.0
    """Seconds left of the present period, in overtime."""
    periods: int = 0
    """Byo-yomi periods left, with the present one."""
    stones: int = 0
    """Moves to play before the present Canadian period ends."""


class Clock:
    """The time of both sides under one time control."""

    control: TimeControl
    left: dict[int, TimeLeft]
    """What each colour has left."""

    def __init__(self, control: TimeControl | None = None) -> None:
        self.set_control(control or TimeControl())

    def set_control(self, control: TimeControl) -> None:
        """Change the time control and start with full clocks."""
        self.control = control
        self.restart()

    def restart(self) -> None:
        """Give both sides their full time, for a new game."""
        self.left = {colour: full_time(self.control) for colour in (BLACK, WHITE)}

    def spend(self, colour: int, seconds: float) -> None:
        """Take the seconds of one move from a side's clock."""
        self.left[colour] = after_move(self.control, self.left[colour], seconds)

    def correct(self, colour: int, seconds: float, stones: int) -> None:
        """Set what a side has left, as `time_left` says it: `stones` is 0 in main time, else stones or periods left.

        If no time control was announced, overtime is taken as Canadian and main time as absolute. Zero seconds without
        stones then change nothing: programs without a clock send that. Seconds below zero are those by which this move
        has run into the next period. No more is left of a byo-yomi period than it is long, and no more periods than
        there were.

        No seconds, but all stones of a Canadian period, mean that it begins with this move. Only a period for one stone
        can be over by then: it is like the last one of byo-yomi.
        """
        if self.control.system is System.NONE:
            if seconds <= 0 and stones <= 0:
                return
            self.set_control(TimeControl.absolute(seconds) if stones <= 0 else _unannounced(0.0, seconds, stones))
        elif self.control.system is System.ABSOLUTE and stones > 0:
            self.control = _unannounced(self.control.main, seconds, stones)
        control = self.control
        left = TimeLeft(main=max(0.0, seconds))
        if control.system is System.BYOYOMI and stones > 0:
            left = _in_byoyomi(control, min(seconds, control.period), min(stones, control.periods))
        elif control.system is System.BYOYOMI and seconds <= 0:
            left = _in_byoyomi(control, control.period + seconds, control.periods)
        elif control.system is System.CANADIAN and seconds <= 0 and (stones <= 0 or 1 < control.stones <= stones):
            left = TimeLeft(0.0, True, period=max(0.0, control.period + seconds), stones=control.stones)
        elif control.system is System.CANADIAN and stones > 0:
            left = TimeLeft(0.0, True, period=max(0.0, seconds), stones=stones)
        self.left[colour] = left


def _unannounced(main: float, seconds: float, stones: int) -> TimeControl:
    return TimeControl.canadian(main, max(seconds, 0.01), stones)


def _in_byoyomi(control: TimeControl, seconds: float, periods: int) -> TimeLeft:
    """Return what is left where `seconds` are left of a period; those below zero are taken from the next periods."""
    over = math.ceil(min(periods - 1, max(0.0, -seconds / control.period)))
    return TimeLeft(0.0, True, period=max(0.0, seconds + over * control.period), periods=periods - over)


def full_time(control: TimeControl) -> TimeLeft:
    """Return what a side has at the start of a game."""
    left = TimeLeft(main=control.main)
    if control.main <= 0 and control.system in (System.BYOYOMI, System.CANADIAN):
        return enter_overtime(control, left)
    return left


def enter_overtime(control: TimeControl, left: TimeLeft) -> TimeLeft:
    """Return what is left when the first period begins, after the main time, or when a Canadian period begins anew."""
    return replace(
        left, main=0.0, in_overtime=True, period=control.period, periods=control.periods, stones=control.stones
    )


def after_move(control: TimeControl, left: TimeLeft, seconds: float) -> TimeLeft:
    """Compute what is left after a move of `seconds`. It is never negative, even if the game was lost on time."""
    if control.system is System.NONE:
        return left
    if control.system in (System.FISCHER, System.FISCHER_CAPPED):
        return replace(left, main=min(control.cap, max(0.0, left.main - seconds) + control.increment))
    if not left.in_overtime:
        over = seconds - left.main
        if over < 0 or control.system is System.ABSOLUTE:
            return replace(left, main=max(0.0, -over))
        left, seconds = enter_overtime(control, left), over
        if control.system is System.CANADIAN:
            # By the controller's clock the period may begin some moves later. With at least its share charged for
            # the first stone, no run of moves of a period's length takes more than a period, wherever it begins.
            seconds = max(seconds, control.period / control.stones)
    if control.system is System.BYOYOMI:
        return _after_byoyomi_move(control, left, seconds)
    if left.stones <= 1:
        return enter_overtime(control, left)
    return replace(left, period=max(0.0, left.period - seconds), stones=left.stones - 1)


def _after_byoyomi_move(control: TimeControl, left: TimeLeft, seconds: float) -> TimeLeft:
    periods, over = left.periods, seconds - left.period
    while over >= 0 and periods > 1:
        periods -= 1
        over -= control.period
    return replace(left, period=control.period, periods=periods)
