"""A network's bare evaluation of a game's present position, outside of any search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, PASS, board_points
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, Evaluation, EvaluationRequest, Evaluator
from nets.features import AS_IS, encode_symmetry, scratch_for
from nets.symmetry import symmetry_permutations

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
