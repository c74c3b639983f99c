"""When a player without a network passes or gives up.

Under area rules the search itself knows what a pass does: two of them end the game, and every stone left counts as
alive. What is added here is politeness: no further moves once the count is won. Under territory rules superfluous
moves cost points, so only what playouts still disagree about is played.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.phases import live_phase
from go_rules.points import EAST, EMPTY, NORTH, PASS, SOUTH, WEST, WHITE, board_points
from go_rules.position import PHASE_MAIN
from go_rules.rules import SCORING_TERRITORY
from search.result import RESIGN, SearchResult
from search.textbook.parameters import PlayoutParameters

SERIOUS_SHARE = 0.01
"""Under territory rules, a move needs at least this share of the most visited move's visits."""
WINRATE_TOLERANCE = 0.05
"""Under territory rules, a move's winrate must not be lower than the most visited move's by more than this."""
SETTLED = 0.9
"""|ownership| from which a point counts as decided."""
VISITS_BEFORE_RESIGNING = 1000
"""A search with fewer never ends in resigning."""
MOVES_BEFORE_RESIGNING = 0.1
"""The player never resigns before so many moves per point of the board."""


def choose_point(game: Game, result: SearchResult, parameters: PlayoutParameters) -> int:
    """Choose the point to play after a search, PASS or RESIGN."""
    settled = _settled(game, result)
    in_main_phase = live_phase(game.position, game.record) == PHASE_MAIN
    costs_points = game.rules.scoring == SCORING_TERRITORY and in_main_phase
    if not costs_points and _pass_wins(game, result.colour, settled):
        return PASS
    if _is_lost(game, result, parameters):
        return RESIGN
    if costs_points:
        return _best_open_move(game, result, settled)
    return result.moves[0].point


def _pass_wins(game: Game, colour: int, settled: NDArray[np.bool_]) -> bool:
    """Whether the game is won with every stone alive, and a pass ends it or nothing can change any more."""
    white = game.score()
    score = white if colour == WHITE else -white
    return score > 0 and (int(game.position["passes"]) >= 1 or bool(settled.all()))


def _is_lost(game: Game, result: SearchResult, parameters: PlayoutParameters) -> bool:
    return (
        result.winrate < parameters.resign_winrate
        and result.visits >= VISITS_BEFORE_RESIGNING
        and len(game.moves) >= MOVES_BEFORE_RESIGNING * game.width * game.height
    )


def _best_open_move(game: Game, result: SearchResult, settled: NDArray[np.bool_]) -> int:
    """The best of the moves about something that is not settled, PASS if no such move is good."""
    open_points = _open_points(game, settled)
    first = result.moves[0]
    for move in result.moves:
        if (
            move.point in open_points
            and move.visits >= SERIOUS_SHARE * first.visits
            and move.winrate >= first.winrate - WINRATE_TOLERANCE
        ):
            return move.point
    return PASS


def _settled(game: Game, result: SearchResult) -> NDArray[np.bool_]:
    """[H*W]: where nearly all playouts agree on the owner."""
    if result.ownership is None:
        return np.zeros(game.width * game.height, bool)
    return np.abs(result.ownership) >= SETTLED


def _open_points(game: Game, settled: NDArray[np.bool_]) -> set[int]:
    """Empty points that are not settled or touch one that is not."""
    points = board_points(game.width, game.height)
    unsettled = {point for point, done in zip(points, settled, strict=True) if not done}
    board = game.position["board"]
    return {
        point
        for point in points
        if board[point] == EMPTY
        and not unsettled.isdisjoint({point, point + NORTH, point + WEST, point + EAST, point + SOUTH})
    }
