"""The players of the textbook: one tree search, with exchangeable pieces.

| player | chooses at the root | chooses below it | a leaf's value | plays |
| --- | --- | --- | --- | --- |
| `mc` | evenly | | a playout's | the best mean |
| `uct` | UCB1 | UCB1 | a playout's | the most visited move |
| `rave` | UCB1 and all moves as first | the same | a playout's | the most visited move |
| `value` | each move once | | the network's | the best value |
| `alphago` | PUCT | PUCT | mixed with a rollout's | the most visited move |
| `puct` | PUCT | PUCT | the network's | the most visited move |
| `gumbel` | sequential halving | the improved policy | the network's | the winner of the halving |

`random` draws its moves. `alphago` has the mixed values of AlphaGo (2016), and else what came later: one network for
policy and value, AlphaZero's growing exploration, and leaves that are expanded at once.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE
from go_rules.random import below, drawn_seed, seed_state
from nets.evaluator import Evaluator
from search.nobi.move_choice import end_well, should_resign
from search.nobi.parameters import SearchParameters
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import RESIGN, SearchResult, Winrates
from search.textbook.ending import choose_point
from search.textbook.parameters import ALPHAGO, PURE_UCT, AlphaZeroParameters, PlayoutParameters, UctParameters
from search.textbook.rules import EVENLY, IMPROVED, PUCT, UCB1
from search.textbook.schedules import BestMean, ByRule, EachMoveOnce, SequentialHalving
from search.textbook.search import MakeSchedule, Parameters, TreeSearch
from search.textbook.tree import children_of

FEWEST_CONSIDERED = 4
"""Sequential halving begins with at least so many moves, if there are simulations for them."""


def by_rule(_search: TreeSearch, _visits: int | None) -> ByRule:
    """Let the rule of selection choose at the root as below it."""
    return ByRule()


def best_mean(_search: TreeSearch, _visits: int | None) -> ByRule:
    """Let the rule of selection choose at the root, and play the best mean."""
    return BestMean()


def each_move_once(search: TreeSearch, _visits: int | None) -> ByRule:
    """Try every move of the root once."""
    return EachMoveOnce(search.nodes)


def sequential_halving(search: TreeSearch, visits: int | None) -> ByRule:
    """Divide the visits by sequential halving; without a number of them, choose as below the root."""
    parameters = search.parameters
    if visits is None or not isinstance(parameters, AlphaZeroParameters):
        return ByRule()
    count = len(children_of(search.nodes))
    noise = search.generator.gumbel(size=count) if parameters.gumbel_noise else np.zeros(count)
    considered = min(parameters.considered, max(FEWEST_CONSIDERED, visits // parameters.visits_each))
    return SequentialHalving(search.nodes, visits, considered, search.context.settings, noise)


@dataclass(frozen=True)
class Row:
    """The pieces of a player: a row of the table above. Whether a network evaluates leaves, its parameters say."""

    rule: int
    schedule: MakeSchedule
    parameters: Parameters
    """The defaults."""


TEXTBOOK = {
    "random": Row(EVENLY, best_mean, PlayoutParameters()),
    "mc": Row(EVENLY, best_mean, PlayoutParameters()),
    "uct": Row(UCB1, by_rule, PURE_UCT),
    "rave": Row(UCB1, by_rule, UctParameters()),
    "value": Row(PUCT, each_move_once, AlphaZeroParameters()),
    "alphago": Row(PUCT, by_rule, ALPHAGO),
    "puct": Row(PUCT, by_rule, AlphaZeroParameters()),
    "gumbel": Row(IMPROVED, sequential_halving, AlphaZeroParameters()),
}


class TextbookPlayer:
    """A `Player` that searches as the textbook says."""

    def __init__(
        self,
        name: str,
        evaluator: Evaluator | None = None,
        parameters: Parameters | None = None,
        workers: int = 0,
        seed: int = -1,
    ) -> None:
        """`name`: of a row of TEXTBOOK. `evaluator`: the network of those that have one. `workers`: threads that
        search, or that evaluate at once; 0 for one on each core. `seed`: with one worker and a limit of visits the same
        one gives the same search; a negative one is new each time."""
        self.name = name
        row = TEXTBOOK[name]
        self.searcher = TreeSearch(name, parameters or row.parameters, row.rule, row.schedule, evaluator, workers, seed)
        self._winrates = Winrates()

    @property
    def evaluator(self) -> Evaluator | None:
        """The network that the search asks; None if playouts evaluate."""
        return self.searcher.evaluator

    @property
    def parameters(self) -> Parameters:
        """The parameters of the next search. Assigning others forgets the tree."""
        return self.searcher.parameters

    @parameters.setter
    def parameters(self, parameters: Parameters) -> None:
        self.searcher.use(parameters)

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate what a first search on such a board needs."""
        game = Game(width, height)
        for _ in range(2):  # the second search keeps what the first has found
            self.search(SearchRequest(game, BLACK, Limits(playouts=8), report=OWNERSHIP_AT_THE_END))
        game.play(BLACK, PASS)
        self.choose(game, self.search(SearchRequest(game, WHITE, Limits(visits=8))))
        self.clear()

    def search(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. Raises EvaluatorError."""
        return self.searcher.run(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        """Choose the point to play, PASS or RESIGN."""
        parameters = self.parameters
        if isinstance(parameters, PlayoutParameters):
            return choose_point(game, result, parameters)
        if self._resigns(game, result, parameters):
            return RESIGN
        return end_well(game, result, self._draw(game, result, parameters))

    def clear(self) -> None:
        """Forget the tree and the winrates."""
        self.searcher.clear()
        self._winrates.clear()

    def close(self) -> None:
        """End the threads and free the memory."""
        self.searcher.close()

    def _draw(self, game: Game, result: SearchResult, parameters: AlphaZeroParameters) -> int:
        """The first move of the result, or, early in a game where that is asked for, one drawn by visits."""
        odds = np.array([move.choice for move in result.moves])
        if len(game.moves) >= parameters.sampled_moves or odds.max() <= 0.0:
            return result.moves[0].point
        return result.moves[int(self.searcher.generator.choice(len(odds), p=odds / odds.sum()))].point

    def _resigns(self, game: Game, result: SearchResult, parameters: AlphaZeroParameters) -> bool:
        """Whether the game has looked lost for several moves. Remembers the winrates of this game."""
        recent = self._winrates.add(game, result)
        if parameters.resign_below == 0.0:
            return False
        rules = SearchParameters(resign_threshold=2.0 * parameters.resign_below - 1.0)
        return should_resign(game, result, rules, recent)


class RandomPlayer(TextbookPlayer):
    """A `Player` that draws any legal move, each as likely as the others, but fills no own eye that nothing threatens.

    For analysis, and for who owns what, it plays games out as `mc` does.
    """

    def __init__(self, parameters: PlayoutParameters | None = None, workers: int = 0, seed: int = -1) -> None:
        super().__init__("random", None, parameters, workers, seed)
        self._random = seed_state(drawn_seed(seed))

    def search(self, request: SearchRequest) -> SearchResult:
        """List the moves to draw from by a search of one playout; for analysis, search as `mc` does."""
        if not (request.analysis or request.wants_ownership):
            request = dataclasses.replace(request, limits=Limits(visits=1))
        return super().search(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        """Draw a move. The pass is played only where there is no other."""
        moves = sorted(move.point for move in result.moves if move.point != PASS)
        return moves[below(self._random, len(moves))] if moves else PASS
