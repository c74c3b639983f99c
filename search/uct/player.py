"""The players that need no network: `rave`, and `uct`, which does without all-moves-as-first values.

All threads share one tree, which is kept from move to move. Each thread runs iterations (`simulate`, iteration.py) in
slices and without the GIL, while the calling thread watches the limits.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import numpy as np

from go_rules.game import Game, Move
from go_rules.machine.cores import usable_cores
from go_rules.points import BLACK, N_POINTS, NO_POINT, PASS, WHITE
from go_rules.random import drawn_seed
from go_rules.superko import new_seen, seen_refill
from nets.evaluator import Evaluator
from search.game_line import GameLine
from search.playouts.budget import Budget
from search.playouts.ending import choose_point
from search.playouts.playout import new_policy, new_tools, policy_of
from search.playouts.root import set_root
from search.playouts.threads import Threads
from search.request import Limits, SearchRequest, excluded_until
from search.result import SearchResult
from search.uct.iteration import new_buffers, new_context, simulate
from search.uct.parameters import MAX_DEPTH, UctParameters
from search.uct.result import summarise, visits_lead
from search.uct.tree import NODE, ROOT, children_of, copy_subtree, new_nodes

KEPT_SHARE = 0.1
"""After a move was played, the ownership and scores of earlier playouts count for this share."""


class UctPlayer:
    """A `Player` that searches by UCT, with or without RAVE. Playouts evaluate positions; there is no network."""

    def __init__(
        self,
        name: str = "rave",
        parameters: UctParameters | None = None,
        workers: int = 0,
        seed: int = -1,
    ) -> None:
        """`workers`: how many threads search; 0 stands for one on each core. `seed`: with one worker and a limit of
        visits, the same seed gives the same search; a negative one is new each time."""
        self.name = name
        self.evaluator: Evaluator | None = None
        self.workers = workers or usable_cores()
        base = drawn_seed(seed)
        self._policy = new_policy()
        self.buffers = [new_buffers(new_tools(base * 1000 + i, self._policy)) for i in range(self.workers)]
        self._threads = Threads(self.workers, name)
        self._line = GameLine()
        self.parameters = parameters or UctParameters()

    @property
    def parameters(self) -> UctParameters:
        """The parameters of the next search. Assigning others forgets the tree."""
        return self._parameters

    @parameters.setter
    def parameters(self, parameters: UctParameters) -> None:
        self._parameters = parameters
        self._policy[:] = policy_of(parameters)
        self._context = new_context(parameters)
        self._capacity = max(2 * N_POINTS * self.workers, int(parameters.memory_mb * 1e6) // NODE.itemsize)
        self.clear()

    # --- The Player interface ---------------------------------------------------------------------------------

    def warm_up(self, width: int, height: int) -> None:
        """Compile every kernel of a search: one compiled version serves all boards and rules."""
        game = Game(width, height)
        self.search(SearchRequest(game, BLACK, Limits(visits=1)))
        game.play(BLACK, PASS)
        for visits in (2, 3):  # the second search keeps what the first has found
            self.choose(game, self.search(SearchRequest(game, WHITE, Limits(visits=visits))))
        self.clear()

    def search(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. A search for analysis explores more."""
        started = time.perf_counter()
        game, colour, limits, analysis = request.game, request.colour, request.limits, request.analysis
        known = self.parameters
        self._context.settings["exploration"] = max(known.exploration, known.analysis_exploration if analysis else 0.0)
        self._set_root(request)
        self._context.banned[:] = np.minimum(excluded_until(request.filter), MAX_DEPTH)
        self._context.stop[0] = 0
        before = int(self._nodes[ROOT]["visits"])
        if self._nodes[ROOT]["children"] == 0:
            self.buffers[0].room[:] = 1, self._capacity
            simulate(self._nodes, self._context, self.buffers[0], 1)
            self._used = int(self.buffers[0].room[0])
        self._share_room()
        first = int(self._nodes[ROOT]["visits"])
        most = limits.visits_from(before)
        may_stop = limits.may_stop_early and limits.unused_time_carries_over and known.early_stop and not analysis
        budget = Budget(
            None if most is None else most - first,
            self._context.stop,
            (lambda: visits_lead(self._nodes)) if may_stop else None,
            self.workers,
        )

        def snapshot() -> SearchResult:
            return summarise(
                game,
                colour,
                self._nodes,
                self._context.banned[colour],
                [each.playouts for each in self.buffers],
                seconds=time.perf_counter() - started,
                new_visits=int(self._nodes[ROOT]["visits"]) - before,
                reason=budget.reason,
            )

        self._threads.run(self._work, budget, started, request, snapshot)
        return snapshot()

    def choose(self, game: Game, result: SearchResult) -> int:
        """Choose the most visited move, or pass or give up as ending.py says."""
        return choose_point(game, result, self.parameters)

    def clear(self) -> None:
        """Forget the tree of the last search."""
        self._nodes = new_nodes(1)
        self._used = 0
        self._line.forget()
        self._colour = BLACK

    def close(self) -> None:
        """End the threads and forget the tree."""
        self._context.stop[0] = 1
        self._threads.close()
        self.clear()

    # --- The root ---------------------------------------------------------------------------------------------

    def _set_root(self, request: SearchRequest) -> None:
        """Make the requested position the root, keeping what the tree knows of it."""
        game, colour = request.game, request.colour
        owner = game.identity(), request.filter
        moves = self._line.moves_to(request, owner)
        index = None if moves is None else self._find(request, moves)
        if index is not None and self._nodes[index]["children"] == 0:
            index = None  # its visits, of the end of the game or of a long line, would leave none for its moves
        nodes = None
        if index is not None:
            with contextlib.suppress(MemoryError):  # then there is room for one tree, and not for two
                nodes = new_nodes(self._capacity)
        if nodes is None:
            index = None
            self.clear()
            nodes = self._new_nodes()
        old, self._nodes = self._nodes, nodes
        self._used = 1
        if index is None:
            self._forget_totals(0.0)
        else:
            self._used = int(copy_subtree(self._nodes, old, index))
            self._nodes[ROOT]["move"] = NO_POINT
            self._forget_totals(1.0 if index == ROOT else KEPT_SHARE)
        self._line.stand_at(game, owner)
        self._colour = colour

        set_root(self._context.root[0], game, colour)
        self._context.rules[0] = game.record
        seen = new_seen(game.length + MAX_DEPTH)
        seen_refill(seen, game.keys)
        self._context = self._context._replace(seen=seen)

    def _new_nodes(self) -> np.ndarray:
        """Room for a tree, less where the machine has less. Raises MemoryError if it has almost none."""
        while True:
            try:
                return new_nodes(self._capacity)
            except MemoryError:
                if self._capacity <= 2 * N_POINTS * self.workers:
                    raise
                self._capacity = max(2 * N_POINTS * self.workers, self._capacity // 2)

    def _find(self, request: SearchRequest, moves: Sequence[Move]) -> int | None:
        """The node of the requested position in the tree, if these moves of the game lead there."""
        to_play = self._colour
        index: int | None = ROOT
        for move in moves:
            index = self._child(index, move.point) if index is not None and move.colour == to_play else None
            to_play = 3 - to_play
        return index if to_play == request.colour and self._used > 1 else None

    def _child(self, index: int, point: int) -> int | None:
        children = children_of(self._nodes, index)
        found = np.flatnonzero(self._nodes["move"][children] == point)
        return int(children.start + found[0]) if len(found) else None

    def _forget_totals(self, kept: float) -> None:
        for each in self.buffers:
            each.playouts.totals[:] *= kept
            each.playouts.ownership[:] = (each.playouts.ownership * kept).astype(np.int64)

    # --- Running ----------------------------------------------------------------------------------------------

    def _share_room(self) -> None:
        """Give each thread its part of the free nodes."""
        free = (self._capacity - self._used) // self.workers
        for i, each in enumerate(self.buffers):
            each.room[:] = self._used + i * free, self._used + (i + 1) * free

    def _work(self, thread: int, budget: Budget) -> None:
        """One thread's life: slices of iterations until the budget is used up."""
        while iterations := budget.take():
            simulate(self._nodes, self._context, self.buffers[thread], len(iterations))
