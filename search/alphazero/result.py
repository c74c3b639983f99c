"""The result of a search: the root's edges as moves, best first, each with its principal variation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from search.alphazero.tree import NONE, ROOT, Tree, edges_of
from search.result import MoveInfo, RawEvaluation, SearchResult, StopReason, winrate_radius

PV_LENGTH = 50


def visits_of_root(tree: Tree) -> int:
    """Return the root's visits: those of its edges and its own evaluation."""
    return 1 + int(edges_of(tree)["visits"].sum())


def summarise(
    tree: Tree,
    colour: int,
    ranking: NDArray[np.float64],
    choice: NDArray[np.float64],
    *,
    value_is_mean: bool,
    raw: RawEvaluation,
    ownership: NDArray[np.float32] | None,
    first_visits: int,
    evaluations: int,
    seconds: float,
    reason: StopReason,
) -> SearchResult:
    """Read the tree into a result for `colour`, to move at the root.

    `ranking` and `choice` have a number for each of the root's edges: a higher rank comes first, and `choice` is
    `MoveInfo.choice`. `value_is_mean`: whether the root is worth the mean of all visits, as it is where most go to good
    moves; else it is worth what the first move is. `first_visits`: what the root had before this search.
    """
    edges, root = edges_of(tree), tree.nodes[ROOT]
    visits = visits_of_root(tree)
    value = (float(root["value"]) + float(edges["total"].sum())) / visits
    score = (float(root["score"]) + float(edges["score"].sum())) / visits
    best_first = np.lexsort((-edges["prior"], -ranking)).tolist()
    best = edges[best_first[0]]
    if not value_is_mean and best["visits"] > 0:
        value = float(best["total"]) / int(best["visits"])
        score = float(best["score"]) / int(best["visits"])
    moves = []
    for order, i in enumerate(best_first):
        edge = edges[i]
        n = int(edge["visits"])
        q = float(edge["total"]) / n if n else float(root["value"])
        winrate = min(1.0, max(0.0, 0.5 + 0.5 * q))
        radius = winrate_radius(winrate, n)
        mean = float(edge["score"]) / n if n else float(root["score"])
        pv, pv_visits = principal_variation(tree, edge)
        moves.append(
            MoveInfo(
                point=int(edge["move"]),
                visits=n,
                edge_visits=n,
                winrate=winrate,
                utility=q,
                score_mean=mean,
                score_stdev=raw.score_stdev,
                lead=mean,
                prior=float(edge["prior"]),
                lcb=winrate - radius,
                utility_lcb=q - 2.0 * radius,
                weight=float(n),
                order=order,
                pv=pv,
                pv_visits=pv_visits,
                pv_edge_visits=pv_visits,
                choice=float(choice[i]),
            )
        )
    return SearchResult(
        colour=colour,
        visits=visits,
        winrate=min(1.0, max(0.0, 0.5 + 0.5 * value)),
        utility=value,
        score_mean=score,
        score_stdev=raw.score_stdev,
        lead=score,
        weight=float(visits),
        moves=tuple(moves),
        ownership=ownership,
        seconds=seconds,
        new_visits=visits - first_visits,
        evaluations=evaluations,
        reason=reason,
        raw=raw,
    )


def principal_variation(tree: Tree, edge: np.void) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Follow the most visited moves from an edge on. Returns its move and theirs, and the visits of each."""
    moves, visits = [int(edge["move"])], [int(edge["visits"])]
    while int(edge["child"]) != NONE and len(moves) < PV_LENGTH:
        edges = edges_of(tree, int(edge["child"]))
        if len(edges) == 0 or not edges["visits"].any():
            break
        edge = edges[int(edges["visits"].argmax())]
        moves.append(int(edge["move"]))
        visits.append(int(edge["visits"]))
    return tuple(moves), tuple(visits)
