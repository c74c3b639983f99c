"""The network-guided search: the threads that grow a tree, and when they stop.

What a thread does over and over, the stages of the search itself, is in iteration.py.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import threading
import time
import weakref
from collections.abc import Callable

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from go_rules.random import drawn_seed
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator
from nets.threads import EvaluationThread, Stopped
from nobi_machine.memory import usable_cores
from search.course import UNSEARCHED
from search.nobi.game_tree import GameTree
from search.nobi.iteration import DECIDED, NO_CHECK, SELECT_NOTHING, advance, collect, submit
from search.nobi.leaves.nn_cache import Cache
from search.nobi.memory.workspace import WorkerBuffers, Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.report import RunningSearch, nothing_known, take_snapshot
from search.nobi.tree import reuse
from search.nobi.tree.nodes import NODES
from search.nobi.tree.select import COLLISION, FULL
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import SearchResult, StopReason

POLL_SECONDS = 0.01
"""The longest time between two checks of the stop conditions. Workers check after each evaluation; the waiting thread
checks only where evaluations are slower than this, because each check takes the lock."""
REST_SECONDS = 0.1
"""How long the waiting thread sleeps where the workers check often enough."""

ONCE = Limits(visits=2)
"""Limits of the searches to warm up with: large networks need long for each visit."""

CLOSE_SECONDS = 1.0
"""How long `close` waits for a worker to finish its evaluation."""
RELEASE_SECONDS = 10.0
"""How long a search on another board waits for the workers of the last one to let go of its memory."""

FIRST_LOOK, DECIDED_EVERY = 32, 16
"""New visits before the first check whether the search is decided, and between two of them."""
LEAVES_AT_FIRST, VISITS_FOR_ANOTHER = 32, 2
"""Where a device evaluates leaves: how many may be under way in a tree of one visit, and how many visits of the root
allow one more."""
SMALLEST_REQUEST, SMALL_REQUEST = 4, 16
"""How many positions the requests of a small tree have: as many as fill a call."""
FULL_SHARE = 0.95
"""If more than this share of the nodes is left after a garbage collection, the tree counts as full."""

FIXED = ("workers", "batch", "memory", "cache_memory", "seed", "value_weight_exponent", "policy_optimism")
"""Parameters that the workspace is made for: when one of them changes, a new workspace is made."""


class Search:
    """A PUCT search with its threads. It keeps the tree from one search to the next."""

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters | None = None) -> None:
        self.evaluator = evaluator
        self._parameters = parameters or SearchParameters()
        self._last_working = self._parameters
        """The parameters of the last search for which there was memory. A search without falls back on them."""
        self._seed = drawn_seed(self._parameters.seed)
        self._generator = np.random.default_rng(self._seed)
        self.tree: GameTree | None = None
        """What is kept from one search to the next; None before the first. Read it only while nothing searches."""
        self._lock = threading.RLock()
        """Protects the tree and all the attributes below."""
        self._changed = threading.Condition(self._lock)
        """Notified when a waiting worker or the caller has to look again."""
        self._threads: list[threading.Thread] = []
        self._run: RunningSearch | None = None
        self._generation = 0
        """Goes up when the leaves under way become worthless: those of an older generation are dropped."""
        self._outstanding = 0
        """Visits under way of this generation."""
        self._waiting = 0
        """How many workers have nothing to do until an evaluation comes back."""
        self._holding = 0
        """How many workers hold a tree."""
        self._next_look = 0
        """The number of visits at which to check again whether the search is decided."""
        self._closing = False
        self._root_evaluations = EvaluationThread()
        self._most_workers = 1 << 30
        self._cores = usable_cores()  # a process that is given others later keeps its threads
        _open_searches.add(self)

    @property
    def parameters(self) -> SearchParameters:
        """The parameters of the next search. Assigning others forgets the tree."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: SearchParameters) -> None:
        if parameters == self._parameters:
            return
        before, self._parameters = self._parameters, parameters
        if before.seed != parameters.seed:
            self._seed = drawn_seed(parameters.seed)
            self._generator = np.random.default_rng(self._seed)
        if any(getattr(before, name) != getattr(parameters, name) for name in FIXED):
            self._release()
        self.clear(with_cache=False)  # the cache knows on what its evaluations depend

    @property
    def workers(self) -> int:
        """How many threads search."""
        return self._parameters.workers or self._cores

    def use_workers(self, most: int) -> None:
        """Let at most so many threads search from now on, also in a search that runs. At least one always does."""
        with self._changed:
            self._most_workers = max(1, most)
            self._changed.notify_all()

    def warm_up(self, width: int, height: int) -> None:
        """Compile or load every kernel that a search on such a board calls, and allocate its memory."""
        game = Game(width, height)
        owners = dataclasses.replace(OWNERSHIP_AT_THE_END, moves_ownership=True)
        first = self.run(SearchRequest(game, BLACK, ONCE, report=owners, analysis=True)).moves[0].point
        game.play(BLACK, first)
        last = SearchRequest(game, WHITE, ONCE)
        self.run(last)
        with self._changed:
            space = self._game_tree_for(last).space
            reuse.warm_up(space.tree, space.context)
            del space  # its memory is to be free before the next is taken
        self._release()
        self._game_tree_for(last)
        self.evaluator.warm_up(self._parameters.batch_for(self.evaluator, width, height), height, width)

    def clear(self, with_cache: bool = True) -> None:
        """Forget the tree, and unless told otherwise the evaluations that the cache keeps."""
        with self._changed:
            self._abandon_outstanding()
            if self.tree is not None:
                self.tree.clear(with_cache)

    def close(self) -> None:
        """Stop the threads and release the memory."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=CLOSE_SECONDS)
        self._root_evaluations.close()
        self._release()
        _open_searches.discard(self)

    def run(self, request: SearchRequest, white_doublings: float | None = None) -> SearchResult:
        """Search as `Player.search` and `GameTree.take_root` say. Raises EvaluatorError, and RuntimeError after
        `close`."""
        started = time.perf_counter()
        if self._closing:
            raise RuntimeError("the player is closed")
        if request.analysis:
            request = dataclasses.replace(request, limits=dataclasses.replace(request.limits, may_stop_early=False))
        self._start_threads()
        with self._changed:
            tree = self._game_tree_for(request)
            self._abandon_outstanding()
            try:
                ask = self._interruptible(request, tree)
                tree.take_root(request, self._parameters, self._generator, ask, white_doublings)
            except Stopped:
                return self._unsearched(tree, request, started)
            run = RunningSearch(request, int(tree.root["visits"]), started)
            if run.course.leads:
                self._follow(run)
            else:
                run.check()
            self._next_look = run.visits + FIRST_LOOK
            try:
                self._run = run
                self._changed.notify_all()
                with self.evaluator.searching():
                    self._await(run, tree)
            finally:
                run.end(StopReason.INTERRUPTED)
                self._run = None
                self._changed.notify_all()
            if run.error is not None:
                run.course.step, run.course.visits = run.steps, run.visits
                raise run.error
            result = take_snapshot(tree, self._parameters, run)
            run.course.end(run.steps, run.in_flight, result)
            return result

    def _interruptible(
        self, request: SearchRequest, tree: GameTree
    ) -> Callable[[EvaluationRequest], Evaluation] | None:
        """Return what evaluates the root and raises Stopped soon after `request.stop` is set; None without that event.

        It raises Stopped only where the search has an answer without this evaluation: if `request.may_end_empty`, or if
        an earlier search has visited the root. Otherwise it waits for the network.
        """
        stop = request.stop
        if stop is None:
            return None

        def evaluate(asked: EvaluationRequest) -> Evaluation:
            if request.may_end_empty or int(tree.root["visits"]) > 1:
                return self._root_evaluations.evaluate(self.evaluator, asked, stop)
            return self.evaluator.evaluate(asked)

        return evaluate

    def _unsearched(self, tree: GameTree, request: SearchRequest, started: float) -> SearchResult:
        """The result of a search that was stopped before its root was evaluated."""
        run = RunningSearch(request, int(tree.root["visits"]), started)
        run.end(StopReason.INTERRUPTED)
        result = take_snapshot(tree, self._parameters, run) if run.visits > 0 else nothing_known(run)
        run.course.end(UNSEARCHED, 0, result)
        return result

    # --- The memory -------------------------------------------------------------------------------------------

    def _game_tree_for(self, request: SearchRequest) -> GameTree:
        """Return the tree for boards of this size.

        Makes a new one, with new memory, where the size changes or where ownership has to be kept that the present one
        has no room for. The search keeps the tree as `self.tree`.
        """
        game, with_ownership = request.game, request.wants_ownership
        cache = None
        if self.tree is not None:
            known = self.tree.space
            if (known.width, known.height) == (game.width, game.height):
                cache = known.cache
                if known.with_ownership >= with_ownership:
                    return self.tree
            del known  # its memory is to be free before the next is taken
        self._release()
        with self._changed:
            self._changed.wait_for(lambda: self._holding == 0, RELEASE_SECONDS)
        space = None
        with contextlib.suppress(MemoryError):
            space = self._new_workspace(game, with_ownership, cache)
        if space is None:
            former = {name: getattr(self._last_working, name) for name in FIXED}
            self._parameters = dataclasses.replace(self._parameters, **former)
            space = self._new_workspace(game, with_ownership, None)
        self._last_working = self._parameters
        self.tree = GameTree(space)
        return self.tree

    def _new_workspace(self, game: Game, with_ownership: bool, cache: Cache | None) -> Workspace:
        return Workspace(
            game.width, game.height, self._parameters, self.evaluator, self.workers, self._seed, with_ownership, cache
        )

    def _release(self) -> None:
        with self._changed:
            self._generation += 1
            self._outstanding = 0
            self.tree = None

    def _abandon_outstanding(self) -> None:
        """Drop all leaves that are still being evaluated."""
        if self._outstanding > 0:
            self._generation += 1
            self._outstanding = 0
            if self.tree is not None:
                reuse.settle(self.tree.space.tree)

    # --- The calling thread -----------------------------------------------------------------------------------

    def _await(self, run: RunningSearch, tree: GameTree) -> None:
        """Wait for the end of the search, and send reports meanwhile."""
        report = run.request.report
        leads = run.course.leads
        next_report = float("inf") if report is None or leads else run.started + report.before_first
        pause, steps, since = POLL_SECONDS, run.steps, time.perf_counter()
        while run.reason is None:
            now = time.perf_counter()
            if now >= since + POLL_SECONDS:
                pause = REST_SECONDS if run.steps - steps > (now - since) / POLL_SECONDS else POLL_SECONDS
                steps, since = run.steps, now
            if report is not None and now >= next_report:
                snapshot = take_snapshot(tree, self._parameters, run)
                run.course.reports.append((run.steps, run.visits))
                self._changed.release()
                try:
                    report.callback(snapshot)
                finally:
                    self._changed.acquire()
                next_report = max(next_report + report.every, time.perf_counter())
            self._changed.wait(max(0.0, min(pause, next_report - now, run.seconds_left())))
            if not leads:
                run.check()

    # --- The workers ------------------------------------------------------------------------------------------

    def _start_threads(self) -> None:
        for number in range(len(self._threads), self.workers):
            thread = threading.Thread(target=self._work, args=(number,), name=f"search-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)  # only then: a thread that has not begun cannot be waited for

    def _work(self, number: int) -> None:
        """What a worker thread runs: wait for a search, take part in it, wait for the next one."""
        finished: RunningSearch | None = None
        while True:
            with self._changed:
                while not self._closing and (self._run is None or self._run is finished or self._is_spare(number)):
                    self._changed.wait()
                if self._closing:
                    return
                run, tree = self._run, self.tree
                self._holding += 1
            assert run is not None
            assert tree is not None
            try:
                self._take_part(run, tree.space, number)
            except BaseException as error:
                with self._changed:
                    run.fail(error)
                    self._changed.notify_all()
            finished = run if run.reason is not None else None
            tree = None  # who waits holds no tree: its memory may be wanted for another
            with self._changed:
                self._holding -= 1
                self._changed.notify_all()

    def _is_spare(self, number: int) -> bool:
        """Whether this worker has to rest."""
        most = self.workers if self._run is None else self._run.most_workers
        return number >= min(self.workers, self._most_workers, most)

    def _take_part(self, run: RunningSearch, space: Workspace, number: int) -> None:
        """Iterate (iteration.py) each of a worker's requests in turn, the oldest first, until the search is over, or
        the worker has to rest and has nothing under way."""
        requests, leads, is_spare = space.requests_of(number), run.course.leads, False
        while not is_spare or any(each.under_way for each in requests):
            for buffers in requests:
                collect(space, buffers)
                with self._lock:
                    if run.reason is not None:
                        return  # what is under way when a search ends is lost; the next one settles the tree
                    is_spare = number >= self._most_workers  # how many there are at all does not change during a search
                    self._advance(run, space, requests, buffers, is_spare)
                    if run.reason is not None:
                        self._changed.notify_all()
                        return
                if buffers.asked > 0:
                    submit(space, buffers)
                if leads:
                    with self._lock:
                        self._follow(run)

    def _follow(self, run: RunningSearch) -> None:
        """Report, or end the search, where the course does so before these leaves are in the tree."""
        assert self.tree is not None
        for _ in run.course.due_reports(run.steps, run.visits):
            if run.request.report is not None:
                run.request.report.callback(take_snapshot(self.tree, self._parameters, run))
        if run.course.is_over(run.steps):
            run.end(run.course.stop_reason())
            self._changed.notify_all()

    def _advance(
        self,
        run: RunningSearch,
        space: Workspace,
        requests: list[WorkerBuffers],
        buffers: WorkerBuffers,
        is_spare: bool,
    ) -> None:
        """Expand the leaves of one of a worker's requests, and select new ones if search and worker go on."""
        run.check()
        if buffers.generation != self._generation:
            buffers.generation = self._generation
            buffers.under_way = buffers.asked = 0
        leaves, asked = buffers.under_way, buffers.asked
        room, left = SELECT_NOTHING, NO_CHECK
        if run.reason is None and not is_spare:
            # Where the worker itself computes, it has one request and all the room there is.
            room = run.room() if len(requests) == 1 else self._room(run, space, buffers)
            left = self._visits_left(run, leaves)
        visits, outcome = advance(space, buffers, room, left)
        run.steps += 1
        run.visits += visits
        if asked > 0:
            run.batches[asked] += 1
        run.in_flight += buffers.under_way - leaves
        self._outstanding += buffers.under_way - leaves
        if leaves > 0 and self._waiting > 0:
            self._changed.notify_all()
        if buffers.under_way == 0:
            run.check()
            if outcome == DECIDED:
                run.end(StopReason.DECIDED)
            elif run.reason is not None or is_spare:
                return
            elif outcome == FULL:
                self._make_room(run, space)
            elif (outcome == COLLISION or min(room, run.room()) <= 0) and not any(each.under_way for each in requests):
                self._wait_for_others()

    def _room(self, run: RunningSearch, space: Workspace, buffers: WorkerBuffers) -> int:
        """How many visits a request of a device may begin now.

        As many leaves are under way as it wants, but few in a small tree and where few visits are to come. A request
        is whole or waits: each call of the device costs something, and is padded to a size that whole requests fill.
        """
        share = space.evaluator.fair_batch(len(buffers.leaves))
        most = share * space.evaluator.requests_in_flight * min(self.workers, self._most_workers)
        most = min(most, run.most_leaves, LEAVES_AT_FIRST + run.visits // VISITS_FOR_ANOTHER)
        if most < SMALL_REQUEST:
            share = min(share, SMALLEST_REQUEST)
        while share > SMALL_REQUEST and 2 * share > most:
            share //= 2  # rather two requests, of which one is prepared while the device computes the other
        wanted = min(run.room(), share, most)
        return wanted if run.in_flight - buffers.under_way + wanted <= most else 0

    def _visits_left(self, run: RunningSearch, leaves: int) -> float:
        """The most visits that may still come after these `leaves`, where it is time to see whether they can change the
        move. Without time to be saved as many as can be: then only a move without alternatives is decided."""
        visits, limits = run.visits + leaves, run.request.limits
        if not limits.may_stop_early or leaves == 0 or visits < self._next_look or run.course.leads:
            return NO_CHECK
        self._next_look = visits + DECIDED_EVERY
        return min(run.visits_left(leaves) if limits.saves_time else float("inf"), 1e9)

    def _wait_for_others(self) -> None:
        """Wait until an evaluation comes back."""
        self._waiting += 1
        self._changed.wait(POLL_SECONDS)
        self._waiting -= 1

    def _make_room(self, run: RunningSearch, space: Workspace) -> None:
        """Drop the nodes that the root does not lead to. End the search if these are too few or time is short."""
        assert self.tree is not None
        before = int(space.tree.used[NODES])
        self._abandon_outstanding()
        run.in_flight = 0
        is_done = self.tree.collect_garbage(reuse.reachable(space.tree), run.seconds_left(), run.course)
        if not is_done or space.tree.used[NODES] > FULL_SHARE * before:
            run.end(StopReason.MEMORY)


_open_searches: weakref.WeakSet[Search] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Stop the threads of searches that nobody closed: a network that runs while the process ends would crash it."""
    for search in list(_open_searches):
        search.close()
