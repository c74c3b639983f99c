"""An evaluator that merges the requests of several threads: a GPU computes many positions in hardly more time than one.

While the device computes, requests wait; when it is free, one of the waiting threads takes all that wait and has them
evaluated together. So batches grow by themselves as far as the device is slow, and nobody waits for a batch to fill.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, ForwardingEvaluator


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
    """Passes requests on to another evaluator, several at a time where they come together."""

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
