"""The player that asks a network: PUCT search in KataGo's manner."""

from __future__ import annotations

import os
from collections.abc import Hashable

import numpy as np

from go_rules.game import Game
from nets.evaluator import Evaluator
from search.puct.move_choice import choose_move
from search.puct.parameters import SearchParameters
from search.puct.search import Search
from search.request import SearchRequest
from search.result import SearchResult


class NetworkPlayer:
    """Implements `Player` with a `Search`."""

    name = "network"

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters | None = None) -> None:
        self.searcher = Search(evaluator, parameters)
        seed = self.parameters.seed
        self._generator = np.random.default_rng(seed if seed >= 0 else int.from_bytes(os.urandom(8), "little"))
        self._game: Hashable = None
        self._recent: dict[int, list[tuple[int, float]]] = {}

    @property
    def evaluator(self) -> Evaluator:
        return self.searcher.evaluator

    @property
    def parameters(self) -> SearchParameters:
        """Assign to it to change how the next search goes."""
        return self.searcher.parameters

    @parameters.setter
    def parameters(self, parameters: SearchParameters) -> None:
        self.searcher.parameters = parameters

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate what a first search on such a board needs."""
        self.searcher.warm_up(width, height)

    def search(self, request: SearchRequest) -> SearchResult:
        """See `Player.search`. Raises EvaluatorError."""
        return self.searcher.run(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        """See `Player.choose`."""
        return choose_move(game, result, self.parameters, self._generator, self._remember(game, result))

    def clear(self) -> None:
        self.searcher.clear()
        self._recent = {}

    def close(self) -> None:
        self.searcher.close()

    def _remember(self, game: Game, result: SearchResult) -> list[float]:
        """Win minus loss at this side's searches of the game so far, this one last."""
        if self._game != game.identity():
            self._game = game.identity()
            self._recent = {}
        now = len(game.moves)
        earlier = [item for item in self._recent.get(result.colour, []) if item[0] < now]
        self._recent[result.colour] = [*earlier, (now, 2.0 * result.winrate - 1.0)]
        return [value for _, value in self._recent[result.colour]]
