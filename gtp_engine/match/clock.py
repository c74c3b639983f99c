"""The referee's view of a clock: time controls as text, as GTP commands, and how much a move overstepped.

What a clock is and how it runs is gtp_engine/thinking/clock.py's business, which the engine itself uses.
"""

from __future__ import annotations

import math

from gtp_engine.thinking.clock import System, TimeControl, after_move, enter_overtime, full_time

FORMS = "MAIN, MAIN:PERIOD:STONES, byoyomi:MAIN:PERIOD:PERIODS or fischer:MAIN:INCREMENT"


class ClockError(ValueError):
    """Text that is no time control. The text is one line."""


def parse_control(text: str) -> TimeControl:
    """A time control in one of FORMS, all seconds. Raises ClockError."""
    words = text.strip().lower().split(":")
    system = words.pop(0) if words[0].isalpha() else {1: "absolute", 3: "canadian"}.get(len(words), "")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if not all(0 <= number < math.inf for number in numbers):
        numbers = []
    if system == "absolute" and len(numbers) == 1 and numbers[0] > 0:
        return TimeControl.absolute(numbers[0])
    if system in ("canadian", "byoyomi") and len(numbers) == 3 and numbers[1] > 0 and numbers[2] >= 1:
        main, period, count = numbers
        make = TimeControl.canadian if system == "canadian" else TimeControl.byoyomi
        return make(main, period, int(count))
    if system == "fischer" and len(numbers) == 2 and sum(numbers) > 0:
        return TimeControl.fischer(*numbers)
    raise ClockError(f"not a time control: {text} (one of {FORMS})")


def announcements(control: TimeControl) -> list[str]:
    """GTP commands that announce it, the best first; an engine is told by the first it accepts.

    The last is always the whole numbers of `time_settings` that every engine with a clock takes: the nearest terms,
    byo-yomi with its spare periods as main time and Fischer time without its increment.
    """
    main, period, count = control.main, control.period, control.stones
    commands = []
    if control.system is System.FISCHER:
        commands = [f"kata-time_settings fischer {main:g} {control.increment:g}"]
    elif control.system is System.BYOYOMI:
        commands = [f"kgs-time_settings byoyomi {main:g} {period:g} {control.periods}"]
        main, count = main + (control.periods - 1) * period, 1
    if main % 1 or period % 1:
        commands.append(f"time_settings {main:g} {period:g} {count}")
    return [*commands, f"time_settings {math.ceil(main)} {math.ceil(period)} {count}"]


class SideClock:
    """One side's time in one game."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.left = full_time(control)

    def time_left(self) -> tuple[float, int]:
        """Seconds, and stones or periods, as `time_left` says them; (seconds, 0) is main time."""
        if not self.left.in_overtime:
            return self.left.main, 0
        count = self.left.periods if self.control.system is System.BYOYOMI else self.left.stones
        return self.left.period, count

    def allowance(self) -> float:
        """Seconds the next move may take at most."""
        left = self.left
        if self.control.system is System.BYOYOMI:
            if left.in_overtime:
                return left.period + (left.periods - 1) * self.control.period
            return left.main + self.control.periods * self.control.period
        return left.period if left.in_overtime else left.main + self.control.period

    def spend(self, seconds: float) -> float:
        """Charge a move; return the seconds by which it overstepped, 0 if it did not."""
        late = max(0.0, seconds - self.allowance())
        seconds -= late
        main = self.left.main
        if self.control.system is System.CANADIAN and not self.left.in_overtime and seconds >= main:
            # An engine charges itself more here, not knowing when the controller's period began; we are the controller.
            self.left = enter_overtime(self.control, self.left)
            seconds -= main
        self.left = after_move(self.control, self.left, seconds)
        return late
