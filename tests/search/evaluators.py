"""Evaluators for tests: quick, deterministic, and with opinions."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import (
    LEAD,
    LOSS,
    NO_RESULT,
    SCORE_COLUMNS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    SPATIAL_PLANES,
    WIN,
    ConstantEvaluator,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    EvaluatorAttributes,
)
from nets.features import GLOBAL_KOMI, OPPONENT, OPPONENT_AREA, OWN, OWN_AREA

KOMI_SCALE = 20.0


class FancifulEvaluator(Evaluator):
    """Believes whatever fixed random numbers make of the input: every position has another value and policy."""

    attributes = EvaluatorAttributes("fanciful", "fp32", "none")

    def __init__(self, seed: int = 0, sharpness: float = 1.0, with_errors: bool = False) -> None:
        self._seed = seed
        self._weights: dict[int, NDArray[np.float64]] = {}
        self._sharpness = sharpness
        self._with_errors = with_errors

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        spatial = request.spatial
        count, _, height, width = spatial.shape
        area = height * width
        if area not in self._weights:
            generator = np.random.default_rng((self._seed, area))
            self._weights[area] = generator.normal(size=(SPATIAL_PLANES * area, area + 8)) * 0.25
        weights = self._weights[area]
        flat = spatial.reshape(count, -1).astype(np.float64)
        # One row at a time: a matrix product's last digits depend on the number of rows.
        raw = np.array([np.sin(3.0 * (row @ weights) + np.arange(area + 8)) for row in flat])
        value = np.zeros((count, 3))
        value[:, NO_RESULT] = 0.02 + 0.02 * raw[:, area + 1]
        value[:, WIN] = (1.0 - value[:, NO_RESULT]) * (0.5 + 0.45 * raw[:, area + 2])
        value[:, LOSS] = 1.0 - value[:, NO_RESULT] - value[:, WIN]
        score = np.zeros((count, SCORE_COLUMNS))
        score[:, SCORE_MEAN] = area / 4 * raw[:, area + 3]
        score[:, SCORE_STDEV] = 2.0 + raw[:, area + 4]
        score[:, LEAD] = area / 4 * raw[:, area + 5]
        errors = np.full((count, 2), -1.0) if not self._with_errors else 0.3 + 0.29 * raw[:, area + 6 : area + 8]
        score[:, SHORTTERM_WINLOSS_ERROR] = errors[:, 0]
        score[:, SHORTTERM_SCORE_ERROR] = errors[:, 1] * (5.0 if self._with_errors else 1.0)
        arrays = (self._sharpness * 2.0 * raw[:, : area + 1], value, score, raw[:, :area])
        return Evaluation(*(array.astype(np.float32) for array in arrays))


class CountingEvaluator(ConstantEvaluator):
    """Counts stones and the areas that are settled for certain; moves are all alike to it."""

    attributes = EvaluatorAttributes("counting", "fp32", "none")

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        spatial, global_ = request.spatial, request.global_
        own = np.maximum(spatial[:, OWN], spatial[:, OWN_AREA]).sum(axis=(1, 2))
        theirs = np.maximum(spatial[:, OPPONENT], spatial[:, OPPONENT_AREA]).sum(axis=(1, 2))
        lead = own - theirs + KOMI_SCALE * global_[:, GLOBAL_KOMI]
        evaluation.value[:, WIN] = 1.0 / (1.0 + np.exp(-np.clip(0.5 * lead, -80.0, 80.0)))
        evaluation.value[:, LOSS] = 1.0 - evaluation.value[:, WIN]
        evaluation.score[:, SCORE_MEAN] = evaluation.score[:, LEAD] = lead
        evaluation.score[:, SCORE_STDEV] = 3.0
        return evaluation


class CarelessEvaluator(CountingEvaluator):
    """Answers in numbers of other kinds, stored in another order, and as parts of larger arrays."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        policy, value, score, ownership = super().evaluate(request)
        wide = np.hstack([ownership, ownership])[:, : ownership.shape[1]]
        return Evaluation(np.asfortranarray(policy), value.astype(np.float64), np.asfortranarray(score), wide)


class SlowEvaluator(ConstantEvaluator):
    """Takes its time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        time.sleep(self._seconds)
        return super().evaluate(request)


class FailingEvaluator(ConstantEvaluator):
    """Fails after some calls."""

    def __init__(self, error: Exception, good_calls: int) -> None:
        self._error = error
        self.good_calls = good_calls

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.good_calls -= 1
        if self.good_calls < 0:
            raise self._error
        return super().evaluate(request)
