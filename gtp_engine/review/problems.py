"""Which positions of a game are problems: the move that was played lost much, and one move alone was good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from go_rules.game import Game
from go_rules.points import NO_POINT, PASS
from gtp_engine.review.causes import after_move
from gtp_engine.review.judged import JudgedMove, Opinion
from search.request import MoveFilter
from search.result import SearchResult

PROBLEM_LOSS = 4.0
"""Points that the played move has to lose. Every other move than the best one has to lose half of that."""
VISITS = (400, 1500)
"""Of the searches that have to say so, one after the other."""
VISITS_OF_A_PROBLEM = 2 * sum(VISITS) + VISITS[0]
"""Visits that are needed for one move at most."""

Search = Callable[[Game, int, "MoveFilter | None"], SearchResult]
"""Searches a game's present position with so many visits, with some moves left out."""


@dataclass(frozen=True)
class Problem:
    """A position in which one move alone is right."""

    best: tuple[int, ...]
    """The right move, and how the game should go on."""
    played: int
    answer: tuple[int, ...]
    """How the opponent should answer the move that was played."""
    loss: float
    """Points that it lost."""


def find_problem(game: Game, move: JudgedMove, search: Search) -> Problem | None:
    """Find out whether a position is a problem; None if it is none.

    `game` is before the move, whose own searches are used as far as they have visits enough. A position with a ko that
    may not be retaken is none, as the stones alone do not say so. Raises what `search` raises.
    """
    if game.position["ko"] != NO_POINT or game.to_play != move.colour:
        return None
    before, after = move.before, move.after
    for visits in VISITS:
        if before.visits < visits:
            before = Opinion.of(search(game, visits, None))
        if after.visits < visits:
            after = Opinion.of(search(after_move(game, move.point), visits, None))
        loss = JudgedMove(move.number, move.colour, move.point, before, after).points_lost
        if loss < PROBLEM_LOSS or before.line[0] == PASS:
            return None
    others = search(game, VISITS[0], MoveFilter(avoid={move.colour: ((frozenset(before.line[:1]), 1),)}))
    if before.lead - Opinion.of(others).lead < PROBLEM_LOSS / 2:
        return None
    return Problem(before.line, move.point, after.line, loss)
