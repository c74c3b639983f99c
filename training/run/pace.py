"""The pace of a leg: the clock that counts its budget, and what the status line says of speeds and waits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from training.run.checkpoint import Progress

POSITIONS, COPIES, DEVICE = "positions", "copies", "device"
"""What a leg waits for: the next batch, its copy to the device, and the device's steps."""

SPARE = 0.01
"""Share of a leg's budget that is kept free, for what cannot be foreseen at its end."""
SAVES = 2
"""How often a leg's end writes the state: as it is, and, with the network's files, as the beginning of the next leg."""
MOST_RESERVED = 0.5
"""The most of a leg's budget that is kept for its end."""


class LegClock:
    """Counts the seconds of a leg as they pass, and keeps some of its budget for its end."""

    def __init__(self, progress: Progress, began: float) -> None:
        """`began` is when the leg, or this part of it, began, by time.monotonic(): what was before its first step
        counts as well."""
        self._progress = progress
        self._last = began
        self._longest_save = self._longest_measure = 0.0

    def tick(self) -> float:
        """Count the seconds since the last call, and return the present time."""
        now = time.monotonic()
        self._progress.leg_spent += now - self._last
        self._last = now
        return now

    def saved(self, seconds: float) -> None:
        """Note how long it took to write the state."""
        self._longest_save = max(self._longest_save, seconds)

    def measured(self, seconds: float) -> None:
        """Note how long it took to measure the network."""
        self._longest_measure = max(self._longest_measure, seconds)

    def reserve(self, unmeasured: float) -> None:
        """Keep as much of the budget for the leg's end as it will need. `unmeasured` is an estimate of the seconds of a
        measurement, for as long as there was none."""
        budget = self._progress.leg_budget
        needed = SPARE * budget + SAVES * self._longest_save + (self._longest_measure or unmeasured)
        self._progress.reserved = min(needed, MOST_RESERVED * budget)


class Pace:
    """Counts what was done, and waited for, since the last line."""

    def __init__(self, learned: int) -> None:
        """`learned` is how many positions were learned from before."""
        self._began = time.perf_counter()
        self._waits: dict[str, float] = defaultdict(float)
        self._made, self._learned = 0, learned
        self._copying = 0.0

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Count the time of the body as spent waiting for `what`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._waits[what] += time.perf_counter() - began

    def speeds(self, made: int, learned: int, copying: float) -> tuple[float, str]:
        """Return how many positions were learned from a second, and a line with all speeds and waits; begin anew.

        `learned` counts all positions of the run; `made` counts positions, and `copying` the seconds of waiting for
        copies, since this object was made."""
        now = time.perf_counter()
        seconds = max(now - self._began, 1e-9)
        self._waits[COPIES] += copying - self._copying
        speed = (learned - self._learned) / seconds
        waits = ", ".join(f"{what} {self._waits[what] / seconds:.0%}" for what in (POSITIONS, COPIES, DEVICE))
        line = f"{(made - self._made) / seconds:,.0f}/s made  {speed:,.0f}/s learned  waits: {waits}"
        self._began, self._made, self._learned, self._copying = now, made, learned, copying
        self._waits.clear()
        return speed, line
