"""A network's bare evaluation of a game's present position, outside of any search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, PASS, board_points
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, Evaluation, EvaluationRequest, Evaluator
from nets.features import AS_IS, encode_symmetry, scratch_for
from nets.symmetry import symmetry_permutations

SYMMETRIES = 8
OPTIMISM = 0.2
"""How much of the optimistic policy is mixed in, where the network has one and the caller says nothing."""


def evaluate(
    evaluator: Evaluator,
    game: Game,
    colour: int,
    symmetry: int,
    optimism: float = OPTIMISM,
    doublings: float = 0.0,
    view: int = AS_IS,
) -> Evaluation:
    """Evaluate the game's position as `symmetry` turns it, and turn the answer back.

    `doublings`: the playout doubling advantage of `colour`. `view`: what the network is told of passes (features.py).
    """
    height, width = game.height, game.width
    if height != width:
        # Transposing would change the board: as in KataGo, such symmetries stand for those without.
        symmetry &= 3
    permutation = symmetry_permutations(width, height)[symmetry]
    spatial = np.zeros((1, SPATIAL_PLANES, height, width), np.float32)
    global_ = np.zeros((1, GLOBAL_FEATURES), np.float32)
    first = max(0, game.length - 3)
    encode_symmetry(
        game.stack[first : game.length],
        game.length - 1 - first,
        colour,
        game.record,
        doublings,
        view,
        superko_bans(game, colour),
        scratch_for(evaluator),
        permutation,
        spatial[0].reshape(SPATIAL_PLANES, -1),
        global_[0],
    )
    request = EvaluationRequest(spatial, global_, np.full(1, optimism, np.float32), np.full(1, colour, np.int8))
    answer = evaluator.evaluate(request)
    return answer._replace(policy=answer.policy[:, permutation], ownership=answer.ownership[:, permutation[:-1]])


def superko_bans(game: Game, colour: int) -> NDArray[np.int8]:
    """The points where only superko forbids a move, as int8[N_POINTS] with 1 for these."""
    ban = np.zeros(N_POINTS, np.int8)
    for point in board_points(game.width, game.height):
        if game.violation(colour, point) == "superko":
            ban[point] = 1
    return ban


def legal_mask(game: Game, colour: int) -> NDArray[np.bool_]:
    """Which moves are legal, as bool[H*W + 1] in the network's order with the pass last."""
    return np.array([game.is_legal(colour, p) for p in [*board_points(game.width, game.height), PASS]])
