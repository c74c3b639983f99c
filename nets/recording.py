"""An evaluator that passes its requests on to another one and remembers what it was asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, ForwardingEvaluator


class RecordedPosition(NamedTuple):
    """One position as the network saw it."""

    spatial: NDArray[np.uint8]
    """[22, H, W]: all planes of V7 features are 0 or 1."""
    global_: NDArray[np.float32]
    """[19]"""


class RecordingEvaluator(ForwardingEvaluator):
    """Counts the batches that another evaluator is given, and keeps some of their positions."""

    def __init__(
        self, evaluator: Evaluator, most: float = float("inf"), chosen: Callable[[int], Iterable[int]] = range
    ) -> None:
        """The positions of a request are kept where fewer than `most` were kept before it. `chosen` is told the number
        of positions in a request and returns the rows to keep."""
        super().__init__(evaluator)
        self.batches: Counter[int] = Counter()
        """How many requests of each size there were."""
        self.positions: list[RecordedPosition] = []
        self._most, self._chosen = most, chosen
        self._lock = threading.Lock()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Have the other evaluator answer the request."""
        with self._lock:
            self.batches[len(request.spatial)] += 1
            if len(self.positions) < self._most:
                for row in self._chosen(len(request.spatial)):
                    planes, numbers = request.spatial[row], request.global_[row]
                    self.positions.append(RecordedPosition(planes.astype(np.uint8), numbers.copy()))
        return self.evaluator.evaluate(request)

    def take_positions(self) -> list[RecordedPosition]:
        """Return the positions kept since the last call, and forget them."""
        with self._lock:
            positions, self.positions = self.positions, []
        return positions
