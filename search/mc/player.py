"""The player `mc`: flat Monte Carlo. It looks one move ahead and knows the value of a move by playouts alone."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.machine.cores import usable_cores
from go_rules.points import BLACK, N_POINTS, PASS, WHITE
from go_rules.random import drawn_seed
from go_rules.superko import new_seen, seen_refill
from nets.evaluator import Evaluator
from search.mc.rounds import list_candidates, new_buffers, new_position, play_rounds
from search.playouts.budget import Budget
from search.playouts.ending import choose_point
from search.playouts.parameters import PlayoutParameters
from search.playouts.playout import new_policy, new_tools, policy_of
from search.playouts.result import Tally, make_result
from search.playouts.root import set_root
from search.playouts.threads import Threads
from search.request import Limits, SearchRequest, excluded_until
from search.result import SearchResult

PRIOR_PLAYOUTS = 20.0
"""How many playouts of the mean move are counted with those of the best one, to say what a position is worth."""


class MonteCarloPlayer:
    """A `Player` that gives every legal move equally many playouts. It remembers nothing from move to move."""

    def __init__(
        self, name: str = "mc", parameters: PlayoutParameters | None = None, workers: int = 0, seed: int = -1
    ) -> None:
        """`workers`: how many threads search; 0 stands for one on each core. `seed`: with one worker and a limit of
        visits, the same seed gives the same search; a negative one is new each time."""
        self.name = name
        self.evaluator: Evaluator | None = None
        self.workers = workers or usable_cores()
        base = drawn_seed(seed)
        self._policy = new_policy()
        self._buffers = [new_buffers(new_tools(base * 1000 + i, self._policy)) for i in range(self.workers)]
        self._position = new_position()
        self._moves = np.array([PASS], np.int16)
        self._threads = Threads(self.workers, name)
        self.parameters = parameters or PlayoutParameters()

    @property
    def parameters(self) -> PlayoutParameters:
        """The parameters of the next search."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: PlayoutParameters) -> None:
        self._parameters = parameters
        self._policy[:] = policy_of(parameters)

    # --- The Player interface ---------------------------------------------------------------------------------

    def warm_up(self, width: int, height: int) -> None:
        """Compile every kernel of a search: one compiled version serves all boards and rules."""
        game = Game(width, height)
        game.play(BLACK, PASS)
        self.choose(game, self.search(SearchRequest(game, WHITE, Limits(visits=1))))

    def search(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says: rounds of playouts until a limit is reached."""
        started = time.perf_counter()
        limits = request.limits
        self._moves = self.candidates(request)
        self._forget()
        may_stop = (
            limits.may_stop_early
            and limits.unused_time_carries_over
            and self.parameters.early_stop
            and not request.analysis
        )
        budget = Budget(limits.visits_from(0), self._position.stop, self._lead if may_stop else None, self.workers)

        def snapshot() -> SearchResult:
            return self._summarise(request, budget, time.perf_counter() - started)

        self._threads.run(self._work, budget, started, request, snapshot)
        return snapshot()

    def choose(self, game: Game, result: SearchResult) -> int:
        """Choose the move with the best mean value, or pass or give up as playouts/ending.py says."""
        return choose_point(game, result, self.parameters)

    def clear(self) -> None:
        """Forget the last search."""
        self._forget()

    def close(self) -> None:
        """End the threads of the last search."""
        self._position.stop[0] = 1
        self._threads.close()

    # --- Inside -----------------------------------------------------------------------------------------------

    def candidates(self, request: SearchRequest) -> NDArray[np.int16]:
        """Set up the threads' shared memory for a request, and return the moves to play out: int16, the pass last.

        An excluded pass is among them only where there is no other move.
        """
        game = request.game
        set_root(self._position.root[0], game, request.colour)
        self._position.rules[0] = game.record
        self._position.banned[:] = excluded_until(request.filter)
        self._position.stop[0] = 0
        seen = new_seen(game.length)
        seen_refill(seen, game.keys)
        self._position = self._position._replace(seen=seen)
        found = np.zeros(N_POINTS, np.int16)
        n = list_candidates(self._position, self._buffers[0], np.zeros(1, np.uint64), found)
        return found[:n]

    def _forget(self) -> None:
        for each in self._buffers:
            for counts in (each.visits, each.wins, each.scores, each.playouts.ownership, each.playouts.totals):
                counts[:] = 0

    def _work(self, thread: int, budget: Budget) -> None:
        """One thread's life: slices of playouts until the budget is used up."""
        while playouts := budget.take():
            buffers, weight = self._buffers[thread], self.parameters.score_weight
            play_rounds(self._position, buffers, self._moves, weight, playouts.start, len(playouts))

    def _counts(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Visits, wins and scores of each candidate, over all threads."""
        n = len(self._moves)
        return (
            np.sum([each.visits[:n] for each in self._buffers], axis=0),
            np.sum([each.wins[:n] for each in self._buffers], axis=0),
            np.sum([each.scores[:n] for each in self._buffers], axis=0),
        )

    def _lead(self) -> int:
        """How many playouts, shared equally, the second best move needs at least to overtake the best."""
        visits, wins, _ = self._counts()
        if len(visits) < 2:
            return int(visits.sum())
        # Moves differ by a slice of each thread at most; what is missing may all be won or lost.
        uneven = int(visits.max() - visits.min())
        second, first = np.partition(wins, -2)[-2:]
        return int((first - second - uneven) * len(visits))

    def _summarise(self, request: SearchRequest, budget: Budget, seconds: float) -> SearchResult:
        visits, wins, scores = self._counts()
        means = np.divide(wins, visits, out=np.full(len(wins), -1.0), where=visits > 0)
        order = np.argsort(-means, kind="stable")
        tallies = [
            Tally(
                point=int(self._moves[i]),
                visits=int(visits[i]),
                wins=float(wins[i]),
                score=float(scores[i]),
                prior=1.0 / len(self._moves),
                pv=(int(self._moves[i]),),
                pv_visits=(int(visits[i]),),
            )
            for i in order
        ]
        # What the best move promises, since the mean of all moves says more of the bad ones. But of moves with few
        # playouts the best is the luckiest one: so much of the mean is mixed in.
        best, total = tallies[0], int(visits.sum())
        mean = PRIOR_PLAYOUTS / max(1, total)
        return make_result(
            request.game,
            request.colour,
            tallies,
            [each.playouts for each in self._buffers],
            winrate=(best.wins + mean * float(wins.sum())) / (best.visits + PRIOR_PLAYOUTS) if total else 0.5,
            score=(best.score + mean * float(scores.sum())) / (best.visits + PRIOR_PLAYOUTS) if total else 0.0,
            visits=total,
            seconds=seconds,
            new_visits=total,
            reason=budget.reason,
        )
