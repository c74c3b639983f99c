"""The referee's clocks: time controls as text and as GTP commands, and by how much a move was late.

What a time control is and how a clock runs is in gtp_engine/session/clock.py, which the engine uses, too. All seconds
of a move are charged here. But the way to an engine and back takes time that is not the engine's, so a clock may go
below zero, and a move is late only if it leaves the clock more than the lag below it. A clock below zero goes on:

    absolute            from there, to the end of the game
    Fischer             from there, with the increment; a move may be over its maximum by the lag as well
    Canadian            from there, until the stones of the period are played; a new period is full
    byo-yomi            the last period is full again for each move; no other period is saved by the lag
    a time for a move   full again
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

from gtp_engine.session.clock import System, TimeControl, after_move, enter_overtime, full_time
from gtp_engine.session.time_management import most_seconds
from nobi_machine.text import parse_number, shown

FORMS = (
    "MAIN, MAIN:PERIOD:STONES, byoyomi:MAIN:PERIOD:PERIODS, fischer:MAIN:INCREMENT or "
    "fischer-capped:MAIN:INCREMENT:CAP:MOST, where -1 is no cap and no most for a move"
)

MOST = 1e7
"""Of seconds, stones and periods."""


class ClockError(ValueError):
    """The text is no time control. The message is one line."""


def parse_control(text: str) -> TimeControl:
    """Read a time control in one of FORMS; all times are seconds. Raises ClockError.

    Fischer time needs a main time: a first move has no increment yet."""
    words = text.strip().lower().split(":")
    system = words.pop(0) if words[0][:1].isalpha() else {1: "absolute", 3: "canadian"}.get(len(words), "")
    with contextlib.suppress(ValueError):
        numbers = [parse_number(word) for word in words]
        if not all(0 <= number <= MOST or number == -1 for number in numbers) or -1 in numbers[:2]:
            numbers = []
        match system, numbers:
            case "absolute", [main] if main > 0:
                return TimeControl.absolute(main)
            case "canadian", [main, period, stones] if period > 0 and stones >= 1 and stones % 1 == 0:
                return TimeControl.canadian(main, period, int(stones))
            case "byoyomi", [main, period, periods] if period > 0 and periods >= 1 and periods % 1 == 0:
                return TimeControl.byoyomi(main, period, int(periods))
            case "fischer", [main, increment] if main > 0:
                return TimeControl.fischer(main, increment)
            case System.FISCHER_CAPPED.value, [main, increment, cap, most] if main > 0 and cap and most:
                return TimeControl.fischer_capped(main, increment, cap, most)
    raise ClockError(f"not a time control: {shown(text)} (one of {FORMS})")


def announcements(control: TimeControl) -> list[str]:
    """List the GTP commands that announce a time control, the best first. An engine gets the first one that it accepts.

    The last one is always `time_settings` with whole numbers, which every engine with a clock accepts. It comes as near
    as it can: byo-yomi with all periods but one as main time, Fischer time without its increment. `SideClock.time_left`
    can tell of byo-yomi in the same way.
    """
    main, period, count = control.main, control.period, control.stones
    commands = []
    if control.system is System.FISCHER:
        commands = [f"kata-time_settings fischer {main:.12g} {control.increment:.12g}"]
    elif control.system is System.FISCHER_CAPPED:
        limits = " ".join(f"{-1 if most == math.inf else most:.12g}" for most in (control.cap, control.move_maximum))
        commands = [f"kata-time_settings fischer-capped {main:.12g} {control.increment:.12g} {limits}"]
    elif control.system is System.BYOYOMI:
        commands = [f"kgs-time_settings byoyomi {main:.12g} {period:.12g} {control.periods}"]
        main, count = main + (control.periods - 1) * period, 1
    if main % 1 or period % 1:
        commands.append(f"time_settings {main:.12g} {period:.12g} {count}")
    return [*commands, f"time_settings {math.ceil(main)} {math.ceil(period)} {count}"]


class SideClock:
    """The clock of one side in one game."""

    def __init__(self, control: TimeControl, lag: float = 0.0) -> None:
        """Start with the full time. A move is late if it leaves the clock more than `lag` seconds below zero."""
        self.control = control
        self.lag = lag
        self.left = full_time(control)
        """Main time and a Canadian period may be below zero here, by at most `lag`."""

    def time_left(self, in_periods: bool = True) -> tuple[float, int]:
        """Return the arguments of `time_left`: seconds, never below 0, and stones or periods, which are 0 in main time.

        `in_periods`: whether the engine was told of byo-yomi periods. If not, all of them but the last are main time
        for it (`announcements`), and it hears of them as main time here, too.
        """
        left = self.left
        if self.control.system is System.BYOYOMI and not in_periods:
            spare = self.control.period * ((left.periods if left.in_overtime else self.control.periods) - 1)
            return (left.period, 1) if left.in_overtime and spare <= 0 else (left.main + spare, 0)
        if not left.in_overtime:
            return max(0.0, left.main), 0
        return max(0.0, left.period), left.periods if self.control.system is System.BYOYOMI else left.stones

    def allowance(self) -> float:
        """Compute the most seconds that the next move may take by the clock, without the lag."""
        return max(0.0, most_seconds(self.control, self.left))

    def limit(self) -> float:
        """Compute after how many seconds the next move is late."""
        return max(0.0, most_seconds(self.control, self.left) + self.lag)

    def spend(self, seconds: float) -> float:
        """Take all seconds of a move from the clock. Returns by how many it was over, if that made it late; else 0.

        After a late move the clock goes on from zero: a game that is not lost by it has to go on.
        """
        late = seconds - most_seconds(self.control, self.left) if seconds > self.limit() else 0.0
        left = self.left
        if self.control.system is System.CANADIAN and not left.in_overtime and seconds >= left.main:
            # An engine charges itself more here, not knowing when the controller's period began; we are the controller.
            seconds -= left.main
            left = enter_overtime(self.control, left)
        self.left = after_move(self.control, left, seconds)
        below = seconds - (left.period if left.in_overtime else left.main)
        begins_anew = self.control.system is System.BYOYOMI or (left.in_overtime and left.stones <= 1)
        if below > 0 and not late and not begins_anew:
            after = self.left
            self.left = (
                replace(after, period=after.period - below)
                if left.in_overtime
                else replace(after, main=after.main - below)
            )
        return late
