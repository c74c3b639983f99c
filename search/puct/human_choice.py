"""What people would play, mixed into how much a search would like to play its moves: KataGo's `humanSLChosenMove...`.

The likelihood of a move among people is multiplied by exp((u - best) / lambda), where u is its utility in the search;
a move that was not tried has the average of those that were. The method is piKL (Jacob and others, "Modeling Strong and
Human-Like Gameplay with KL-Regularized Search", 2022).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS, board_points
from search.puct.human_parameters import HumanParameters
from search.puct.move_choice import odds
from search.puct.parameters import SearchParameters
from search.result import MoveInfo


def with_peoples_choice(
    game: Game, moves: Sequence[MoveInfo], likelihoods: NDArray[np.float64], parameters: SearchParameters
) -> tuple[MoveInfo, ...]:
    """Return the moves of a search of a game's position with people's part in their `choice`, in the order of that but
    those without visits last.

    `likelihoods` [H*W + 1]: how likely people play each move, the pass last. The moves stay as they are where the
    parameters give people no part in the choice, or where people play none of them.
    """
    if not isinstance(parameters, HumanParameters) or parameters.human_prop == 0.0:
        return tuple(moves)
    points = [*board_points(game.width, game.height), PASS]
    by_point = dict(zip(points, likelihoods.tolist(), strict=True))
    of_people = _seeing_ahead(moves, by_point, parameters.human_lambda)
    wanted = odds(moves)
    total = sum(wanted)
    if not of_people or total <= 0.0:
        return tuple(moves)
    if parameters.human_ignore_pass:
        stones = sum(each for move, each in zip(moves, wanted, strict=True) if move.point != PASS)
        _leave_passes(of_people, stones / total)
    prop = parameters.human_prop
    choices = [
        (1.0 - prop) * each + prop * total * of_people[move.point] for move, each in zip(moves, wanted, strict=True)
    ]
    ranked = sorted(zip(choices, moves, strict=True), key=lambda each: (each[1].visits == 0, -each[0], each[1].order))
    return tuple(dataclasses.replace(move, choice=each, order=order) for order, (each, move) in enumerate(ranked))


def _seeing_ahead(moves: Sequence[MoveInfo], likelihoods: Mapping[int, float], scale: float) -> dict[int, float]:
    """Return how likely people who see what the search sees play each of the moves; nothing if they play none."""
    known = [move.utility for move in moves if move.visits > 0]
    average = sum(known) / max(1, len(known))
    best = max(known, default=average)
    shifted = {}
    for move in moves:
        utility = move.utility if move.visits > 0 else average
        shifted[move.point] = likelihoods.get(move.point, 0.0) * math.exp((utility - best) / scale)
    total = sum(shifted.values())
    return {point: each / total for point, each in shifted.items()} if total > 0.0 else {}


def _leave_passes(of_people: dict[int, float], stones: float) -> None:
    """Make all moves but the pass together as likely as the search makes them, `stones`."""
    others = sum(each for point, each in of_people.items() if point != PASS)
    if others <= 0.0:
        return
    for point in of_people:
        of_people[point] = 1.0 - stones if point == PASS else of_people[point] / others * stones
