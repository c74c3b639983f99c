"""The result of a UCT search: reads the tree into a SearchResult."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import WHITE, board_points
from search.result import MoveInfo, SearchResult, StopReason
from search.uct.iteration import ThreadBuffers
from search.uct.tree import ROOT, children_of

PV_LENGTH = 20
PV_VISITS = 4
"""A principal variation ends before a move with fewer visits."""


def visits_lead(nodes: NDArray[np.void]) -> int:
    """By how many visits the root's first move is ahead of the second."""
    visits = np.sort(nodes["visits"][children_of(nodes, ROOT)])
    return int(visits[-1] - visits[-2]) if len(visits) > 1 else int(visits.sum())


def summarise(
    game: Game,
    colour: int,
    nodes: NDArray[np.void],
    buffers: Sequence[ThreadBuffers],
    *,
    seconds: float,
    new_visits: int,
    reason: StopReason,
) -> SearchResult:
    """Read the result for `colour` to move at the root. `buffers`: those of all threads, for ownership and scores."""
    sign = 1.0 if colour == WHITE else -1.0
    playouts, score_sum, square_sum = np.sum([each.totals for each in buffers], axis=0).tolist()
    playouts = max(playouts, 1e-9)
    mean = score_sum / playouts
    stdev = math.sqrt(max(0.0, square_sum / playouts - mean * mean))
    points = board_points(game.width, game.height)
    ownership = sign * np.sum([each.ownership[points] for each in buffers], axis=0) / playouts

    places = children_of(nodes, ROOT)
    children = nodes[places].copy()
    visits = children["visits"].astype(np.int64)
    total = max(1, int(visits.sum()))
    winrate = float(children["wins"].sum()) / total if visits.any() else 0.5
    prior = children["prior_wins"] / max(1e-9, float(children["prior_wins"].sum()))
    order = np.lexsort((-prior, -visits))
    moves = []
    for rank, i in enumerate(order):
        child = children[i]
        n = int(visits[i])
        value = float(child["wins"]) / n if n else winrate
        score = sign * float(child["score"]) / n if n else sign * mean
        radius = 1.96 * math.sqrt(max(0.0, value * (1.0 - value)) / n) if n else 1.0
        pv, pv_visits = _principal_variation(nodes, places.start + int(i))
        moves.append(
            MoveInfo(
                point=int(child["move"]),
                visits=n,
                edge_visits=n,
                winrate=value,
                utility=2.0 * value - 1.0,
                score_mean=score,
                score_stdev=stdev,
                prior=float(prior[i]),
                lead=score,
                lcb=value - radius,
                utility_lcb=2.0 * (value - radius) - 1.0,
                weight=float(n),
                order=rank,
                pv=pv,
                pv_visits=pv_visits,
                pv_edge_visits=pv_visits,
            )
        )
    return SearchResult(
        colour=colour,
        visits=int(nodes[ROOT]["visits"]),
        winrate=winrate,
        utility=2.0 * winrate - 1.0,
        score_mean=sign * mean,
        score_stdev=stdev,
        lead=sign * mean,
        weight=float(total),
        moves=tuple(moves),
        ownership=ownership.astype(np.float32),
        seconds=seconds,
        new_visits=new_visits,
        evaluations=new_visits,
        reason=reason,
    )


def _principal_variation(nodes: NDArray[np.void], index: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The moves from this node on that were visited most, and their visits."""
    pv = [int(nodes[index]["move"])]
    visits = [int(nodes[index]["visits"])]
    while nodes[index]["children"] != 0 and len(pv) < PV_LENGTH:
        children = children_of(nodes, index)
        counts = nodes["visits"][children]
        best = int(np.argmax(counts))
        if counts[best] < PV_VISITS:
            break
        index = children.start + best
        pv.append(int(nodes[index]["move"]))
        visits.append(int(counts[best]))
    return tuple(pv), tuple(visits)
