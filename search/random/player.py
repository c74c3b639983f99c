"""The player `random`: any legal move that fills no own eye, each as likely as the others."""

from __future__ import annotations

from go_rules.game import Game
from go_rules.points import PASS
from go_rules.random import below, drawn_seed, seed_state
from search.mc.player import MonteCarloPlayer
from search.playouts.parameters import PlayoutParameters
from search.playouts.result import Tally, make_result
from search.request import SearchRequest
from search.result import SearchResult, StopReason


class RandomPlayer(MonteCarloPlayer):
    """A `Player` that draws its moves. For analysis, and for who owns what, it plays out games as `mc` does."""

    def __init__(self, parameters: PlayoutParameters | None = None, workers: int = 0, seed: int = -1) -> None:
        super().__init__("random", parameters, workers, seed)
        self._random = seed_state(drawn_seed(seed))

    def search(self, request: SearchRequest) -> SearchResult:
        """List the moves to draw from, without a search; for analysis, search as `mc` does."""
        if request.analysis or request.wants_ownership:
            return super().search(request)
        moves = self.candidates(request).tolist()
        self._forget()
        return make_result(
            request.game,
            request.colour,
            [Tally(move, 1, 0.5, 0.0, 1.0 / len(moves), (move,), (1,)) for move in moves],
            [self._buffers[0].playouts],
            winrate=0.5,
            score=0.0,
            visits=1,
            seconds=0.0,
            new_visits=1,
            reason=StopReason.VISITS,
        )

    def choose(self, game: Game, result: SearchResult) -> int:
        """Draw a move. The pass is played only where there is no other."""
        moves = [move.point for move in result.moves if move.point != PASS]
        return moves[below(self._random, len(moves))] if moves else PASS
