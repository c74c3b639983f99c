"""An evaluation that its caller need not wait for: no network can be stopped in the middle of a batch."""

from __future__ import annotations

import concurrent.futures
import copy
import threading

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator

LOOK_SECONDS = 0.01
"""Seconds between two looks of the waiting thread at its `stop` event."""


class Stopped(Exception):
    """Raised in place of an evaluation for which nobody waits any more."""


class EvaluationThread:
    """A thread that computes evaluations, so that the thread that asks for one may go on without it.

    An evaluation that was given up is computed to its end and forgotten; the next one begins after it.
    """

    def __init__(self) -> None:
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def evaluate(self, evaluator: Evaluator, request: EvaluationRequest, stop: threading.Event) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says. Raises EvaluatorError, and Stopped soon after `stop` is
        set. The arrays of the request may be written to afterwards."""
        if stop.is_set():
            raise Stopped
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(1, "root-evaluation")
        future = self._pool.submit(evaluator.evaluate, copy.deepcopy(request))
        while not concurrent.futures.wait([future], LOOK_SECONDS).done:
            if stop.is_set():
                future.cancel()
                raise Stopped
        return future.result()

    def close(self) -> None:
        """End the thread after the evaluation that it computes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
