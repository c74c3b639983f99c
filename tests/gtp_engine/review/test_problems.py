"""Which positions become problems: by how much every other move is worse, as longer and longer searches say."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.review.judged import JudgedMove, Opinion, costliest
from gtp_engine.review.problems import PROBLEM_LOSS, find_problem
from search.request import MoveFilter
from search.result import MoveInfo, SearchResult
from tests.go_rules.diagrams import game_from

POSITION = """
    . . . . .
    . O X . .
    . . . O .
    . X O . .
    . . . . .
"""
BEST, PLAYED = "C3", "E5"


def at(vertex: str) -> int:
    return from_vertex(vertex, 5, 5)


def opinion(colour: int, lead: float, visits: int, best: str) -> Opinion:
    return Opinion(colour, 0.5, lead, visits, (at(best),), {at(best): 0})


class Searcher:
    """Says that BEST is worth 5 points, other moves so much less, and PLAYED, by so many visits, what it is told."""

    def __init__(self, others: float, played: dict[int, float]) -> None:
        self.others, self.played, self.asked = others, played, list[tuple[int, str]]()

    def __call__(self, game: Game, visits: int, moves: MoveFilter | None) -> SearchResult:
        if game.to_play == WHITE:
            kind, lead, best = "after", self.played[visits] - 5.0, "D5"
        elif moves is not None:
            assert moves.avoid == {BLACK: ((frozenset([at(BEST)]), 1),)}
            kind, lead, best = "others", 5.0 - self.others, "A1"
        else:
            kind, lead, best = "before", 5.0, BEST
        self.asked.append((visits, kind))
        move = MoveInfo(at(best), 5, 5, 0.5, 0.0, lead, 1.0, lead, 0.5, 0.4, 0.0, 5.0, 0, (at(best),))
        return SearchResult(game.to_play, visits, 0.5, 0.0, lead, 1.0, lead, 5.0, (move,))


def move(visits: int, loss: float = 6.0, number: int = 7, colour: int = BLACK) -> JudgedMove:
    before, after = opinion(colour, 5.0, visits, BEST), opinion(3 - colour, loss - 5.0, visits, "D5")
    return JudgedMove(number, colour, at(PLAYED), before, after)


def test_a_problem_is_confirmed_by_more_visits_and_by_all_other_moves() -> None:
    search = Searcher(2.5, {400: 6.0, 1500: 7.0})
    problem = find_problem(game_from(POSITION, to_play=BLACK), move(50), search)
    assert problem is not None
    assert (problem.best, problem.played, problem.loss) == ((at(BEST),), at(PLAYED), 7.0)
    assert search.asked == [(400, "before"), (400, "after"), (1500, "before"), (1500, "after"), (400, "others")]


def test_searches_that_a_review_has_made_are_not_made_once_more() -> None:
    search = Searcher(2.5, {})
    assert find_problem(game_from(POSITION, to_play=BLACK), move(2000), search) is not None
    assert search.asked == [(400, "others")]


@pytest.mark.parametrize(
    ("others", "played"),
    [(1.5, {400: 6.0, 1500: 6.0}), (9.0, {400: 3.0, 1500: 6.0}), (9.0, {400: 6.0, 1500: 3.0})],
    ids=["another move is good enough", "few visits see no loss", "many visits see none"],
)
def test_what_is_no_problem(others: float, played: dict[int, float]) -> None:
    assert find_problem(game_from(POSITION, to_play=BLACK), move(50), Searcher(others, played)) is None


def test_a_position_with_a_ko_that_may_not_be_retaken_is_none() -> None:
    game = game_from(". X O . .\nX . X O .\n. X O . .\n. . . . .\n. . . . .", to_play=WHITE)
    game.play(WHITE, at("B4"))
    assert find_problem(game, move(2000), Searcher(9.0, {})) is None


def test_the_worst_moves_of_each_side_are_looked_at() -> None:
    losses = [3.0, *(4.0 + n for n in range(12))]
    moves = [move(50, loss, n, colour) for colour in (BLACK, WHITE) for n, loss in enumerate(losses, 20 * colour)]
    assert [each.number for each in costliest(moves, PROBLEM_LOSS)] == [*range(32, 22, -1), *range(52, 42, -1)]
