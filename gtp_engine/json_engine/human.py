"""The human network (`-human-model`): a HumanSL network that is asked for what people of some kind would play."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from gtp_engine.analysis.raw_network import evaluate, legal_mask
from nets.evaluator import (
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
    Evaluator,
    softmax,
)
from nets.human_profile import HumanProfile


@dataclass(frozen=True)
class HumanEvaluation:
    """What the human network says of a position, in the view of the side to move."""

    policy: NDArray[np.float64]
    """[H*W + 1] how likely such people play each move, the pass last; -1 where it is illegal."""
    winrate: float
    score_mean: float
    score_stdev: float
    shortterm_winloss_error: float
    shortterm_score_error: float


class HumanModel:
    """A HumanSL network that imitates others from one question to the next. Any thread may ask."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._lock = threading.Lock()

    def evaluate(self, game: Game, profile: HumanProfile) -> HumanEvaluation:
        """Evaluate the present position as such people. Raises EvaluatorError."""
        colour = game.to_play
        with self._lock:
            self.evaluator.use_profile(profile)
            evaluation = evaluate(self.evaluator, game, colour, 0)
        value, score = evaluation.value[0].tolist(), evaluation.score[0].tolist()
        legal = legal_mask(game, colour)
        policy = np.where(legal, softmax(evaluation.policy[0].astype(np.float64), legal), -1.0)
        return HumanEvaluation(
            policy,
            0.5 + 0.5 * (value[WIN] - value[LOSS]),
            score[SCORE_MEAN],
            score[SCORE_STDEV],
            score[SHORTTERM_WINLOSS_ERROR],
            score[SHORTTERM_SCORE_ERROR],
        )
