"""One search under way: its limits, why it ends, its reports; and the threads of those that have several."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from search.request import SearchRequest
from search.result import SearchResult, StopReason

WATCH_INTERVAL = 0.02
"""Seconds after which the calling thread looks again at the clock, the stop event and the reports."""


class SharedLimits:
    """The limits of one search, which all its threads share. Whoever ends it first decides the reason."""

    reason: StopReason
    """Why the search ended, and VISITS as long as it runs."""
    lead: Callable[[], int] | None = None
    """Tells how many visits the second move would need to overtake the best; None if the search must not end early."""

    steps = 0
    """How often the calling thread has looked."""

    def __init__(self, request: SearchRequest, started: float, left: int | None, stop: NDArray[np.int64]) -> None:
        """`started`: when the search began, by time.perf_counter. `left`: how many visits there may be from now on, or
        None. `stop`: int64[1], set to 1 where the search ends before all visits that were taken."""
        self.reason = StopReason.VISITS
        self._request, self._started = request, started
        self._ended = False
        self._left, self._stop = left, stop
        self._taken = 0
        self._deadline = float("inf") if request.limits.seconds is None else started + request.limits.seconds
        self._next_report = float("inf") if request.report is None else started + request.report.before_first
        self._course = request.course
        self._lock = threading.Lock()

    def take(self, most: int, under_way: int = 0) -> int:
        """Take up to `most` visits to run next; 0 when the search is over. `under_way`: what others have taken."""
        with self._lock:
            if not self._ended and self._left is not None and self._left <= 0:
                self._end(StopReason.VISITS)
            elif not self._ended and not self._course.leads and self._is_decided(under_way):
                self._end(StopReason.DECIDED)
            if self._ended:
                return 0
            taken = most if self._left is None else min(most, self._left)
            self._count(taken)
            return taken

    def give_back(self, visits: int) -> None:
        """Give back visits that were taken and not run."""
        with self._lock:
            self._count(-visits)

    def end(self, reason: StopReason) -> None:
        """End the search: every thread returns as soon as its present iteration is done."""
        with self._lock:
            if not self._ended:
                self._end(reason)
                self._stop[0] = 1

    def look(self, snapshot: Callable[[], SearchResult]) -> None:
        """Look at the clock and the stop event: end the search if they say so, and send a report if it is time. Or do
        what the course did that the search follows."""
        if self._ended:
            return
        now = time.perf_counter()
        stop, report, course = self._request.stop, self._request.report, self._course
        self.steps += 1
        if course.leads:
            for _ in course.due_reports(self.steps, self._taken):
                if report is not None:
                    report.callback(snapshot())
            if course.is_over(self.steps):
                self.end(course.stop_reason())
            return
        if stop is not None and stop.is_set():
            self.end(StopReason.INTERRUPTED)
        elif now >= self._deadline:
            self.end(StopReason.TIME)
        if report is not None and now >= self._next_report:
            course.reports.append((self.steps, self._taken))
            report.callback(snapshot())
            self._next_report = max(self._next_report + report.every, time.perf_counter())

    def pause(self) -> float:
        """Return for how many seconds nothing has to be looked at."""
        now = time.perf_counter()
        return max(0.0, min(WATCH_INTERVAL, self._deadline - now, self._next_report - now))

    def expected(self, speed: float) -> int | None:
        """Estimate how many visits are left, where the last search had `speed` visits a second (0: not known).

        None means that the search goes on until it is interrupted.
        """
        if self._request.analysis or (self._left is None and self._deadline == float("inf")):
            return None
        by_time = speed * max(0.0, self._deadline - time.perf_counter()) if speed > 0.0 else float("inf")
        return int(min(1 << 60 if self._left is None else max(0, self._left), by_time))

    def _is_decided(self, under_way: int) -> bool:
        """Whether what is left, at the pace so far, changes nothing."""
        if self.lead is None or self._taken == 0:
            return False
        now = time.perf_counter()
        left = float("inf") if self._left is None else float(self._left + under_way)
        if self._deadline < float("inf"):
            left = min(left, self._taken * (self._deadline - now) / max(now - self._started, 1e-3))
        return self.lead() > left

    def _count(self, visits: int) -> None:
        self._taken += visits
        if self._left is not None:
            self._left -= visits

    def _end(self, reason: StopReason) -> None:
        self.reason = reason
        self._ended = True


class Threads:
    """So many threads, started when they are first needed and kept until `close`."""

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.pool = ThreadPoolExecutor(number, thread_name_prefix=name)

    def run(
        self, work: Callable[[int, SharedLimits], None], run: SharedLimits, snapshot: Callable[[], SearchResult]
    ) -> None:
        """Let every thread `work(its number, run)`, look after the run meanwhile, and wait until all have returned.

        Raises what `work` or the report's callback raises, and then no thread works on.
        """
        futures: list[Future[None]] = []
        try:
            futures += (self.pool.submit(work, i, run) for i in range(self.number))
            while wait(futures, timeout=run.pause()).not_done:
                run.look(snapshot)
        finally:
            run.end(StopReason.INTERRUPTED)
            wait(futures)
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads. Whoever calls this has ended their search."""
        self.pool.shutdown()
