"""The players `nobi`, PUCT search with a network, after KataGo, and `policy`, which draws moves from its policy."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS, WHITE
from go_rules.random import drawn_seed
from nets.bare_evaluation import HumanNetwork
from nets.evaluator import Evaluator
from nets.symmetry import SYMMETRIES
from nets.threads import Stopped
from search.nobi.doublings import fixed_doublings, handicap_doublings, has_learned_doublings
from search.nobi.move_choice import choose_move, with_peoples_choice
from search.nobi.parameters import HumanParameters, SearchParameters
from search.nobi.search import Search
from search.request import SearchRequest
from search.result import SearchResult, Winrates


class PuctPlayer:
    """A `Player` that searches with PUCT, and chooses the move as move_choice.py says."""

    name = "nobi"

    def __init__(
        self, evaluator: Evaluator, parameters: SearchParameters | None = None, human: HumanNetwork | None = None
    ) -> None:
        """`human` says what people would play; the parameters, HumanParameters then, say what is made of it."""
        self.searcher = Search(evaluator, parameters)
        self.human = human
        self._generator = np.random.default_rng(drawn_seed(self.parameters.seed))
        self._winrates = Winrates()
        self._has_learned_doublings = functools.cache(functools.partial(has_learned_doublings, evaluator))
        """Of a board's width and height."""

    @property
    def evaluator(self) -> Evaluator:
        """The network that the search asks."""
        return self.searcher.evaluator

    @property
    def parameters(self) -> SearchParameters:
        """The parameters of the next search. Assigning others forgets the tree."""
        return self.searcher.parameters

    @parameters.setter
    def parameters(self, parameters: SearchParameters) -> None:
        if parameters.seed != self.parameters.seed:
            self._generator = np.random.default_rng(drawn_seed(parameters.seed))
        self.searcher.parameters = parameters

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate what a first search on such a board needs."""
        self.searcher.warm_up(width, height)

    def search(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. Raises EvaluatorError."""
        doublings = None if request.analysis else self._handicap_doublings(request.game)
        human, parameters = self.human, self.parameters
        likelihoods, began = request.likelihoods, time.perf_counter()
        may_ask = isinstance(parameters, HumanParameters) and parameters.asks_people
        if likelihoods is None and human is not None and may_ask:
            with contextlib.suppress(Stopped):
                likelihoods = self._likelihoods(human, request, doublings)
        if likelihoods is None:
            return self.searcher.run(request, doublings)
        return self._run_with(request, doublings, likelihoods, time.perf_counter() - began)

    def _run_with(
        self, request: SearchRequest, doublings: float | None, likelihoods: NDArray[np.float64], spent: float
    ) -> SearchResult:
        """Search with what people would play in the search and in its results. `spent`: seconds that are gone."""

        def mixed(result: SearchResult) -> SearchResult:
            moves = with_peoples_choice(request.game, result.moves, likelihoods, self.parameters)
            return dataclasses.replace(result, moves=moves, seconds=result.seconds + spent, likelihoods=likelihoods)

        limits, report = dataclasses.replace(request.limits, may_stop_early=False), request.report
        if limits.seconds is not None:
            limits = dataclasses.replace(limits, seconds=max(0.0, limits.seconds - spent))
        if report is not None:
            send = report.callback
            report = dataclasses.replace(report, callback=lambda result: send(mixed(result)))
        asked = dataclasses.replace(request, limits=limits, report=report, likelihoods=likelihoods)
        return mixed(self.searcher.run(asked, doublings))

    def choose(self, game: Game, result: SearchResult) -> int:
        """Choose the point to play, PASS or RESIGN. Remembers the winrate, for resigning and for handicap games."""
        return choose_move(game, result, self.parameters, self._generator, self._winrates.add(game, result))

    def _likelihoods(
        self, human: HumanNetwork, request: SearchRequest, white_doublings: float | None
    ) -> NDArray[np.float64]:
        """Ask the human network how likely people play each move [H*W + 1] here. Raises EvaluatorError, and Stopped
        soon after the request's `stop` is set."""
        parameters, colour = self.parameters, request.colour
        symmetries: Sequence[int] = (0,)
        if parameters.random_symmetry or parameters.root_symmetries > 1:
            count = min(parameters.root_symmetries, SYMMETRIES)
            symmetries = self._generator.choice(SYMMETRIES, count, replace=False).tolist()
        doublings = fixed_doublings(parameters, request.own_side) if white_doublings is None else white_doublings
        doublings *= 1.0 if colour == WHITE else -1.0
        optimism = parameters.root_policy_optimism
        policy = human.policy(request.game, colour, symmetries, optimism, doublings, request.stop)
        return np.maximum(policy, 0.0)

    def _handicap_doublings(self, game: Game) -> float | None:
        """White's playout doublings in a handicap game; None where the parameters' own count."""
        parameters = self.parameters
        if parameters.playout_doublings != 0.0:
            return None
        doublings = handicap_doublings(game, parameters.handicap_doublings, self._winrates.of_white(game))
        return doublings if doublings != 0.0 and self._has_learned_doublings(game.width, game.height) else None

    def clear(self) -> None:
        """Forget the tree, the cache and the winrates."""
        self.searcher.clear()
        self._winrates.clear()

    def close(self) -> None:
        """End the threads and free the memory."""
        self.searcher.close()
        if self.human is not None:
            self.human.close()


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
