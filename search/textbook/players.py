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

A player without a network passes and gives up by its search. Under area rules that knows what a pass does: two of them
end the game, and every stone left counts as alive. What is added is politeness: no further moves once the count is won.
Under territory rules superfluous moves cost points, so only what playouts still disagree about is played.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.phases import live_phase
from go_rules.points import BLACK, EMPTY, PASS, WHITE, board_points, neighbours
from go_rules.position import PHASE_MAIN
from go_rules.random import below, drawn_seed, seed_state
from go_rules.rules import SCORING_TERRITORY
from nets.evaluator import Evaluator
from search.nobi.move_choice import end_well, should_resign
from search.nobi.parameters import SearchParameters
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import RESIGN, SearchResult, Winrates
from search.textbook.parameters import ALPHAGO, PURE_UCT, AlphaZeroParameters, PlayoutParameters, UctParameters
from search.textbook.rules import EVENLY, IMPROVED, PUCT, UCB1
from search.textbook.schedules import BestMean, ByRule, EachMoveOnce, SequentialHalving
from search.textbook.search import MakeSchedule, Parameters, TreeSearch
from search.textbook.tree import children_of

SERIOUS_SHARE = 0.01
"""Under territory rules, a move needs at least this share of the most visited move's visits."""
WINRATE_TOLERANCE = 0.05
"""Under territory rules, a move's winrate must not be lower than the most visited move's by more than this."""
SETTLED = 0.9
"""|ownership| from which a point counts as decided, since nearly all playouts agree on its owner."""
VISITS_BEFORE_RESIGNING = 1000
"""A search with fewer never ends in resigning."""
MOVES_BEFORE_RESIGNING = 0.1
"""The player never resigns before so many moves per point of the board."""


def choose_point(game: Game, result: SearchResult, parameters: PlayoutParameters) -> int:
    """Choose the point to play after a search, PASS or RESIGN."""
    assert result.ownership is not None
    settled = np.abs(result.ownership) >= SETTLED
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
    open_points, first = _open_points(game, settled), result.moves[0]
    for move in result.moves:
        is_good = move.winrate >= first.winrate - WINRATE_TOLERANCE
        if move.point in open_points and move.visits >= SERIOUS_SHARE * first.visits and is_good:
            return move.point
    return PASS


def _open_points(game: Game, settled: NDArray[np.bool_]) -> set[int]:
    """Empty points that are not settled or touch one that is not."""
    points, board = board_points(game.width, game.height), game.position["board"]
    unsettled = {point for point, done in zip(points, settled, strict=True) if not done}
    empty = (point for point in points if board[point] == EMPTY)
    return {point for point in empty if not unsettled.isdisjoint((point, *neighbours(point)))}


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
        search, or that evaluate at once; 0: one on each core. `seed`: of all random choices; with one worker and a
        limit of visits the same one gives the same search; a negative one is new each time."""
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
