"""The search: a tree that is kept from one position of a game to the next, and iterations until a limit is reached.

Two kinds of leaves make two loops. Playouts run in threads that share the tree, each of them whole iterations in a
kernel. A network evaluates several leaves at once, which one thread collects; virtual losses keep them apart. The
result is the root's children as moves, best first, each with its principal variation.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Move
from go_rules.points import BLACK, N_POINTS, NO_POINT, WHITE, board_points
from go_rules.random import drawn_seed
from nets.evaluator import Evaluator
from nets.features import AT_ROOT, IN_TREE
from nobi_machine.memory import MEGABYTE, usable_cores
from search.request import GameLine, SearchRequest
from search.result import MoveInfo, RawEvaluation, SearchResult, StopReason, winrate_radius
from search.textbook.limits import SharedLimits, Threads
from search.textbook.network import LeafBatch, add_noise, drop_useless, raw_evaluation
from search.textbook.parameters import AlphaZeroParameters, PlayoutParameters, TreeParameters, UctParameters
from search.textbook.playouts.playout import GUIDED, new_tools
from search.textbook.schedules import DONE, WAIT, ByRule
from search.textbook.tree import (
    NODE,
    NONE,
    ROOT,
    children_of,
    copy_subtree,
    new_nodes,
    pack_children,
    place_of_children,
)
from search.textbook.walk import (
    COLLISION,
    FULL,
    LEAF,
    NETWORK,
    PLAYOUT,
    expand,
    new_buffers,
    new_context,
    place_root,
    seek_leaf,
    simulate,
)

PV_LENGTH = 50


def summarise(nodes: NDArray[np.void], colour: int, schedule: ByRule, score_stdev: float, **more: Any) -> SearchResult:
    """Read the tree into a result for `colour`, to move at the root. `more`: the result's other fields.

    `score_stdev`: of the position, in points. A move without visits has the winrate and the score of the position.
    """
    first = place_of_children(nodes).start
    top = _copy_of_top(nodes)
    children, worth, choice = children_of(top), schedule.worth(top), schedule.choice(top)
    sign = 1.0 if colour == WHITE else -1.0
    total = float(children["prior"].sum())
    priors = children["prior"] / total if total > 0.0 else np.full(len(children), 1.0 / max(1, len(children)))
    moves = []
    for order, i in enumerate(np.lexsort((-priors, -schedule.ranking(top))).tolist()):
        child = children[i]
        n = int(child["visits"])
        winrate = float(child["wins"]) / n if n else worth.value
        score = sign * (float(child["score"]) / n if n else worth.score)
        radius = winrate_radius(winrate, n)
        pv, pv_visits = principal_variation(nodes, first + i)
        moves.append(
            MoveInfo(
                point=int(child["move"]),
                visits=n,
                edge_visits=n,
                winrate=winrate,
                utility=2.0 * winrate - 1.0,
                score_mean=score,
                score_stdev=score_stdev,
                lead=score,
                prior=float(priors[i]),
                lcb=winrate - radius,
                utility_lcb=2.0 * (winrate - radius) - 1.0,
                weight=float(n),
                order=order,
                pv=pv,
                pv_visits=pv_visits,
                pv_edge_visits=pv_visits,
                choice=float(choice[i]),
            )
        )
    visits = int(top[ROOT]["visits"])
    return SearchResult(
        colour=colour,
        visits=visits,
        winrate=worth.value,
        utility=2.0 * worth.value - 1.0,
        score_mean=sign * worth.score,
        score_stdev=score_stdev,
        lead=sign * worth.score,
        weight=float(max(1, visits)),
        moves=tuple(moves),
        **more,
    )


def _copy_of_top(nodes: NDArray[np.void]) -> NDArray[np.void]:
    """The root and its children as they are now, while threads may go on: a tree of its own."""
    children = children_of(nodes)
    top = new_nodes(1 + len(children))
    top[ROOT], top[1:] = nodes[ROOT], children
    top[ROOT]["children"] = pack_children(1, len(children))
    return top


def principal_variation(nodes: NDArray[np.void], index: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Follow the most visited moves from a node on. Returns its move and theirs, and the visits of each."""
    moves, visits = [int(nodes[index]["move"])], [int(nodes[index]["visits"])]
    while len(moves) < PV_LENGTH:
        counts = children_of(nodes, index)["visits"]
        if not counts.any():
            break
        index = place_of_children(nodes, index).start + int(counts.argmax())
        moves.append(int(nodes[index]["move"]))
        visits.append(int(nodes[index]["visits"]))
    return tuple(moves), tuple(visits)


