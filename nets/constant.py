"""An evaluator without a network: every move as good as another, every position even."""

from __future__ import annotations

import numpy as np

from nets.evaluator import (
    LOSS,
    SCORE_COLUMNS,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    EvaluatorAttributes,
)


class ConstantEvaluator(Evaluator):
    """An evaluator for tests, and to measure what the search tree costs by itself."""

    attributes = EvaluatorAttributes("constant", "fp32", "none")

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Return a uniform policy, a winning chance of one half, a lead of 0 and no ownership."""
        count, _, height, width = request.spatial.shape
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
