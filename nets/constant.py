"""An evaluator without a network: every move as good as another, every position even."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import (
    LOSS,
    SCORE_COLUMNS,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
    Evaluation,
)


class ConstantEvaluator:
    """For tests, and to measure what the search tree costs by itself."""

    name = "constant"
    precision = "fp32"
    provider = "none"

    def evaluate(self, spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        count, _, height, width = spatial.shape
        value = np.zeros((count, 3), np.float32)
        value[:, WIN] = value[:, LOSS] = 0.5
        score = np.zeros((count, SCORE_COLUMNS), np.float32)
        score[:, SHORTTERM_WINLOSS_ERROR] = score[:, SHORTTERM_SCORE_ERROR] = -1.0
        return Evaluation(
            policy=np.zeros((count, height * width + 1), np.float32),
            value=value,
            score=score,
            ownership=np.zeros((count, height * width), np.float32),
        )
