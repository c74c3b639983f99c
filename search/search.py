"""The network-guided search: a tree, the threads that grow it, and when they stop.

Every worker repeats the same stages. Only the first and the last touch the tree, under the lock; everything else
runs beside the other workers, without the interpreter's lock:

    select up to `batch` leaves  ->  encode them  ->  evaluate  ->  digest the answers  ->  insert and back up
"""

from __future__ import annotations

import atexit
import dataclasses
import os
import threading
import time
import weakref
from collections.abc import Hashable

import numpy as np

from go_rules.game import Game, Move
from go_rules.points import BLACK, PASS, WHITE
from nets.evaluator import Evaluator
from search.expand import insert_all
from search.limits import Limits, MoveFilter, StopReason
from search.parameters import SearchParameters
from search.player import ReportRequest
from search.rank import is_decided
from search.report import Progress, take_snapshot
from search.result import SearchResult
from search.reuse import child_after, collect_garbage, forget_unreachable, recompute, settle
from search.root import evaluate_root, place_root, score_center
from search.root_moves import excluded_until
from search.run import Run
from search.select import COLLISION, FULL, select
from search.tree import NODES, NONE, ROOT, clear_tree, new_node
from search.workspace import Desk, Workspace

POLL_SECONDS = 0.01
"""How often the waiting thread looks whether it is told to stop."""

CLOSE_SECONDS = 1.0
"""How long a worker may take to finish an evaluation when all is to end."""

VISITS_AT_ONCE = 256
"""Visits that end without an evaluation in one hold of the lock, at most."""

DECIDED_EVERY = 16
"""Visits between two looks whether the search is decided."""

FULL_SHARE = 0.95
"""A tree of which more than this is still needed after a collection is full."""

CENTER_TOLERANCE = 0.25
"""Points by which the dynamic score's centre may be off in a tree that is kept, before all is brought up to date."""


