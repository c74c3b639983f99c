"""The referee's view of a clock: time controls as text, as GTP commands, and how much a move overstepped.

What a clock is and how it runs is gtp_engine/clock.py's business, which the engine itself uses.
"""

from __future__ import annotations

import math

from gtp_engine.clock import System, TimeControl, after_move, full_time

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
    """GTP commands that announce it, the best first; an engine is told by the first it knows.

    The last is always `time_settings`, which every engine with a clock has, with the nearest terms it can say that
    never promise more time than there is.
    """
    main, period = f"{control.main:g}", f"{control.period:g}"
    if control.system is System.FISCHER:
        least = f"time_settings {main} 0 0"
        return [f"kata-time_settings fischer {main} {control.increment:g}", least]
    if control.system is System.BYOYOMI:
        spare = control.main + (control.periods - 1) * control.period
        least = f"time_settings {spare:g} {period} 1"
        return [f"kgs-time_settings byoyomi {main} {period} {control.periods}", least]
    return [f"time_settings {main} {period} {control.stones}"]


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
        self.left = after_move(self.control, self.left, seconds - late)
        return late
