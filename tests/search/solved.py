"""Solved boards, and whether a search finds what is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from go_rules.game import Game
from go_rules.points import to_vertex
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE, Rules
from nets.evaluator import Evaluator
from search.nobi.parameters import SearchParameters
from search.nobi.player import PuctPlayer
from search.request import Limits, SearchRequest
from search.result import SearchResult

SUPERKO, NO_SUPERKO = Rules(ko=KO_POSITIONAL), Rules(ko=KO_SIMPLE)


@dataclass(frozen=True)
class Solved:
    """An empty board whose value is known, and the visits within which a search must know it."""

    width: int
    height: int
    rules: Rules
    value: int
    """Black's points minus white's by area with best play."""
    first: str
    """Black's best first moves; empty where it does not matter."""
    visits: int = 3000

    def __str__(self) -> str:
        return f"{self.width}x{self.height}-{'positional' if self.rules.ko == KO_POSITIONAL else 'simple'}"


SOLVED = [
    # Brute force by one program and by tests/go_rules/solving.py.
    Solved(1, 1, SUPERKO, 0, "pass"),
    Solved(2, 1, SUPERKO, 0, ""),
    Solved(1, 3, SUPERKO, 3, "A2"),
    Solved(4, 1, SUPERKO, 4, "B1 C1"),
    # What the present network thinks of a board that it never saw hides black's win from 6,000 visits in some seeds.
    Solved(2, 2, SUPERKO, 1, "A1 A2 B1 B2", visits=12000),
    # van der Werf and Winands, "Solving Go for rectangular boards" (2009).
    Solved(2, 3, NO_SUPERKO, 0, ""),
    Solved(3, 3, NO_SUPERKO, 9, "B2"),
    Solved(3, 3, SUPERKO, 9, "B2"),
    Solved(4, 2, NO_SUPERKO, 8, "B1 B2 C1 C2"),
    Solved(3, 4, NO_SUPERKO, 4, ""),
    Solved(4, 4, NO_SUPERKO, 2, ""),
    Solved(5, 3, NO_SUPERKO, 15, "C2"),
    Solved(5, 4, NO_SUPERKO, 20, ""),
    Solved(5, 5, NO_SUPERKO, 25, "C3"),
]


class Solver:
    """Searches of solved boards by one network."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def faults(self, case: Solved) -> Iterator[str]:
        """One line for each thing that a search of `case.visits` visits says of the board and that is not so."""
        points = case.width * case.height
        result, chosen = self.search(case, 0.0)
        if case.first and chosen not in case.first.split():
            yield f"{case}: plays {chosen}, not {case.first}"
        for move in result.moves:
            if move.visits and abs(move.lead) > points + 1e-3:
                yield f"{case}: {to_vertex(move.point, case.height)} leads by {move.lead:.2f} on {points} points"
        # Half a point less komi than the value wins for black, half a point more loses.
        for komi in (case.value - 0.5, case.value + 0.5):
            wins = self.search(case, komi)[0].winrate > 0.5
            if wins != (komi < case.value):
                yield f"{case}: black {'wins' if wins else 'loses'} at komi {komi}, though the value is {case.value}"

    def search(self, case: Solved, komi: float, seed: int = 1) -> tuple[SearchResult, str]:
        """The result of one search of the empty board, and the move that is played after it."""
        player = PuctPlayer(self.evaluator, SearchParameters(workers=1, batch=1, memory=64, cache_memory=16, seed=seed))
        try:
            game = Game(case.width, case.height, case.rules, komi)
            limits = Limits(case.visits, may_stop_early=False)
            result = player.search(SearchRequest(game, game.to_play, limits))
            return result, to_vertex(player.choose(game, result), case.height)
        finally:
            player.close()
