"""Boards whose value is known: what `rave` and `uct` say of the first moves on 3x3, and of the centre of 5x5."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, from_vertex, to_vertex
from search.request import Limits, SearchRequest
from search.uct.parameters import PURE_UCT, UctParameters
from search.uct.player import UctPlayer
from tests.search.solved import SUPERKO

FIRST_MOVES = {"B2": 9, "B1": 3, "A1": -9}
"""Black's points minus white's on 3x3 by area, after black began at the centre, at a side and in a corner."""

PLAYERS = pytest.mark.parametrize("parameters", [UctParameters(), PURE_UCT], ids=["rave", "uct"])


def whites_chance(parameters: UctParameters, first: str, komi: float) -> float:
    player = UctPlayer(parameters=parameters, workers=1, seed=1)
    game = Game(3, 3, SUPERKO, komi)
    game.play(BLACK, from_vertex(first, 3, 3))
    return player.search(SearchRequest(game, game.to_play, Limits(visits=10000, may_stop_early=False))).winrate


@PLAYERS
@pytest.mark.parametrize("first", FIRST_MOVES)
def test_first_moves_on_3x3(first: str, parameters: UctParameters) -> None:
    """Half a point less komi than the value wins for black, half a point more loses."""
    value = FIRST_MOVES[first]
    assert whites_chance(parameters, first, value - 0.5) < 0.5
    assert whites_chance(parameters, first, value + 0.5) > 0.5


@PLAYERS
def test_the_centre_of_5x5_wins_by_everything(parameters: UctParameters) -> None:
    player = UctPlayer(parameters=parameters, workers=1, seed=1)
    game = Game(5, 5, SUPERKO, 24.5)
    result = player.search(SearchRequest(game, BLACK, Limits(visits=20000, may_stop_early=False)))
    assert to_vertex(player.choose(game, result), 5) == "C3"
    assert result.moves[0].winrate > 0.5
