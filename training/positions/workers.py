"""Threads that run the kernels which make positions, each with buffers of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE, N_POINTS
from go_rules.position import new_stack
from go_rules.rules import RULES
from nets.evaluator import GLOBAL_FEATURES
from nets.features import Scratch, new_scratch
from nobi_machine.memory import usable_cores

MIN_PART, PARTS = 8, 4
"""A thread makes at least MIN_PART positions at a time, and a batch is cut into at most PARTS parts a thread. Each call
of a kernel holds the interpreter for some 50 microseconds."""


class ReplayBuffers(NamedTuple):
    """The memory that one thread's kernels write on."""

    stack: NDArray[np.void]
    """POSITION[3]: two moves ago, one move ago, now."""
    rules: NDArray[np.void]
    """RULES[1] of the game that is replayed."""
    scratch: Scratch
    """Buffers of the feature encoder."""
    ban: NDArray[np.int8]
    """[N_POINTS] of zeros: superko bans, which are not known here."""
    permutation: NDArray[np.int16]
    """[MAX_SIZE**2] where a board's points are shown on its canvas."""
    numbers: NDArray[np.float32]
    """[19] global features."""
    state: NDArray[np.uint64]
    """[2] random state."""


def new_replay_buffers(pass_alive_under_suicide: bool = False) -> ReplayBuffers:
    """Allocate the buffers of one thread. `pass_alive_under_suicide` is a property of the teacher's network: how its
    area features count pass-alive groups."""
    return ReplayBuffers(
        new_stack(3),
        np.zeros(1, RULES),
        new_scratch(pass_alive_under_suicide),
        np.zeros(N_POINTS, np.int8),
        np.zeros(MAX_SIZE * MAX_SIZE, np.int16),
        np.zeros(GLOBAL_FEATURES, np.float32),
        np.zeros(2, np.uint64),
    )


class WorkerPool:
    """Threads that share out the positions of a batch."""

    def __init__(self, threads: int = 0, pass_alive_under_suicide: bool = False) -> None:
        """Start `threads` threads; 0 means one for each core."""
        self.count = threads or usable_cores()
        self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="positions")
        self._spare = [new_replay_buffers(pass_alive_under_suicide) for _ in range(self.count)]

    def map_parts(self, function: Callable[[int, int, ReplayBuffers], None], count: int) -> None:
        """Call `function(first, last, buffers)` for consecutive parts of range(count), and wait for all of them."""
        part = max(MIN_PART, -(-count // (PARTS * self.count)))
        waiting: list[Future[None]] = [
            self._threads.submit(self._run, function, first, min(first + part, count))
            for first in range(0, count, part)
        ]
        for future in waiting:
            future.result()

    def _run(self, function: Callable[[int, int, ReplayBuffers], None], first: int, last: int) -> None:
        buffers = self._spare.pop()
        try:
            function(first, last, buffers)
        finally:
            self._spare.append(buffers)

    def close(self) -> None:
        """End the threads; work that has not begun is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
