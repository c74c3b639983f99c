"""The players `value`, `alphago`, `puct` and `gumbel`: one tree search, with exchangeable pieces.

| player | chooses at the root | chooses below it | a leaf's value | plays |
| --- | --- | --- | --- | --- |
| `value` | each move once | | the network's | the best value |
| `alphago` | PUCT | PUCT | mixed with a rollout | the most visited move |
| `puct` | PUCT | PUCT | the network's | the most visited move |
| `gumbel` | sequential halving | the improved policy | the network's | the winner of the halving |

`alphago` has the mixed values of AlphaGo (2016), and else what came later: one network for policy and value,
AlphaZero's growing exploration, and leaves that are expanded at once.
"""

from __future__ import annotations

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE
from nets.evaluator import Evaluator
from search.alphazero.parameters import ALPHAGO, AlphaZeroParameters
from search.alphazero.schedules import EachMoveOnce, NoPlan, Schedule, SequentialHalving
from search.alphazero.search import TreeSearch
from search.alphazero.tree import edges_of
from search.alphazero.walk import BY_IMPROVED_POLICY, BY_PUCT
from search.puct.move_choice import end_well, should_resign
from search.puct.parameters import SearchParameters
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import RESIGN, SearchResult
from search.winrates import Winrates

FEWEST_CONSIDERED = 4
"""Sequential halving begins with at least so many moves, if there are simulations for them."""


class AlphaZeroPlayer:
    """A `Player` that searches as one of the published programs does."""

    def __init__(
        self,
        name: str,
        evaluator: Evaluator,
        parameters: AlphaZeroParameters | None = None,
        workers: int = 0,
        seed: int = -1,
    ) -> None:
        """`name`: `value`, `alphago`, `puct` or `gumbel`. `workers`: threads that evaluate at once, 0 for all cores.

        `seed`: the same one gives the same search where only visits limit it; a negative one is new each time.
        """
        self.name = name
        make_schedule = {"value": each_move_once, "gumbel": sequential_halving}.get(name, no_plan)
        rule = BY_IMPROVED_POLICY if name == "gumbel" else BY_PUCT
        base = ALPHAGO if name == "alphago" else AlphaZeroParameters()
        self.searcher = TreeSearch(evaluator, parameters or base, make_schedule, rule, workers, seed)
        self._winrates = Winrates()

    @property
    def evaluator(self) -> Evaluator:
        """The network that the search asks."""
        return self.searcher.evaluator

    @property
    def parameters(self) -> AlphaZeroParameters:
        """The parameters of the next search. Assigning others forgets the tree."""
        return self.searcher.parameters

    @parameters.setter
    def parameters(self, parameters: AlphaZeroParameters) -> None:
        self.searcher.use(parameters)

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate what a first search on such a board needs."""
        game = Game(width, height)
        first = self.search(SearchRequest(game, BLACK, Limits(visits=8), report=OWNERSHIP_AT_THE_END))
        # A tree is kept after a stone, and not after a pass.
        game.play(BLACK, next((move.point for move in first.moves if move.visits and move.point != PASS), PASS))
        self.choose(game, self.search(SearchRequest(game, WHITE, Limits(visits=8))))
        self.clear()

    def search(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. Raises EvaluatorError."""
        return self.searcher.run(request)

    def choose(self, game: Game, result: SearchResult) -> int:
        """Choose the point to play, PASS or RESIGN."""
        if self._resigns(game, result):
            return RESIGN
        return end_well(game, result, self._draw(game, result))

    def clear(self) -> None:
        """Forget the tree and the winrates."""
        self.searcher.clear()
        self._winrates.clear()

    def close(self) -> None:
        """End the threads and free the memory."""
        self.searcher.close()

    def _draw(self, game: Game, result: SearchResult) -> int:
        """The first move of the result, or, early in a game where that is asked for, one drawn by visits."""
        odds = np.array([move.choice for move in result.moves])
        if len(game.moves) >= self.parameters.sampled_moves or odds.max() <= 0.0:
            return result.moves[0].point
        shares = (odds / odds.max()) ** (1.0 / self.parameters.sampled_temperature)
        return result.moves[int(self.searcher.generator.choice(len(odds), p=shares / shares.sum()))].point

    def _resigns(self, game: Game, result: SearchResult) -> bool:
        """Whether the game has looked lost for several moves. Remembers the winrates of this game."""
        recent = self._winrates.add(game, result)
        if self.parameters.resign_below == 0.0:
            return False
        rules = SearchParameters(resign_threshold=2.0 * self.parameters.resign_below - 1.0)
        return should_resign(game, result, rules, recent)


def no_plan(_search: TreeSearch, _simulations: int | None) -> Schedule:
    """Let the formula choose at the root as below it."""
    return NoPlan()


def each_move_once(search: TreeSearch, _simulations: int | None) -> Schedule:
    """Try every move of the root once."""
    return EachMoveOnce(search.game_tree.tree)


def sequential_halving(search: TreeSearch, simulations: int | None) -> Schedule:
    """Divide the simulations by sequential halving; without a number of them, choose as below the root."""
    if simulations is None:
        return NoPlan()
    tree, parameters = search.game_tree.tree, search.parameters
    count = len(edges_of(tree))
    noise = search.generator.gumbel(size=count) if parameters.gumbel_noise else np.zeros(count)
    considered = min(parameters.considered, max(FEWEST_CONSIDERED, simulations // parameters.visits_each))
    return SequentialHalving(tree, simulations, considered, search.game_tree.walk.settings, noise)
