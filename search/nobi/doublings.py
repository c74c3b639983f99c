"""Playout doublings: how much stronger than the opponent a network is told that its side is.

KataGo's networks learned from games, too, in which one side searched more than the other, and were told by how many
doublings ("playout doubling advantage"). Who is told to be weaker in an even position takes no risks, and who is behind
and told to be stronger complicates the game instead of giving it up. So the side with the worse start is told to be as
much stronger as gives it some hope, in games; in analysis only where that is asked for. After KataGo
(cpp/command/gtp.cpp, `updateDynamicPDA`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from go_rules.game import Game
from go_rules.handicap import LEAST_LEAD, weight_of_a_point
from go_rules.points import BLACK, WHITE
from go_rules.rules import SCORING_AREA
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES, WIN, EvaluationRequest, Evaluator
from nets.features import (
    DOUBLINGS_STEP,
    GLOBAL_ADVANTAGE,
    GLOBAL_HAS_ADVANTAGE,
    GLOBAL_KOMI,
    KOMI_UNIT,
    MOST_DOUBLINGS,
    ON_BOARD,
)
from search.nobi.parameters import SearchParameters

FAIR_KOMI = 7.0
STONE_BY_AREA, STONE_BY_TERRITORY = 15.0, 14.0
"""Points that a handicap stone is worth."""

LEAST_LEAD_ANYWHERE = 2.0
"""A smaller lead at the start, in points, is no handicap on any board."""
SMALLEST_SIDE = 8
"""No handicap is seen on boards with a shorter side."""

HOPELESS, HOPEFUL = -0.9, -0.5
"""Win minus loss of the side that is behind: below the one it is told of more doublings, above the other of fewer."""

PROBED_DOUBLINGS = 2.0
KNOWING = 0.1
"""A network has learned of doublings if its winning chance on an empty board, told PROBED_DOUBLINGS, is higher by at
least this than told as many of the opponent's: by 0.13 to 0.98 with KataGo's networks, 0.03 at most with others."""


def black_lead_at_start(game: Game) -> float:
    """Return the points that black is ahead at the start, by handicap stones and by a komi that is not fair."""
    lead = FAIR_KOMI - game.komi
    if game.handicap_stones > 0:
        worth = STONE_BY_AREA if game.rules.scoring == SCORING_AREA else STONE_BY_TERRITORY
        lead += worth * (game.handicap_stones - 1) - float(game.record["handicap_bonus"])  # white moves next
    return lead


def fixed_doublings(parameters: SearchParameters, colour: int) -> float:
    """Return by how many doublings white is to think itself stronger whatever the game, in a search for `colour`."""
    side = {"root": colour, "black": BLACK, "white": WHITE}[parameters.playout_doublings_side]
    return parameters.playout_doublings if side == WHITE else 0.0 - parameters.playout_doublings


def handicap_doublings(game: Game, doublings_a_point: float, white_values: Iterable[float]) -> float:
    """Return by how many doublings white is to think itself stronger; negative where black is behind, 0 in even games.

    `doublings_a_point`: the most doublings for each point of the start, on a board of 19×19. `white_values`: white's
    win minus loss (-1..1) in the searches of the game so far, in their order.
    """
    scale = weight_of_a_point(game.width * game.height)
    start = black_lead_at_start(game)
    excess = abs(start) - max(LEAST_LEAD / scale, LEAST_LEAD_ANYWHERE)
    if excess < 0.0 or min(game.width, game.height) < SMALLEST_SIDE:
        return 0.0
    sign = 1.0 if start >= 0.0 else -1.0
    most = DOUBLINGS_STEP * math.floor(min(MOST_DOUBLINGS, doublings_a_point * excess * scale) / DOUBLINGS_STEP + 0.5)
    doublings = most
    if (game.position["board"] == WHITE).any():
        for value in white_values:
            doublings += DOUBLINGS_STEP * ((sign * value < HOPELESS) - (sign * value > HOPEFUL))
            doublings = min(max(doublings, 0.0), most)
    return sign * doublings


def has_learned_doublings(evaluator: Evaluator, width: int, height: int) -> bool:
    """Ask a network whether it has learned what doublings mean: on an empty board of this size, at a fair komi.

    Raises EvaluatorError.
    """
    spatial = np.zeros((1, SPATIAL_PLANES, height, width), np.float32)
    spatial[:, ON_BOARD] = 1.0
    wins = []
    for doublings in (PROBED_DOUBLINGS, -PROBED_DOUBLINGS):
        global_ = np.zeros((1, GLOBAL_FEATURES), np.float32)
        global_[0, GLOBAL_KOMI] = -FAIR_KOMI / KOMI_UNIT
        global_[0, [GLOBAL_HAS_ADVANTAGE, GLOBAL_ADVANTAGE]] = 1.0, 0.5 * doublings
        wins.append(float(evaluator.evaluate(EvaluationRequest(spatial, global_)).value[0, WIN]))
    return wins[0] - wins[1] >= KNOWING
