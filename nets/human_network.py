"""The human network (`-human-model`): it is asked for what people of some kind would play."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from nets.bare_evaluation import evaluate, legal_mask
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
from nets.features import AT_ROOT
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


class HumanNetwork:
    """A network that imitates people; a HumanSL one may imitate others from one question to the next. Any thread may
    ask."""

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

    def policy(self, game: Game, colour: int, symmetries: Sequence[int]) -> NDArray[np.float64]:
        """Return how likely those whom it imitates now play each move, as `HumanEvaluation.policy` does: the mean over
        some of the board's eight symmetries. Raises EvaluatorError."""
        legal = legal_mask(game, colour)
        with self._lock:
            answers = [evaluate(self.evaluator, game, colour, each, view=AT_ROOT).policy[0] for each in symmetries]
        shares = np.mean([softmax(answer.astype(np.float64), legal) for answer in answers], axis=0)
        return np.where(legal, shares, -1.0)
