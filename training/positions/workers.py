"""Threads that run the kernels which make positions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from go_rules.machine.cores import usable_cores
from training.positions.work import Work, new_work

MIN_PART, PARTS = 8, 4
"""Positions a thread makes at a time: at least so many, and a batch in at most so many parts a thread. Each call of a
kernel holds the interpreter for some 50 microseconds."""


class Workers:
    """Threads that run kernels, each with work space of its own."""

    def __init__(self, threads: int = 0, pass_alive_under_suicide: bool = False) -> None:
        """`threads`: 0 for as many as there are cores."""
        self.count = threads or usable_cores()
        self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="positions")
        self._spare: list[Work] = [new_work(pass_alive_under_suicide) for _ in range(self.count)]

    def map_parts(self, function: Callable[[int, int, Work], None], count: int) -> None:
        """Call `function(first, last, work)` for consecutive parts of range(count), and wait for all of them."""
        part = max(MIN_PART, -(-count // (PARTS * self.count)))
        waiting: list[Future[None]] = [
            self._pool.submit(self._run, function, first, min(first + part, count)) for first in range(0, count, part)
        ]
        for future in waiting:
            future.result()

    def _run(self, function: Callable[[int, int, Work], None], first: int, last: int) -> None:
        work = self._spare.pop()
        try:
            function(first, last, work)
        finally:
            self._spare.append(work)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
