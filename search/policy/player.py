"""The player `policy`, which does not search: it draws moves from the network's policy, as people play them."""

from __future__ import annotations

import dataclasses

from go_rules.game import Game
from go_rules.points import PASS
from nets.evaluator import Evaluator
from search.puct.parameters import SearchParameters
from search.puct.player import PuctPlayer
from search.request import SearchRequest
from search.result import SearchResult


class PolicyPlayer(PuctPlayer):
    """A `Player` that draws its moves from the policy. For analysis it searches as `PuctPlayer` does."""

    name = "policy"

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters | None = None) -> None:
        # A move's likelihood must not be lost to the moves that symmetry makes its equals.
        super().__init__(evaluator, dataclasses.replace(parameters or SearchParameters(), root_symmetry_pruning=False))

    def search(self, request: SearchRequest) -> SearchResult:
        """Evaluate the position once, without a search; for analysis, search as `PuctPlayer` does."""
        if not request.analysis:
            request = dataclasses.replace(request, limits=dataclasses.replace(request.limits, visits=1))
        return super().search(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        """Draw a move by the parameters' temperature. A pass is played only where it is the likeliest move."""
        moves = tuple(dataclasses.replace(move, choice=0.0) for move in result.moves)
        likeliest = max(moves, key=lambda move: move.prior, default=None)
        if likeliest is not None:
            moves = tuple(move for move in moves if (move.point == PASS) == (likeliest.point == PASS))
        return super().choose(game, dataclasses.replace(result, moves=moves))
