"""The search: select leaves, expand and evaluate them, back up their values, until a limit is reached.

One thread does all of it. Several leaves are in flight at once so that the network evaluates them together; virtual
losses keep them apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from go_rules.machine.cores import usable_cores
from go_rules.points import WHITE
from go_rules.random import drawn_seed
from nets.evaluator import Evaluator
from nets.features import AT_ROOT, IN_TREE
from search.alphazero.batch import Batch
from search.alphazero.game_tree import GameTree
from search.alphazero.parameters import AlphaZeroParameters
from search.alphazero.result import summarise, visits_of_root
from search.alphazero.root import add_noise, drop_useless, raw_evaluation
from search.alphazero.run import Run
from search.alphazero.schedules import DONE, WAIT, Schedule
from search.alphazero.tree import NONE, ROOT, edges_of
from search.alphazero.walk import COLLISION, LEAF, select
from search.request import SearchRequest
from search.result import RawEvaluation, SearchResult, StopReason

KEPT_SHARE = 0.1
"""After a move was played, the ownership of earlier leaves counts for this share."""

MakeSchedule = Callable[["TreeSearch", "int | None"], Schedule]
"""Plans a search whose root is evaluated: from the number of its simulations, None where that is not known."""


class TreeSearch:
    """A search with its tree, which it keeps from one position of a game to the next."""

    def __init__(
        self,
        evaluator: Evaluator,
        parameters: AlphaZeroParameters,
        make_schedule: MakeSchedule,
        rule: int,
        workers: int = 0,
        seed: int = -1,
    ) -> None:
        """`make_schedule` plans the simulations from the root; `rule` chooses below it (walk.BY_PUCT, ...).

        `workers`: threads that evaluate at once; 0 stands for one on each core. `seed`: of all random choices; a
        negative one is new each time.
        """
        self.evaluator = evaluator
        self.generator = np.random.default_rng(drawn_seed(seed))
        self._workers = workers or usable_cores()
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="evaluation")
        self._make_schedule = make_schedule
        self._rule = rule
        self._speed = 0.0
        """Simulations in a second of the last search; 0 where that is not known."""
        self.use(parameters)

    def use(self, parameters: AlphaZeroParameters) -> None:
        """Search with other parameters from now on. This forgets the tree."""
        self.parameters = parameters
        self.game_tree = GameTree(parameters, self._rule)
        self._size = (0, 0)
        self._batch: Batch | None = None

    def clear(self) -> None:
        """Forget the tree and its game."""
        self.game_tree.clear()
        self._size, self._batch = (0, 0), None

    def close(self) -> None:
        """End the threads and forget the tree."""
        self._pool.shutdown()
        self.clear()

    def run(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. Raises EvaluatorError."""
        try:
            return self._run(request)
        except BaseException:
            self.clear()  # leaves may be in flight for ever
            raise

    def _run(self, request: SearchRequest) -> SearchResult:
        started = time.perf_counter()
        batch = self._batch_for(request)
        evaluations = batch.evaluations
        first_visits, raw = self._evaluate_root(request, batch)
        run = Run(request, self.parameters, first_visits, started)
        schedule = self._make_schedule(self, run.simulations(self._speed))
        reason: StopReason | None = None

        def snapshot() -> SearchResult:
            ranking = schedule.ranking(self.game_tree.tree)
            return summarise(
                self.game_tree.tree,
                request.colour,
                ranking,
                schedule.choice(self.game_tree.tree),
                value_is_mean=schedule.value_is_mean,
                raw=raw,
                ownership=self._ownership(request, batch),
                first_visits=first_visits,
                evaluations=batch.evaluations - evaluations,
                seconds=time.perf_counter() - started,
                reason=reason or StopReason.VISITS,
            )

        while reason is None:
            visits = visits_of_root(self.game_tree.tree)
            run.report(snapshot)
            reason = run.is_over(visits) or self._is_decided(run, schedule, visits)
            if reason is None:
                wanted = min(batch.room, schedule.most_in_flight(visits), run.visits_left(visits))
                reason = self._simulate(schedule, batch, wanted)
        result = snapshot()
        if result.new_visits > 1:
            self._speed = result.new_visits / max(result.seconds, 1e-6)
        return result

    # --- The stages -------------------------------------------------------------------------------------------

    def _simulate(self, schedule: Schedule, batch: Batch, wanted: int) -> StopReason | None:
        """Run up to `wanted` simulations at once. Returns why the search has to end, None if it goes on."""
        reason = None
        for _ in range(wanted):
            if not self.game_tree.make_room():
                reason = StopReason.MEMORY
                break
            tree, walk = self.game_tree.tree, self.game_tree.walk
            edge = schedule.next_edge(tree, batch.count)
            if edge == DONE:
                reason = StopReason.VISITS
            if edge in (DONE, WAIT):
                break
            root_edge = edge if edge == NONE else int(tree.nodes[ROOT]["first"]) + edge
            outcome, index, depth = select(tree, walk, batch.next_path, np.int64(root_edge))
            if outcome == COLLISION:
                break
            schedule.begun(edge)
            if outcome == LEAF:
                batch.add(walk, index, depth, IN_TREE)
        if batch.count > 0:
            batch.finish(self.game_tree.tree)
        return reason

    def _evaluate_root(self, request: SearchRequest, batch: Batch) -> tuple[int, RawEvaluation]:
        """Make the requested position the root and evaluate it.

        Returns the visits that an earlier search gave it, and the network's own evaluation.
        """
        steps = self.game_tree.take_root(request)
        batch.forget_owners(0.0 if steps == NONE else 1.0 if steps == 0 else KEPT_SHARE)
        tree = self.game_tree.tree
        visits = 0 if steps == NONE else visits_of_root(tree)
        batch.add(self.game_tree.walk, ROOT, 0, AT_ROOT)
        evaluation = batch.finish(tree)
        raw = raw_evaluation(evaluation, tree, request.game.width, request.game.height)
        drop_useless(tree, request.game, request.colour)
        if self.parameters.dirichlet_noise and not request.analysis:
            add_noise(tree, self.parameters, self.generator)
        return visits, raw

    def _is_decided(self, run: Run, schedule: Schedule, visits: int) -> StopReason | None:
        """Whether the visits that are left cannot change the most visited move any more."""
        if not (run.may_stop_early and schedule.may_stop_early):
            return None
        counts = np.sort(edges_of(self.game_tree.tree)["visits"])
        lead = int(counts[-1]) - (int(counts[-2]) if len(counts) > 1 else 0)
        return StopReason.DECIDED if lead > run.likely_left(visits) and visits > 1 else None

    def _batch_for(self, request: SearchRequest) -> Batch:
        size = (request.game.width, request.game.height)
        if self._batch is None or self._size != size:
            self._size = size
            self._batch = Batch(self.evaluator, self.parameters, *size, self._pool, self._workers, self.generator)
        self._batch.count = 0
        return self._batch

    def _ownership(self, request: SearchRequest, batch: Batch) -> np.ndarray | None:
        if not request.wants_ownership:
            return None
        sign = 1.0 if request.colour == WHITE else -1.0
        return (sign * batch.owners / batch.owners_weight).astype(np.float32)
