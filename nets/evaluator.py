"""What the search asks of a network: a batch of encoded positions in, an `Evaluation` out."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

SPATIAL_PLANES = 22
GLOBAL_FEATURES = 19

WIN, LOSS, NO_RESULT = 0, 1, 2
"""Columns of `Evaluation.value`."""
SCORE_MEAN, SCORE_STDEV, LEAD, VAR_TIME_LEFT, SHORTTERM_WINLOSS_ERROR, SHORTTERM_SCORE_ERROR = range(6)
"""Columns of `Evaluation.score`."""
SCORE_COLUMNS = 6


class Evaluation(NamedTuple):
    """A network's opinion of N positions of W×H points, post-processed; everything is the side to move's view."""

    policy: NDArray[np.float32]
    """[N, H*W + 1] logits, row by row from the top left, the pass last; illegal moves are not masked. Optimism is
    already mixed in."""
    value: NDArray[np.float32]
    """[N, 3] probabilities of win, loss, no result; they sum to 1."""
    score: NDArray[np.float32]
    """[N, 6] points: expected final score and its standard deviation, lead, variance of time left, short-term errors
    of the winning chance and of the score (-1 where the network has none)."""
    ownership: NDArray[np.float32]
    """[N, H*W] in [-1, 1]: +1 is the side to move's."""


def softmax(logits: NDArray[Any], legal: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Probabilities of the same shape and precision as `logits` [..., P]; every row sums to 1.

    `legal` [P]: which moves of one position (`logits` [P]) may be played. The others have the probability 0, and all
    have it where no move is legal.
    """
    if legal is not None:
        out = np.zeros_like(logits)
        if legal.any():
            out[legal] = softmax(logits[legal])
        return out
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


class EvaluatorError(Exception):
    """A network that cannot be loaded or gave unusable output. The text is one line, fit for a user."""


class Evaluator(Protocol):
    """A network ready to run. `evaluate` may be called from several threads at once and releases the GIL."""

    name: str
    """The network's own name."""
    precision: str
    """`fp32`, `fp16` or `int8`."""
    provider: str
    """What computes it, e.g. `CPUExecutionProvider`."""

    def evaluate(self, spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        """Evaluate `spatial` [N, 22, H, W] and `global_` [N, 19] (V7 features, features.py). Raises EvaluatorError."""
        ...
