"""Features for tests, with everything to choose."""

from __future__ import annotations

import numpy as np

from go_rules.game import Game
from go_rules.points import board_points
from go_rules.rules import BONUS_NONE, KO_SIMPLE, SCORING_AREA, TAX_NONE, Rules
from nets.features import AS_IS, Scratch, encode, encode_symmetry

PLAIN = Rules(KO_SIMPLE, SCORING_AREA, TAX_NONE, False, False, BONUS_NONE, False)


def encode_with(
    game: Game,
    scratch: Scratch,
    colour: int | None = None,
    view: int = AS_IS,
    advantage: float = 0.0,
    permutation: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """As `encoded` of golden.py, with everything to choose, into arrays that held something else before.

    With `permutation`, a row of symmetry_permutations, the planes are turned, and flat."""
    colour = game.to_play if colour is None else colour
    spatial = np.full((22, game.height, game.width), 7, np.float32)
    global_ = np.full(19, 7, np.float32)
    ban = np.zeros(704, np.int8)
    for point in board_points(game.width, game.height):
        ban[point] = game.violation(colour, point) == "superko"
    position = game.stack, game.length - 1, colour, game.record, advantage, view, ban, scratch
    if permutation is None:
        encode(*position, spatial, global_)
        return spatial, global_
    flat = spatial.reshape(22, -1)
    encode_symmetry(*position, permutation, flat, global_)
    return flat, global_
