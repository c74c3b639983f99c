"""Evaluations and threads: one that its caller need not wait for, and those of several threads merged into one.

No network can be stopped in the middle of a batch, and a GPU computes many positions in hardly more time than one.
"""

from __future__ import annotations

import concurrent.futures
import copy
import threading
from collections.abc import Sequence

import numpy as np

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, ForwardingEvaluator

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


class _Entry:
    """A request that waits or is being evaluated."""

    def __init__(self, request: EvaluationRequest) -> None:
        self.request = request
        self.answer: Evaluation | None = None
        self.error: BaseException | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """What requests must have in common to be merged: the board, and which of the arrays there are."""
        return (*self.request.spatial.shape[1:], self.request.optimism is None, self.request.colours is None)


class MergingEvaluator(ForwardingEvaluator):
    """Passes requests on to another evaluator, several at a time where they come together.

    While the device computes, requests wait; when it is free, one of the waiting threads takes all that wait and has
    them evaluated together. So batches grow as far as the device is slow, and nobody waits for one to fill.
    """

    def __init__(self, evaluator: Evaluator, most: int, at_once: int = 1) -> None:
        """`most`: positions of a merged request, unless a single one has more; `at_once`: calls at the same time."""
        super().__init__(evaluator)
        self._most = most
        self._free = at_once
        self._changed = threading.Condition()
        self._waiting: list[_Entry] = []

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate a request together with those that wait beside it, as `Evaluator.evaluate` says."""
        own = _Entry(request)
        with self._changed:
            self._waiting.append(own)
        while own.answer is None:
            if own.error is not None:
                raise own.error
            with self._changed:
                # All that wait may be done by others, and so may this one.
                self._changed.wait_for(lambda: self._is_done(own) or (self._free > 0 and bool(self._waiting)))
                if self._is_done(own):
                    continue
                entries = self._take()
                self._free -= 1
            self._evaluate(entries)
            with self._changed:
                self._free += 1
                self._changed.notify_all()
        return own.answer

    @staticmethod
    def _is_done(entry: _Entry) -> bool:
        return entry.answer is not None or entry.error is not None

    def _take(self) -> list[_Entry]:
        """The first request that waits, and as many others of its kind as fit beside it."""
        first, room = self._waiting[0], self._most
        taken = []
        for entry in self._waiting:
            size = len(entry.request.spatial)
            if entry is first or (entry.kind == first.kind and size <= room):
                taken.append(entry)
                room -= size
        self._waiting = [entry for entry in self._waiting if entry not in taken]
        return taken

    def _evaluate(self, entries: Sequence[_Entry]) -> None:
        try:
            answers = self._answers(entries)
        except BaseException as error:
            for entry in entries:
                entry.error = error
            return
        for entry, answer in zip(entries, answers, strict=True):
            entry.answer = answer

    def _answers(self, entries: Sequence[_Entry]) -> list[Evaluation]:
        """The answers to requests of one kind. Raises EvaluatorError."""
        if len(entries) == 1:
            return [self.evaluator.evaluate(entries[0].request)]
        columns = [
            None if column[0] is None else np.concatenate(column)
            for column in zip(*(entry.request for entry in entries), strict=True)
        ]
        answer = self.evaluator.evaluate(EvaluationRequest(*columns))  # type: ignore[arg-type]
        ends = np.cumsum([len(entry.request.spatial) for entry in entries]).tolist()
        return [
            Evaluation(*(part[start:end] for part in answer)) for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]
