"""The referee's clock: what each side has left, and whether it has overstepped.

One shape serves all that `time_settings` can say: main time, then periods in which a number of stones must be played.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


class ClockError(ValueError):
    """Text that is no time control. The text is one line."""


@dataclass(frozen=True)
class TimeControl:
    """GTP's Canadian time; absolute time where `stones` is 0."""

    main: float
    """Seconds."""
    period: float = 0.0
    """Seconds for `stones` moves once the main time is used up."""
    stones: int = 0

    def __str__(self) -> str:
        return f"{self.main:g} {self.period:g} {self.stones}"

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """`MAIN[:PERIOD:STONES]`, as in `time_settings`. Raises ClockError."""
        words = text.replace(":", " ").split()
        try:
            main = float(words[0])
            period, stones = (float(words[1]), int(words[2])) if len(words) == 3 else (0.0, 0)
        except (ValueError, IndexError):
            raise ClockError(f"not a time control: {text} (MAIN or MAIN:PERIOD:STONES, e.g. 60:30:5)") from None
        if len(words) not in (1, 3) or not (0 <= main < math.inf and 0 <= period < math.inf and stones >= 0):
            raise ClockError(f"not a time control: {text} (MAIN or MAIN:PERIOD:STONES, e.g. 60:30:5)")
        if (period > 0) != (stones > 0) or main == period == 0:
            raise ClockError(f"a time control that leaves no time: {text}")
        return cls(main, period, stones)


class Clock:
    """One side's time in one game."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.main = control.main
        self.period = control.period
        self.stones = control.stones
        """Left in the present period; 0 while main time lasts and there is any."""
        self.in_overtime = control.main == 0

    def time_left(self) -> tuple[float, int]:
        """Seconds and stones as `time_left` says them; stones = 0 is main time."""
        return (max(0.0, self.period), self.stones) if self.in_overtime else (max(0.0, self.main), 0)

    def allowance(self) -> float:
        """Seconds the next move may take at most."""
        if self.in_overtime:
            return max(0.0, self.period)
        return max(0.0, self.main) + (self.control.period if self.control.stones else 0.0)

    def spend(self, seconds: float) -> float:
        """Charge a move; return the seconds by which it overstepped, 0 if it did not."""
        if not self.in_overtime:
            self.main -= seconds
            if self.main >= 0:
                return 0.0
            if not self.control.stones:
                late, self.main = -self.main, 0.0
                return late
            self.in_overtime = True
            seconds, self.main = -self.main, 0.0
        self.period -= seconds
        late = max(0.0, -self.period)
        self.stones -= 1
        if self.stones <= 0 or late:
            self.period, self.stones = self.control.period, self.control.stones
        return late
