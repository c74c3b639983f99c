"""One search in progress: its limits and its reports."""

from __future__ import annotations

import time
from collections.abc import Callable

from search.alphazero.parameters import AlphaZeroParameters
from search.request import SearchRequest
from search.result import SearchResult, StopReason

UNLIMITED = 1 << 60
"""Visits left where no limit is set."""


class Run:
    """The limits of one search."""

    def __init__(
        self, request: SearchRequest, parameters: AlphaZeroParameters, first_visits: int, started: float
    ) -> None:
        """`first_visits`: what the root has from earlier searches; `started`: by time.perf_counter."""
        limits = request.limits
        self._request, self._first, self._started = request, first_visits, started
        self._most = limits.visits_from(first_visits)
        if self._most is None and limits.seconds is not None and not request.analysis:
            self._most = first_visits + parameters.simulations
        self._deadline = float("inf") if limits.seconds is None else started + limits.seconds
        report = request.report
        self._next_report = float("inf")
        if report is not None:
            self._next_report = started + report.before_first
        in_a_hurry = limits.saves_time and limits.may_stop_early and not request.analysis
        self.may_stop_early = in_a_hurry and parameters.stop_when_decided
        """Whether to end once the visits that are left cannot change the move, where that saves time."""

    def simulations(self, speed: float) -> int | None:
        """Estimate how many simulations this search has, from the visits a second of the last one.

        0 is an unknown speed. None means that the search goes on until it is interrupted.
        """
        if self._request.analysis or (self._most is None and self._deadline == float("inf")):
            return None
        left = UNLIMITED if self._most is None else max(0, self._most - max(1, self._first))
        if speed > 0.0 and self._deadline < float("inf"):
            left = min(left, int(speed * max(0.0, self._deadline - time.perf_counter())))
        return left

    def is_over(self, visits: int) -> StopReason | None:
        """Return the limit that is reached where the root has so many visits, None if none is."""
        stop = self._request.stop
        if self._most is not None and visits >= self._most:
            return StopReason.VISITS
        if stop is not None and stop.is_set():
            return StopReason.INTERRUPTED
        return StopReason.TIME if time.perf_counter() >= self._deadline else None

    def visits_left(self, visits: int) -> int:
        """Return how many more visits the limits allow."""
        return UNLIMITED if self._most is None else self._most - visits

    def likely_left(self, visits: int) -> float:
        """Estimate how many more visits there will be, by the speed so far."""
        now = time.perf_counter()
        speed = max(1, visits - self._first) / max(now - self._started, 1e-3)
        return min(self.visits_left(visits), speed * (self._deadline - now))

    def report(self, snapshot: Callable[[], SearchResult]) -> None:
        """Send a report if it is time for one."""
        report = self._request.report
        if report is not None and time.perf_counter() >= self._next_report:
            report.callback(snapshot())
            self._next_report = max(self._next_report + report.every, time.perf_counter())
