"""What a network says of a game's position without a search: of the position itself, and of people's likely moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, PASS, board_points
from nets.evaluator import (
    GLOBAL_FEATURES,
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    SPATIAL_PLANES,
    WIN,
    Evaluation,
    EvaluationRequest,
    Evaluator,
    softmax,
)
from nets.features import AS_IS, AT_ROOT, encode_symmetry, scratch_for
from nets.human_profile import HumanProfile
from nets.symmetry import symmetry_permutations
from nets.threads import EvaluationThread

OPTIMISM = 0.2
"""How much of the optimistic policy is mixed in, where the network has one and the caller says nothing."""


def evaluate(
    evaluator: Evaluator,
    game: Game,
    colour: int,
    symmetries: Sequence[int] = (0,),
    optimism: float = OPTIMISM,
    doublings: float = 0.0,
    view: int = AS_IS,
    ask: Callable[[EvaluationRequest], Evaluation] | None = None,
) -> Evaluation:
    """Evaluate the game's position as each of some symmetries turns it, and turn the answers back.

    `doublings`: the playout doubling advantage of `colour`. `view`: what the network is told of passes (features.py).
    `ask` asks the network; None calls it in this thread. Raises EvaluatorError and whatever `ask` raises.
    """
    height, width, count = game.height, game.width, len(symmetries)
    # Transposing would change a board that is no square: as in KataGo, such symmetries stand for those without.
    chosen = [each if height == width else each & 3 for each in symmetries]
    permutations = symmetry_permutations(width, height)[chosen]
    spatial = np.zeros((count, SPATIAL_PLANES, height, width), np.float32)
    global_ = np.zeros((count, GLOBAL_FEATURES), np.float32)
    first, bans = max(0, game.length - 3), superko_bans(game, colour)
    for number, permutation in enumerate(permutations):
        encode_symmetry(
            game.stack[first : game.length],
            game.length - 1 - first,
            colour,
            game.record,
            doublings,
            view,
            bans,
            scratch_for(evaluator),
            permutation,
            spatial[number].reshape(SPATIAL_PLANES, -1),
            global_[number],
        )
    colours, shares = np.full(count, colour, np.int8), np.full(count, optimism, np.float32)
    answer = (ask or evaluator.evaluate)(EvaluationRequest(spatial, global_, shares, colours))
    places = permutations.astype(np.int64)
    return answer._replace(
        policy=np.take_along_axis(answer.policy, places, axis=1),
        ownership=np.take_along_axis(answer.ownership, places[:, :-1], axis=1),
    )


def superko_bans(game: Game, colour: int) -> NDArray[np.int8]:
    """Find the points where only superko forbids `colour` a move: int8[N_POINTS], 1 for these."""
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        if game.violation(colour, point) == "superko":
            ban[point] = 1
    return ban


def legal_mask(game: Game, colour: int) -> NDArray[np.bool_]:
    """Tell which moves of `colour` are legal: bool[H*W + 1] in the network's order, the pass last."""
    return np.array([game.is_legal(colour, p) for p in [*board_points(game.width, game.height), PASS]])


# --- People's moves --------------------------------------------------------------------------------------------------
# The human network (`-human-model`) is asked for what people of some kind would play.


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
        ask = None if stop is None else partial(self._thread.evaluate, self.evaluator, stop=stop)
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
