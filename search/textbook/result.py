"""The result of a search: the root's children as moves, best first, each with its principal variation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import WHITE
from search.result import MoveInfo, SearchResult, winrate_radius
from search.textbook.schedules import ByRule
from search.textbook.tree import ROOT, children_of, new_nodes, pack_children, place_of_children

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