SLICE = 128
"""Iterations by playouts that a thread takes at a time."""
SLICE_ALONE = 16
"""Those after which a thread looks at the clock that has to do so itself: about ten milliseconds."""

KEPT_SHARE = 0.1
"""After a move was played, the ownership and scores of earlier leaves count for this share."""

Parameters = PlayoutParameters | AlphaZeroParameters

MakeSchedule = Callable[["TreeSearch", "int | None"], ByRule]
"""Plans a search whose root is evaluated: from the number of its iterations, None where that is not known."""


class TreeSearch:
    """A search with its tree."""

    def __init__(
        self,
        name: str,
        parameters: Parameters,
        rule: int,
        make_schedule: MakeSchedule,
        evaluator: Evaluator | None,
        workers: int,
        seed: int,
    ) -> None:
        """`rule`: of selection (rules.PUCT, ...). The rest is as in `TextbookPlayer`."""
        self.evaluator = evaluator
        self.leaf = PLAYOUT if evaluator is None else NETWORK
        self.threads = Threads(workers or usable_cores(), name)
        base = drawn_seed(seed)
        self.generator = np.random.default_rng(base)
        searching = self.threads.number if evaluator is None else 1
        self.buffers = [new_buffers(new_tools(base * 1000 + i, GUIDED)) for i in range(searching)]
        self._rule, self._make_schedule = rule, make_schedule
        self._line = GameLine()
        self._speed = 0.0
        """Iterations in a second of the last search; 0 where that is not known."""
        self.use(parameters)

    def use(self, parameters: Parameters) -> None:
        """Search with other parameters from now on. This forgets the tree."""
        self.parameters = parameters
        self.context = new_context(parameters, self._rule, self.leaf)
        least = 2 * N_POINTS * len(self.buffers)
        memory = parameters.memory * MEGABYTE if isinstance(parameters, TreeParameters) else 0
        self._least, self._capacity = least, max(least, memory // NODE.itemsize)
        self.clear()

    def clear(self) -> None:
        """Forget the tree and its game."""
        self.nodes = new_nodes(1)
        self.used = 0
        """How many nodes a search begins with, the root included."""
        self._colour = BLACK
        self._line.forget()
        self._batch: LeafBatch | None = None

    def close(self) -> None:
        """End the threads and forget the tree."""
        self.context.stop[0] = 1
        self.threads.close()
        self.clear()

    def run(self, request: SearchRequest) -> SearchResult:
        """Search as `Player.search` says. Raises EvaluatorError."""
        try:
            return self._run(request)
        except BaseException:
            self.clear()  # iterations may be in flight for ever
            raise

    def _run(self, request: SearchRequest) -> SearchResult:
        started = time.perf_counter()
        parameters, limits = self.parameters, request.limits
        if isinstance(parameters, UctParameters):
            least = parameters.analysis_exploration if request.analysis else 0.0
            self.context.settings["exploration"] = max(parameters.exploration, least)
        steps = self._take_root(request)
        before = int(self.nodes[ROOT]["visits"])
        raw = self._begin(request, steps)
        course, most = request.course, limits.visits_from(before)
        if course.leads and course.by_visits:
            most = course.visits
        left = None if most is None else most - int(self.nodes[ROOT]["visits"])
        run = SharedLimits(request, started, left, self.context.stop)
        course.expected = course.expected if course.leads else run.expected(self._speed)
        schedule = self._make_schedule(self, course.expected)
        if schedule.may_stop_early and self._may_stop_early(request):
            run.lead = lambda: schedule.lead(self.nodes)
        evaluations = 0 if self._batch is None else self._batch.evaluations - 1

        def snapshot() -> SearchResult:
            new_visits = int(self.nodes[ROOT]["visits"]) - before
            return summarise(
                self.nodes,
                request.colour,
                schedule,
                self._score_stdev() if raw is None else raw.score_stdev,
                ownership=self._ownership(request),
                seconds=time.perf_counter() - started,
                new_visits=new_visits,
                evaluations=new_visits if self._batch is None else self._batch.evaluations - evaluations,
                reason=run.reason,
                raw=raw,
            )

        if self._batch is not None:
            self._collect(schedule, self._batch, run, snapshot)
        elif self.threads.number == 1:
            self._play_out_alone(run, snapshot)
        else:
            self.threads.run(self._play_out, run, snapshot)
        result = snapshot()
        course.end(run.steps, 0, result)
        if result.new_visits > 1:
            self._speed = result.new_visits / max(result.seconds, 1e-6)
        return result

    # --- The root ---------------------------------------------------------------------------------------------

    def _take_root(self, request: SearchRequest) -> int:
        """Make the requested position the root, and keep what the tree knows of it.

        Returns how many moves the game has gone on since the search before, NONE if nothing is known of the position.
        """
        game = request.game
        owner = game.identity(), game.record.item(), request.filter
        moves = self._line.moves_to(request, owner)
        index = NONE if moves is None else self._find(request, moves)
        if index != NONE and self.nodes[index]["children"] == 0:
            index = NONE  # its visits, of the end of the game or of a long line, would leave none for its moves
        nodes = None
        if index != NONE:
            with contextlib.suppress(MemoryError):  # then there is room for one tree, and not for two
                nodes = new_nodes(self._capacity)
                self.used = int(copy_subtree(nodes, self.nodes, index))
                nodes[ROOT]["move"] = NO_POINT
        if nodes is None:
            index = NONE
            self.nodes = new_nodes(1)  # before there is another one
            nodes = self._new_nodes()
            self.used = 1
        self.nodes = nodes
        self._line.stand_at(game, owner)
        self._colour = request.colour
        for each in self.buffers:
            self.context = place_root(self.context, each, request)
        self.context.stop[0] = 0
        return NONE if index == NONE or moves is None else len(moves)

    def _find(self, request: SearchRequest, moves: Sequence[Move]) -> int:
        """The node of the requested position, which `moves` lead to; NONE if the tree does not have it."""
        if self.used == 0 or (self.leaf == NETWORK and moves and request.game.position["passes"] > 0):
            return NONE  # a pass at the old root did not end the game for a network, and at the new root it would have
        colour, index = self._colour, ROOT
        for move in moves:
            found = np.flatnonzero(children_of(self.nodes, index)["move"] == move.point)
            if move.colour != colour or len(found) == 0:
                return NONE
            index = place_of_children(self.nodes, index).start + int(found[0])
            colour = 3 - colour
        return index if colour == request.colour else NONE

    def _new_nodes(self) -> NDArray[np.void]:
        """Room for a tree, less where the machine has less. Raises MemoryError if it has almost none."""
        while True:
            try:
                return new_nodes(self._capacity)
            except MemoryError:
                if self._capacity <= self._least:
                    raise
                self._capacity = max(self._least, self._capacity // 2)

    def _begin(self, request: SearchRequest, steps: int) -> RawEvaluation | None:
        """Have the root evaluated, by a first playout or by the network, and give it its children.

        Returns the network's own evaluation.
        """
        kept = 0.0 if steps == NONE else 1.0 if steps == 0 else KEPT_SHARE
        first = self.buffers[0]
        first.room[:] = self.used, self._capacity
        if self.evaluator is None:
            for each in self.buffers:
                each.playouts.totals[:] *= kept
                each.playouts.ownership[:] = (each.playouts.ownership * kept).astype(np.int64)
            if steps == NONE:
                simulate(self.nodes, self.context, first, 1)
            used = int(first.room[0])
            share = (self._capacity - used) // len(self.buffers)
            for i, each in enumerate(self.buffers):
                each.room[:] = used + i * share, used + (i + 1) * share
            return None
        return self._evaluate_root(request, kept)

    def _evaluate_root(self, request: SearchRequest, kept: float) -> RawEvaluation:
        """Have the network evaluate the root, for the first time or once more. Returns its own evaluation."""
        assert self.evaluator is not None
        assert isinstance(self.parameters, AlphaZeroParameters)
        size = (request.game.width, request.game.height)
        first, nodes = self.buffers[0], self.nodes
        if self._batch is None or self._batch.size != size:
            self._batch = LeafBatch(self.evaluator, self.parameters, size, len(first.path), self.generator)
        batch = self._batch
        batch.count = 0
        batch.forget_owners(kept)
        if nodes[ROOT]["children"] == 0:
            children = int(expand(nodes, self.context, first, first.length[0] - 1, np.int64(0)))
        else:
            children = int(nodes[ROOT]["children"])
        first.path[0], first.length[1] = ROOT, first.length[0]
        nodes[ROOT]["in_flight"] += 1
        batch.add(self.context, first, 0, children, AT_ROOT)
        evaluation = batch.finish(nodes, self.context, first, self.threads)
        raw = raw_evaluation(evaluation, nodes, *size)
        drop_useless(nodes, request.game, request.colour)
        if self.parameters.dirichlet_noise and not request.analysis:
            add_noise(nodes, self.parameters, self.generator)
        return raw

    # --- Iterations -------------------------------------------------------------------------------------------

    def _play_out(self, thread: int, run: SharedLimits) -> None:
        """One thread's life: slices of iterations until there is nothing left to do."""
        while visits := run.take(SLICE, SLICE * (self.threads.number - 1)):
            simulate(self.nodes, self.context, self.buffers[thread], visits)

    def _play_out_alone(self, run: SharedLimits, snapshot: Callable[[], SearchResult]) -> None:
        """Do so in the calling thread, and look at the clock between slices: so a search can be had again."""
        run.look(snapshot)
        while visits := run.take(SLICE):
            for first in range(0, visits, SLICE_ALONE):
                simulate(self.nodes, self.context, self.buffers[0], min(SLICE_ALONE, visits - first))
                run.look(snapshot)

    def _collect(
        self, schedule: ByRule, batch: LeafBatch, run: SharedLimits, snapshot: Callable[[], SearchResult]
    ) -> None:
        """Collect leaves and have them evaluated together, again and again."""
        while True:
            run.look(snapshot)
            wanted = run.take(min(batch.room, schedule.most_in_flight(int(self.nodes[ROOT]["visits"]))))
            if wanted == 0:
                return
            begun = self._collect_some(schedule, batch, wanted, run)
            run.give_back(wanted - begun)
            if batch.count > 0:
                batch.finish(self.nodes, self.context, self.buffers[0], self.threads)

    def _collect_some(self, schedule: ByRule, batch: LeafBatch, wanted: int, run: SharedLimits) -> int:
        """Walk to up to `wanted` leaves. Returns how many walks came to one, or to a node whose value is known."""
        nodes, buffers = self.nodes, self.buffers[0]
        for begun in range(wanted):
            child = schedule.next_child(nodes, batch.count)
            if child == DONE:
                run.end(StopReason.VISITS)
            if child in (DONE, WAIT):
                return begun
            forced = child if child == NONE else place_of_children(nodes).start + child
            outcome, depth, children = seek_leaf(nodes, self.context, buffers, np.int64(forced))
            if outcome == FULL:
                run.end(StopReason.MEMORY)
            if outcome in (FULL, COLLISION):
                return begun
            schedule.begun(child)
            if outcome == LEAF:
                batch.add(self.context, buffers, depth, children, IN_TREE)
        return wanted

    # --- What is known ----------------------------------------------------------------------------------------

    def _may_stop_early(self, request: SearchRequest) -> bool:
        limits = request.limits
        saves = limits.unused_time_carries_over if self.leaf == PLAYOUT else limits.saves_time
        return saves and limits.may_stop_early and self.parameters.early_stop and not request.analysis

    def _ownership(self, request: SearchRequest) -> NDArray[np.float32] | None:
        """[H*W]: who owns each point, +1 the side to move. Playouts know it at no cost."""
        if self._batch is not None:
            return self._batch.ownership(request.colour) if request.wants_ownership else None
        points = board_points(request.game.width, request.game.height)
        owned = np.sum([each.playouts.ownership[points] for each in self.buffers], axis=0)
        sign = 1.0 if request.colour == WHITE else -1.0
        return (sign * owned / max(self._totals()[0], 1e-9)).astype(np.float32)

    def _score_stdev(self) -> float:
        playouts, total, squares = self._totals()
        mean = total / max(playouts, 1e-9)
        return math.sqrt(max(0.0, squares / max(playouts, 1e-9) - mean * mean))

    def _totals(self) -> list[float]:
        """The playouts of all threads, the sum of their scores and that of the squares."""
        totals: list[float] = np.sum([each.playouts.totals for each in self.buffers], axis=0).tolist()
        return totals
