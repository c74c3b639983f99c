"""One search in progress, its request, what it has done so far and when it is over; and its report: a tree read into a
`SearchResult`.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import PASS, WHITE
from search.nobi.game_tree import GameTree
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.tree.nodes import ROOT, decode_priors
from search.nobi.tree.rank import rank_root, tree_ownership, variations
from search.request import SearchRequest
from search.result import MoveInfo, SearchResult, StopReason

VISITS_A_WORKER = 8
"""The fewest visits to come for each worker that searches, as in KataGo."""
FEW_VISITS, VISITS_A_LEAF = 100, 13
"""Visits to come that have one leaf evaluated at a time, and how many more it takes for another one, on a device."""

FASTER = 1.3
"""Safety factor on the measured speed, where it predicts how many visits are still to come."""


class RunningSearch:
    """A search in progress. All workers share it, and read and change it only under the search's lock."""

    def __init__(self, request: SearchRequest, first_visits: int, started: float) -> None:
        """`first_visits`: visits the root has already; `started`: time.perf_counter() when the search was asked for."""
        self.request = request
        self.started = started
        self.first_visits = first_visits
        self.visits = first_visits
        """Visits of the root."""
        self.in_flight = 0
        """Visits whose evaluation is under way."""
        self.batches: Counter[int] = Counter()
        """How often a worker had so many positions evaluated."""
        self.steps = 0
        """How many steps the workers have taken."""
        self.reason: StopReason | None = None
        """Why the search ended; None while it goes on."""
        self.error: BaseException | None = None
        """The error of a worker that failed."""
        self.course = request.course
        limits = request.limits
        self._began = time.perf_counter()
        """When the first of its visits began: the root had to be evaluated before."""
        self._visits = limits.visits_from(first_visits)
        self._deadline = None if limits.seconds is None else started + limits.seconds
        self.most_workers = max(1, self.room() // VISITS_A_WORKER)
        """How many workers may search: with few visits to come, workers in parallel select without knowing enough."""
        self.most_leaves = max(1, (self.room() - FEW_VISITS) // VISITS_A_LEAF)
        """How many leaves a device may have under way, for the same reason."""

    def room(self) -> int:
        """Return how many more visits may begin; 2^30 without a limit of visits."""
        if self._visits is None:
            return 1 << 30
        return self._visits - self.visits - self.in_flight

    def end(self, reason: StopReason) -> None:
        """End the search. The first reason given counts."""
        if self.reason is None:
            self.reason = reason

    def fail(self, error: BaseException) -> None:
        """End the search because a worker failed."""
        self.error = self.error or error
        self.end(StopReason.INTERRUPTED)

    def check(self) -> None:
        """End the search if a limit is reached, or the last step of the course that it follows."""
        if self._visits is not None and self.visits >= self._visits:
            self.end(StopReason.VISITS)
        elif self.course.leads:
            if self.course.begins_last_step(self.steps, self.visits):
                self.end(self.course.stop_reason())
        elif self.request.stop is not None and self.request.stop.is_set():
            self.end(StopReason.INTERRUPTED)
        elif self._deadline is not None and time.perf_counter() >= self._deadline:
            self.end(StopReason.TIME)

    def seconds(self) -> float:
        """Return the seconds since the search was asked for."""
        return time.perf_counter() - self.started

    def seconds_left(self) -> float:
        """Return the seconds until the time limit: infinite where there is none, negative after it."""
        return float("inf") if self._deadline is None else self._deadline - time.perf_counter()

    def visits_left(self, more: int) -> float:
        """Estimate by the speed so far the most visits that may still come before a limit; infinite without limits.

        `more`: visits that are about to be counted.
        """
        visits = self.visits + more
        left = float("inf")
        if self._visits is not None:
            left = float(self._visits - visits)
        if self._deadline is not None:
            seconds = max(time.perf_counter() - self._began, 1e-3)
            speed = FASTER * (visits - self.first_visits + 1) / seconds
            left = min(left, speed * max(0.0, self.seconds_left()))
        return left


MAX_VARIATION = 60
"""The longest principal variation, in moves."""


def take_snapshot(game_tree: GameTree, parameters: SearchParameters, run: RunningSearch) -> SearchResult:
    """Read the present state of a search into a result, with what its request asks for. Hold the search's lock."""
    space, report, node = game_tree.space, run.request.report, game_tree.root
    colour = int(node["to_play"])
    sign = 1.0 if colour == WHITE else -1.0
    owned: dict[str, Any] = {}
    if report is not None and (report.ownership or report.ownership_stdev):
        owned = _ownership(space, int(space.tree.used[ROOT]), sign, True, report.ownership_stdev)
    moves = _moves(space, parameters, sign, run.request)
    if run.request.analysis and len(game_tree.symmetries) > 1:
        moves = _with_symmetric_moves(space, moves, game_tree.symmetries)
    return SearchResult(
        colour=colour,
        visits=int(node["visits"]),
        weight=float(node["weight"]),
        moves=moves,
        seconds=run.seconds(),
        new_visits=run.visits - run.first_visits,
        evaluations=sum(size * calls for size, calls in run.batches.items()),
        batches=dict(run.batches),
        reason=run.reason or StopReason.VISITS,
        doublings=sign * float(space.context["settings"]["white_doublings"][0]),
        raw=game_tree.raw,
        **_averages(node, sign),
        **owned,
    )


def nothing_known(run: RunningSearch) -> SearchResult:
    """Make the result of a search that ended before anything was evaluated: no moves, and an even game."""
    return SearchResult(
        colour=run.request.colour,
        visits=0,
        winrate=0.5,
        utility=0.0,
        score_mean=0.0,
        score_stdev=0.0,
        lead=0.0,
        weight=0.0,
        moves=(),
        seconds=run.seconds(),
        reason=run.reason or StopReason.INTERRUPTED,
    )


def _averages(node: np.void, sign: float) -> dict[str, Any]:
    """A node's averages, the root mover's view, as fields of a result or a move."""
    score = float(node["score"])
    return {
        "winrate": min(1.0, max(0.0, 0.5 + 0.5 * sign * float(node["win_loss"]))),
        "utility": sign * float(node["utility"]),
        "score_mean": sign * score,
        "score_stdev": max(0.0, float(node["score_sq"]) - score * score) ** 0.5,
        "lead": sign * float(node["lead"]),
    }


def _ownership(space: Workspace, index: int, sign: float, mean: bool, stdev: bool) -> dict[str, Any]:
    """Mean and standard deviation below a node, the root mover's view, as fields of a result or a move: those that are
    asked for, where the tree keeps ownership."""
    if not space.with_ownership or not (mean or stdev):
        return {}
    owners, deviation = tree_ownership(space.tree, index)
    fields = {"ownership": np.float32(sign) * owners} if mean else {}
    return {**fields, "ownership_stdev": deviation} if stdev else fields


def _moves(space: Workspace, parameters: SearchParameters, sign: float, asked: SearchRequest) -> tuple[MoveInfo, ...]:
    """All root moves: those tried, best first, and then the others by prior."""
    tree, report, of_people = space.tree, asked.report, asked.likelihoods is not None
    wanted = (False, False) if report is None else (report.moves_ownership, report.moves_ownership_stdev)
    index = int(tree.used[ROOT])
    node = tree.nodes[index]
    count = int(node["n_edges"])
    ranks = np.zeros((3, space.area + 1))
    rank_root(tree, space.context, ranks)
    values = ranks[0, :count]
    _prune(values, parameters)
    passed = bool(asked.game.moves) and asked.game.moves[-1].point == PASS
    lines = [_until_the_end(line, passed) for line in _variations(space, count)]
    edges = tree.edges[int(node["edges"]) : int(node["edges"]) + count]
    children = tree.nodes[edges["child"]]
    known = edges["visits"] > 0
    if of_people:  # visits that count for a move alone (`human_weightless`)
        known |= children["visits"] > 0
    order = np.lexsort((-edges["prior"], -edges["visits"], -values))
    tried = order[(known & (edges["prior"] >= 0))[order]]
    # The confidence interval is one of utility; this is the share that winning has in it, in winrate.
    radius = max(1e-30, float(space.context["settings"][0]["utility_radius"]))
    share = 0.5 * parameters.win_loss_factor / radius
    owned = [_ownership(space, child, sign, *wanted) for child in edges["child"][tried].tolist()]
    moves = _tried(edges[tried], children[tried], ranks[:, tried], sign, share, [lines[i] for i in tried], owned)
    row = tree.priors[index]
    untried = np.flatnonzero(row)
    rest = list(zip(untried.tolist(), decode_priors(row[untried]).tolist(), strict=True))
    others = edges[~known & (edges["prior"] >= 0)]
    rest += zip(others["move"].tolist(), others["prior"].tolist(), strict=True)
    rest.sort(key=lambda item: (-item[1], item[0]))
    # Nothing is known of the position after such a move but what is known before it, as KataGo says it.
    before = _ownership(space, index, sign, *wanted) if rest else {}
    return tuple(moves) + _untried(space, node, sign, rest, len(tried), before)


def _with_symmetric_moves(
    space: Workspace, moves: tuple[MoveInfo, ...], symmetries: tuple[int, ...]
) -> tuple[MoveInfo, ...]:
    """The moves, each followed by those that a symmetry makes equal to it, about which the search knows as much."""
    place = {point: i for i, point in enumerate(space.context["points"][0, : space.area + 1].tolist())}
    points, shown, out = list(place), set[int](), list[MoveInfo]()
    for move in moves:
        for symmetry in symmetries:
            permutation = space.permutations[symmetry]
            line = tuple(points[permutation[place[point]]] for point in move.pv)
            if line[0] in shown:
                continue
            shown.add(line[0])
            out.append(
                dataclasses.replace(
                    move,
                    point=line[0],
                    pv=line,
                    order=len(out),
                    symmetry_of=move.point if symmetry else None,
                    ownership=_turned(move.ownership, permutation),
                    ownership_stdev=_turned(move.ownership_stdev, permutation),
                )
            )
    return tuple(out)


def _turned(plane: NDArray[np.float32] | None, permutation: NDArray[np.int16]) -> NDArray[np.float32] | None:
    """A plane [H*W] as a symmetry shows it, a row of symmetry_permutations."""
    if plane is None:
        return None
    out = np.empty_like(plane)
    out[permutation[:-1]] = plane
    return out


def _prune(values: NDArray[np.float64], parameters: SearchParameters) -> None:
    """Drop moves with too few visits and take a few off the others (`chosen_move_prune`, `chosen_move_subtract`).

    Both numbers are at most a 64th of the largest value.
    """
    most = float(values.max(initial=0.0)) / 64.0
    values[values < min(parameters.chosen_move_prune, most)] = 0.0
    np.maximum(values - min(parameters.chosen_move_subtract, most), 0.0, out=values)


def _tried(
    edges: NDArray[np.void],
    children: NDArray[np.void],
    ranks: NDArray[np.float64],
    sign: float,
    share: float,
    lines: list[tuple[tuple[int, ...], ...]],
    owned: list[dict[str, Any]],
) -> list[MoveInfo]:
    """Moves with visits: by their edges, nodes, `ranks` [3, moves] as `rank_root` fills them, variations, ownership."""
    # As columns, since to read a field of one record takes as long as all of a column.
    child = {name: children[name].astype(np.float64) for name in ("win_loss", "utility", "score", "score_sq", "lead")}
    winrate = np.clip(0.5 + 0.5 * sign * child["win_loss"], 0.0, 1.0)
    choice, bound, radius = ranks
    columns = {
        "visits": children["visits"],
        "edge_visits": edges["visits"],
        "winrate": winrate,
        "utility": sign * child["utility"],
        "score_mean": sign * child["score"],
        "score_stdev": np.sqrt(np.maximum(0.0, child["score_sq"] - child["score"] ** 2)),
        "lead": sign * child["lead"],
        "prior": edges["prior"],
        "lcb": winrate - radius * share,
        "utility_lcb": np.where(edges["weight"] == 0.0, -radius, bound),  # as of moves without visits
        "weight": edges["weight"],
        "no_result": children["no_result"],
        "choice": choice,
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        MoveInfo(
            point=line[0][0],
            order=order,
            pv=line[0],
            pv_visits=line[1],
            pv_edge_visits=line[2],
            **dict(zip(columns, row, strict=True)),
            **owners,
        )
        for order, (row, line, owners) in enumerate(zip(rows, lines, owned, strict=True))
    ]


def _untried(
    space: Workspace,
    node: np.void,
    sign: float,
    rest: list[tuple[int, float]],
    first: int,
    owned: dict[str, Any],
) -> tuple[MoveInfo, ...]:
    """Moves without visits, (move index, prior), are shown with their parent's values; `first` is their order."""
    settings = space.context["settings"][0]
    shared: dict[str, Any] = {
        "visits": 0,
        "edge_visits": 0,
        "lcb": 0.0,
        "utility_lcb": -2.0 * float(settings["utility_radius"]) * float(settings["lcb_stdevs"]),
        "weight": 0.0,
        "pv_visits": (0,),
        "pv_edge_visits": (0,),
        **_averages(node, sign),
        **owned,
    }
    points = space.context["points"][0].tolist()
    return tuple(
        MoveInfo(point=points[move], prior=prior, order=first + i, pv=(points[move],), **shared)
        for i, (move, prior) in enumerate(rest)
    )


def _variations(space: Workspace, count: int) -> list[tuple[tuple[int, ...], ...]]:
    """The points, visits and edge visits of the variation that starts with each of the root's edges."""
    moves = np.zeros((count, MAX_VARIATION), np.int64)
    visits = np.zeros((count, MAX_VARIATION), np.int64)
    edge_visits = np.zeros((count, MAX_VARIATION), np.int64)
    lengths = np.zeros(count, np.int64)
    variations(space.tree, space.context, np.zeros((3, space.area + 1)), moves, visits, edge_visits, lengths)
    points = space.context["points"][0, moves]
    columns = (points, visits, edge_visits)
    return [tuple(tuple(each[i, :n].tolist()) for each in columns) for i, n in enumerate(lengths.tolist())]


def _until_the_end(line: tuple[tuple[int, ...], ...], passed: bool) -> tuple[tuple[int, ...], ...]:
    """A variation up to the two passes in a row that end the game. The search goes on after them, to play out what is
    dead. `passed`: whether the last move of the game was a pass."""
    for length, point in enumerate(line[0], start=1):
        if point == PASS and passed:
            return tuple(each[:length] for each in line)
        passed = point == PASS
    return line