class Search:
    """Searches positions of games with an evaluator; keeps the tree from one search to the next."""

    def __init__(self, evaluator: Evaluator, parameters: SearchParameters | None = None) -> None:
        self.evaluator = evaluator
        self._parameters = parameters or SearchParameters()
        self._seed = self._parameters.seed if self._parameters.seed >= 0 else int.from_bytes(os.urandom(6), "little")
        self._generator = np.random.default_rng(self._seed)
        self._space: Workspace | None = None
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._run: Run | None = None
        self._generation = 0
        self._outstanding = 0
        self._waiting = 0
        self._next_look = 0
        self._closing = False
        self._owner: Hashable = None
        self._moves: list[Move] = []
        self._raw: dict[str, float] = {}
        atexit.register(_close_at_exit, weakref.ref(self))

    @property
    def parameters(self) -> SearchParameters:
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: SearchParameters) -> None:
        """Used from the next search on, which starts a new tree if they differ."""
        if parameters == self._parameters:
            return
        before, self._parameters = self._parameters, parameters
        sizes = ("workers", "batch", "memory", "seed")
        if any(getattr(before, name) != getattr(parameters, name) for name in sizes):
            self._release_space()
        self.clear()

    @property
    def workers(self) -> int:
        """How many threads search."""
        return self._parameters.workers or available_cores()

    def warm_up(self, width: int, height: int) -> None:
        """Have whatever any search on such a board calls compiled or loaded, and its memory allocated."""
        game = Game(width, height)
        owners = ReportRequest(lambda _result: None, every=1e9, ownership=True, moves_ownership=True)
        first = self.run(game, BLACK, Limits(visits=8), report=owners, analysis=True).moves[0].point
        game.play(BLACK, first)
        self.run(game, WHITE, Limits(visits=8))
        space = self._space
        assert space is not None
        with self._changed:
            forget_unreachable(space.tree, space.context)
            settle(space.tree)
            recompute(space.tree, space.context)
            collect_garbage(space.tree)
        self._release_space()
        self._workspace(game, None)

    def clear(self) -> None:
        """Forget the tree and all evaluations."""
        with self._changed:
            self._abandon_outstanding()
            if self._space is not None:
                clear_tree(self._space.tree)
                self._space.cache.keys[:] = 0
            self._owner = None

    def close(self) -> None:
        """Stop the threads and release the memory."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=CLOSE_SECONDS)
        self._release_space()

    def run(
        self,
        game: Game,
        colour: int,
        limits: Limits,
        *,
        filter: MoveFilter | None = None,
        report: ReportRequest | None = None,
        analysis: bool = False,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Search the game's present position; see `Player.search`. Raises EvaluatorError."""
        started = time.perf_counter()
        space = self._workspace(game, report)
        with self._changed:
            self._take_root(space, game, colour, filter, analysis)
        self._next_look = 0
        if analysis:
            limits = dataclasses.replace(limits, may_stop_early=False)
        run = Run(limits, int(space.tree.nodes[space.tree.used[ROOT]]["visits"]), started, stop)
        self._start_threads()
        with self._changed:
            run.check()
            self._run = run
            self._changed.notify_all()
            try:
                self._await(run, space, report)
            finally:
                run.end(StopReason.INTERRUPTED)
                self._run = None
                self._changed.notify_all()
            if run.error is not None:
                raise run.error
            return self._snapshot(run, space, report)

    # --- The root ---------------------------------------------------------------------------------------------

    def _workspace(self, game: Game, report: ReportRequest | None) -> Workspace:
        """The memory for this board; new memory, and so a new tree, where the size or what is kept changes."""
        with_ownership = report is not None and (report.ownership or report.ownership_stdev or report.moves_ownership)
        space = self._space
        size = (game.width, game.height)
        if space is not None and (space.width, space.height) == size and space.with_ownership >= with_ownership:
            return space
        self._release_space()
        self._space = Workspace(
            game.width, game.height, self._parameters, self.evaluator, self.workers, self._seed, with_ownership
        )
        return self._space

    def _release_space(self) -> None:
        with self._changed:
            self._generation += 1
            self._outstanding = 0
            self._space = None
            self._owner = None

    def _take_root(self, space: Workspace, game: Game, colour: int, filter: MoveFilter | None, analysis: bool) -> None:
        """Make the game's position the root, with what an earlier search knows of it, and evaluate it."""
        tree = space.tree
        self._abandon_outstanding()
        space.set_parameters(self._parameters, analysis)
        index = self._find_root(space, game, colour, filter)
        place_root(space.context, game, colour, excluded_until(filter))
        space.set_cache_salt(game, self._parameters)
        self._owner = self._owner_of(game, filter)
        self._moves = list(game.moves)
        is_new = index == NONE
        if is_new:
            clear_tree(tree)
            index = new_node(tree, np.uint64(0), colour)
        moved = index != tree.used[ROOT]
        tree.used[ROOT] = index
        if moved and not is_new and self._parameters.subtree_bias_factor > 0:
            forget_unreachable(tree, space.context)
        if tree.used[NODES] > len(tree.nodes) // 2:
            collect_garbage(tree)
        parameters = self._parameters
        if analysis:
            parameters = dataclasses.replace(parameters, root_noise=False, root_symmetry_pruning=False)
        self._raw = evaluate_root(
            space, game, colour, parameters, self._generator, lambda expected: self._recenter(space, expected)
        )

    def _recenter(self, space: Workspace, expected: float) -> None:
        """Set the dynamic score's centre for a root whose evaluation expects this score (white's view)."""
        tree = space.tree
        node = tree.nodes[tree.used[ROOT]]
        settings = space.context["settings"]
        known = int(node["visits"]) > 0
        center = score_center(self._parameters, float(node["score"]) if known else expected, space.area**0.5)
        if not known:
            settings["score_center"] = center
        elif abs(center - float(settings["score_center"][0])) > CENTER_TOLERANCE:
            settings["score_center"] = center
            recompute(tree, space.context)

    def _find_root(self, space: Workspace, game: Game, colour: int, filter: MoveFilter | None) -> int:
        """The node of the game's position in the tree, or NONE."""
        tree = space.tree
        index = int(tree.used[ROOT])
        known = len(self._moves)
        if index == NONE or self._owner != self._owner_of(game, filter) or game.moves[:known] != self._moves:
            return NONE
        if len(game.moves) > known and (
            filter is not None or (self._parameters.conservative_pass and _pass_may_end(game))
        ):
            # Excluded moves are counted from the root, and below it the root's pass was taken to end the game.
            return NONE
        for move in game.moves[known:]:
            if int(tree.nodes[index]["to_play"]) != move.colour:
                return NONE
            position = space.area if move.point == PASS else space.points.index(move.point)
            index = int(child_after(tree, index, position))
            if index == NONE:
                return NONE
        return index if int(tree.nodes[index]["to_play"]) == colour else NONE

    def _owner_of(self, game: Game, filter: MoveFilter | None) -> Hashable:
        """What a tree depends on beside the moves."""
        frozen = None if filter is None else (tuple(filter.allow.items()), tuple(filter.avoid.items()))
        return (game.identity(), game.record.tobytes(), frozen)

    def _abandon_outstanding(self) -> None:
        """Whatever workers still have at the evaluator will be dropped."""
        if self._outstanding > 0:
            self._generation += 1
            self._outstanding = 0
            if self._space is not None:
                settle(self._space.tree)

    # --- The calling thread -----------------------------------------------------------------------------------

    def _await(self, run: Run, space: Workspace, report: ReportRequest | None) -> None:
        """Wait for the end, reporting on the way."""
        next_report = float("inf") if report is None else run.started + report.every
        while run.reason is None:
            now = time.perf_counter()
            if report is not None and now >= next_report:
                snapshot = self._snapshot(run, space, report)
                self._changed.release()
                try:
                    report.callback(snapshot)
                finally:
                    self._changed.acquire()
                next_report = max(next_report + report.every, time.perf_counter())
            self._changed.wait(max(0.0, min(POLL_SECONDS, next_report - now, run.seconds_left())))
            run.check()

    def _snapshot(self, run: Run, space: Workspace, report: ReportRequest | None) -> SearchResult:
        progress = Progress(
            run.seconds(), run.visits - run.first_visits, run.evaluations, run.reason or StopReason.VISITS, self._raw
        )
        return take_snapshot(space, self._parameters, progress, report)

    # --- The workers ------------------------------------------------------------------------------------------

    def _start_threads(self) -> None:
        for number in range(len(self._threads), self.workers):
            thread = threading.Thread(target=self._work, args=(number,), name=f"search-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self, number: int) -> None:
        """A worker's life: wait for a search, take part in it, wait for the next."""
        finished: Run | None = None
        while True:
            with self._changed:
                while not self._closing and (self._run is None or self._run is finished or number >= self.workers):
                    self._changed.wait()
                if self._closing:
                    return
                run, space = self._run, self._space
            assert run is not None
            assert space is not None
            try:
                while self._iterate(run, space, space.desks[number]):
                    pass
            except BaseException as error:
                with self._changed:
                    run.fail(error)
                    self._changed.notify_all()
            finished = run

    def _iterate(self, run: Run, space: Workspace, desk: Desk) -> bool:
        """One round of a worker. False once the search is over."""
        with self._changed:
            leaves = self._select(run, space, desk)
            if run.reason is not None:
                self._changed.notify_all()
                return False
            if leaves == 0:
                return True
            generation = self._generation
            missing = space.look_up(desk, leaves)
            if missing == 0:
                self._insert(run, space, desk, leaves, missing)
                return True
        space.evaluate_missing(desk, missing)
        with self._changed:
            if generation == self._generation:
                self._insert(run, space, desk, leaves, missing)
        return True

    def _select(self, run: Run, space: Workspace, desk: Desk) -> int:
        """Collect leaves for one round; 0 if there is nothing to evaluate this time."""
        run.check()
        room = run.room()
        if run.reason is not None:
            return 0
        if room <= 0:
            self._wait_for_others()
            return 0
        wanted = min(len(desk.leaves), room)
        leaves, counted, outcome = select(space.tree, space.context, desk.work, wanted, min(room, VISITS_AT_ONCE))
        run.visits += counted
        run.in_flight += leaves
        self._outstanding += leaves
        if leaves == 0:
            if outcome == FULL:
                self._make_room(run, space)
            elif outcome == COLLISION:
                self._wait_for_others()
            run.check()
        return int(leaves)

    def _insert(self, run: Run, space: Workspace, desk: Desk, leaves: int, missing: int) -> None:
        """Add evaluated leaves to the tree, `missing` of them by the evaluator, and see whether that is enough."""
        run.visits += insert_all(space.tree, space.context, desk.work, leaves)
        run.in_flight -= leaves
        run.evaluations += missing
        self._outstanding -= leaves
        space.remember(desk, missing)
        run.check()
        if run.reason is None and run.limits.may_stop_early:
            self._stop_if_decided(run, space)
        if self._waiting > 0 or run.reason is not None:
            self._changed.notify_all()

    def _wait_for_others(self) -> None:
        """Nothing to do until an evaluation comes back."""
        self._waiting += 1
        self._changed.wait(POLL_SECONDS)
        self._waiting -= 1

    def _make_room(self, run: Run, space: Workspace) -> None:
        """Drop what the root does not lead to; end the search if that is nothing."""
        before = int(space.tree.used[NODES])
        self._abandon_outstanding()
        run.in_flight = 0
        collect_garbage(space.tree)
        if space.tree.used[NODES] > FULL_SHARE * before:
            run.end(StopReason.MEMORY)

    def _stop_if_decided(self, run: Run, space: Workspace) -> None:
        """Save time that would not change the move. Where only visits count, there is none to be saved."""
        if run.visits < self._next_look:
            return
        self._next_look = run.visits + DECIDED_EVERY
        left = run.visits_left() if run.limits.seconds is not None else float("inf")
        if is_decided(space.tree, min(left, 1e9)):
            run.end(StopReason.DECIDED)


def _close_at_exit(reference: weakref.ref[Search]) -> None:
    """Stop the threads of a search that nobody closed: a network that runs while the process ends would crash it."""
    search = reference()
    if search is not None:
        search.close()


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pass_may_end(game: Game) -> bool:
    return bool(game.position["passes"] >= 1)
