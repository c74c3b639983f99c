"""How many more iterations the threads of a search without a network may run, and why the search ended."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from search.result import StopReason

SLICE = 128
"""Iterations a thread takes at a time: a few milliseconds."""


class Budget:
    """All threads of one search share it. Whoever ends the search first decides the reason."""

    reason: StopReason
    """Why the search ended, and VISITS as long as it runs."""

    def __init__(
        self, iterations: int | None, stop: NDArray[np.int64], lead: Callable[[], int] | None, workers: int
    ) -> None:
        """`iterations`: the limit, or None. `stop`: int64[1], which `end` sets to 1. `lead`: how many
        iterations the second move would need to overtake the best; None if the search must not end early."""
        self.reason = StopReason.VISITS
        self._ended = False
        self._left = iterations
        self._taken = 0
        self._stop = stop
        self._lead = lead
        self._workers = workers
        self._lock = threading.Lock()

    def take(self) -> range:
        """Take a slice of the budget: the numbers of the iterations to run next. Empty when the search is over."""
        with self._lock:
            if not self._ended and self._left is not None:
                under_way = SLICE * (self._workers - 1)
                if self._left <= 0:
                    self._end(StopReason.VISITS)
                elif self._taken and self._lead is not None and self._lead() > self._left + under_way:
                    self._end(StopReason.DECIDED)
            first = self._taken
            if not self._ended:
                self._taken += SLICE if self._left is None else min(SLICE, self._left)
            if self._left is not None:
                self._left -= self._taken - first
            return range(first, self._taken)

    def end(self, reason: StopReason) -> None:
        """End the search: every thread returns as soon as its present iteration is done."""
        with self._lock:
            if not self._ended:
                self._end(reason)
                self._stop[0] = 1

    def end_if_decided(self, elapsed: float, remaining: float) -> None:
        """End if the iterations that fit into the `remaining` seconds, at the pace so far, change nothing."""
        if self._lead is not None and self._taken and self._lead() > self._taken * remaining / elapsed:
            self.end(StopReason.DECIDED)

    def _end(self, reason: StopReason) -> None:
        self.reason = reason
        self._ended = True
