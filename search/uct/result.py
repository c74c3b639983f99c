"""The result of a UCT search: reads the tree into a SearchResult."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import PASS
from search.playouts.evaluation import PlayoutBuffers
from search.playouts.result import Tally, make_result
from search.result import SearchResult, StopReason
from search.uct.tree import ROOT, children_of

PV_LENGTH = 20
PV_VISITS = 4
"""A principal variation ends before a move with fewer visits."""


def visits_lead(nodes: NDArray[np.void]) -> int:
    """Count by how many visits the root's first move is ahead of the second; a single move by all it has."""
    visits = np.sort(nodes["visits"][children_of(nodes, ROOT)])
    return int(visits[-1] - visits[-2]) if len(visits) > 1 else int(visits.sum())


def summarise(
    game: Game,
    colour: int,
    nodes: NDArray[np.void],
    banned: NDArray[np.int16],
    buffers: Sequence[PlayoutBuffers],
    *,
    seconds: float,
    new_visits: int,
    reason: StopReason,
) -> SearchResult:
    """Read the result for `colour` to move at the root. `buffers`: those of all threads, for ownership and scores.

    `banned` [N_POINTS]: moves with more than 0 are excluded; if all are, a pass is reported.
    """
    places = children_of(nodes, ROOT)
    children = nodes[places].copy()
    visits = children["visits"].astype(np.int64)
    winrate = float(children["wins"].sum()) / max(1, int(visits.sum())) if visits.any() else 0.5
    prior = children["prior_wins"] / max(1e-9, float(children["prior_wins"].sum()))
    tallies = []
    for i in np.lexsort((-prior, -visits)):
        move, wins, score = (children[i][name].item() for name in ("move", "wins", "score"))
        if banned[move] > 0:
            continue
        pv, pv_visits = _principal_variation(nodes, places.start + int(i))
        tallies.append(Tally(move, int(visits[i]), wins, score, float(prior[i]), pv, pv_visits))
    return make_result(
        game,
        colour,
        tallies or [Tally(PASS, 0, 0.0, 0.0, 1.0, (PASS,), (0,))],
        buffers,
        winrate=winrate,
        visits=int(nodes[ROOT]["visits"]),
        seconds=seconds,
        new_visits=new_visits,
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
