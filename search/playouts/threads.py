"""The threads of a search without a network, and the limits that they run against."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable

from search.playouts.budget import Budget
from search.request import SearchRequest
from search.result import SearchResult, StopReason

WATCH_INTERVAL = 0.02
"""Seconds after which the calling thread looks again at the clock, the stop event and the reports."""


class Threads:
    """So many threads, started at the first search and kept until `close`."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def run(
        self,
        work: Callable[[int, Budget], None],
        budget: Budget,
        started: float,
        request: SearchRequest,
        snapshot: Callable[[], SearchResult],
    ) -> None:
        """Let every thread `work(its number, budget)`, and wait until all have returned.

        Ends the search at the first of the request's limits that is not a number of visits, and sends its reports.
        `started`: when the search began, by `time.perf_counter`. `snapshot` makes a report. Raises what `work` or the
        report's callback raises, and then no thread works on.
        """
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self._number, thread_name_prefix=self._name)
        futures = [self._pool.submit(work, i, budget) for i in range(self._number)]
        try:
            _watch(futures, budget, started, request, snapshot)
        finally:
            budget.end(StopReason.INTERRUPTED)
            concurrent.futures.wait(futures)
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads. Whoever calls this has ended their search."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _watch(
    futures: list[concurrent.futures.Future[None]],
    budget: Budget,
    started: float,
    request: SearchRequest,
    snapshot: Callable[[], SearchResult],
) -> None:
    limits, report, stop = request.limits, request.report, request.stop
    next_report = started + report.before_first if report is not None else float("inf")
    deadline = started + limits.seconds if limits.seconds is not None else float("inf")
    while True:
        now = time.perf_counter()
        pause = max(0.0, min(WATCH_INTERVAL, deadline - now, next_report - now))
        if not concurrent.futures.wait(futures, timeout=pause).not_done:
            return
        now = time.perf_counter()
        if stop is not None and stop.is_set():
            budget.end(StopReason.INTERRUPTED)
        elif now >= deadline:
            budget.end(StopReason.TIME)
        elif limits.seconds is not None:
            budget.end_if_decided(now - started, deadline - now)
        if report is not None and now >= next_report:
            report.callback(snapshot())
            next_report = now + report.every
