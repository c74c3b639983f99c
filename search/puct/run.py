"""One search in progress: its request, what it has done so far, and when it is over."""

from __future__ import annotations

import time
from collections import Counter

from search.request import SearchRequest
from search.result import StopReason

VISITS_A_WORKER = 8
"""The fewest visits to come for each worker that searches, as in KataGo."""

FASTER = 1.3
"""Safety factor on the measured speed, where it predicts how many visits are still to come."""


class Run:
    """A search in progress. All workers share it, and read and change it only under the search's lock."""

    def __init__(self, request: SearchRequest, first_visits: int, started: float) -> None:
        """`first_visits`: visits the root has already; `started`: time.perf_counter() when the search was asked for."""
        self.request = request
        self.started = started
        self.first_visits = first_visits
        self.visits = first_visits
        """Visits of the root."""
        self.in_flight = 0
        """Visits whose evaluation is under way."""
        self.batches: Counter[int] = Counter()
        """How often a worker had so many positions evaluated."""
        self.stop_checks = 0
        """How often a worker has checked whether the search is over."""
        self.reason: StopReason | None = None
        """Why the search ended; None while it goes on."""
        self.error: BaseException | None = None
        """The error of a worker that failed."""
        limits = request.limits
        self._began = time.perf_counter()
        """When the first of its visits began: the root had to be evaluated before."""
        self._visits = limits.visits_from(first_visits)
        self._deadline = None if limits.seconds is None else started + limits.seconds
        self.most_workers = max(1, self.room() // VISITS_A_WORKER)
        """How many workers may search: with few visits to come, workers in parallel select without knowing enough."""

    def room(self) -> int:
        """Return how many more visits may begin; 2^30 without a limit of visits."""
        if self._visits is None:
            return 1 << 30
        return self._visits - self.visits - self.in_flight

    def end(self, reason: StopReason) -> None:
        """End the search. The first reason given counts."""
        if self.reason is None:
            self.reason = reason

    def fail(self, error: BaseException) -> None:
        """End the search because a worker failed."""
        self.error = self.error or error
        self.end(StopReason.INTERRUPTED)

    def check(self) -> None:
        """End the search if a limit is reached."""
        if self._visits is not None and self.visits >= self._visits:
            self.end(StopReason.VISITS)
        elif self.request.stop is not None and self.request.stop.is_set():
            self.end(StopReason.INTERRUPTED)
        elif self._deadline is not None and time.perf_counter() >= self._deadline:
            self.end(StopReason.TIME)

    def seconds(self) -> float:
        """Return the seconds since the search was asked for."""
        return time.perf_counter() - self.started

    def seconds_left(self) -> float:
        """Return the seconds until the time limit: infinite where there is none, negative after it."""
        return float("inf") if self._deadline is None else self._deadline - time.perf_counter()

    def visits_left(self, more: int) -> float:
        """Estimate by the speed so far the most visits that may still come before a limit; infinite without limits.

        `more`: visits that are about to be counted.
        """
        visits = self.visits + more
        left = float("inf")
        if self._visits is not None:
            left = float(self._visits - visits)
        if self._deadline is not None:
            seconds = max(time.perf_counter() - self._began, 1e-3)
            speed = FASTER * (visits - self.first_visits + 1) / seconds
            left = min(left, speed * max(0.0, self.seconds_left()))
        return left
