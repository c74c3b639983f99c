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
    Evaluation,
    EvaluationRequest,
    Evaluator,
    softmax,
)
from nets.features import AT_ROOT
from nets.human_profile import HumanProfile
from nets.interruption import EvaluationThread


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
        self._thread = EvaluationThread()

    def evaluate(self, game: Game, profile: HumanProfile | None) -> HumanEvaluation:
        """Evaluate the present position as such people, None where the network knows no kinds of people. Raises
        EvaluatorError."""
        colour = game.to_play
        with self._lock:
            if profile is not None:
                self.evaluator.use_profile(profile)
            evaluation = evaluate(self.evaluator, game, colour)
        value, score = evaluation.value[0].tolist(), evaluation.score[0].tolist()
        return HumanEvaluation(
            _shares(evaluation, legal_mask(game, colour)),
            0.5 + 0.5 * (value[WIN] - value[LOSS]),
            score[SCORE_MEAN],
            score[SCORE_STDEV],
            score[SHORTTERM_WINLOSS_ERROR],
            score[SHORTTERM_SCORE_ERROR],
        )

    def policy(
        self,
        game: Game,
        colour: int,
        symmetries: Sequence[int],
        optimism: float = 1.0,
        doublings: float = 0.0,
        stop: threading.Event | None = None,
    ) -> NDArray[np.float64]:
        """Return how likely those whom it imitates now play each move, as `HumanEvaluation.policy` does: the mean over
        some of the board's eight symmetries.

        `optimism` is for networks that have two policies, `doublings` the playout doubling advantage of `colour`.
        Raises EvaluatorError, and Stopped soon after `stop` is set.
        """

        def ask(request: EvaluationRequest) -> Evaluation:
            if stop is None:
                return self.evaluator.evaluate(request)
            return self._thread.evaluate(self.evaluator, request, stop)

        with self._lock:
            evaluation = evaluate(self.evaluator, game, colour, symmetries, optimism, doublings, AT_ROOT, ask)
        return _shares(evaluation, legal_mask(game, colour))

    def close(self) -> None:
        """End its thread. It cannot be used afterwards."""
        self._thread.close()


def _shares(evaluation: Evaluation, legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean of the policies of an evaluation, -1 where a move is illegal."""
    shares = np.mean([softmax(logits, legal) for logits in evaluation.policy.astype(np.float64)], axis=0)
    return np.where(legal, shares, -1.0)
