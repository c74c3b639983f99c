"""The result of a search without a network: reads counts of playouts into a SearchResult."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from go_rules.game import Game
from go_rules.points import WHITE, board_points
from search.playouts.evaluation import PlayoutBuffers
from search.result import MoveInfo, SearchResult, StopReason, winrate_radius


class Tally(NamedTuple):
    """What the playouts that began with a move say of it."""

    point: int
    visits: int
    wins: float
    """Sum of their values, 0..1, as the player of the move sees them."""
    score: float
    """Sum of their scores, white's points minus black's."""
    prior: float
    """0..1, the share that the move had before any playout."""
    pv: tuple[int, ...]
    """Principal variation, this move first."""
    pv_visits: tuple[int, ...]


def make_result(
    game: Game,
    colour: int,
    tallies: Sequence[Tally],
    buffers: Sequence[PlayoutBuffers],
    *,
    winrate: float,
    score: float | None = None,
    visits: int,
    seconds: float,
    new_visits: int,
    reason: StopReason,
) -> SearchResult:
    """Make the result for `colour` to move. `tallies`: the best move first. `buffers`: those of all threads.

    `winrate` is the colour's. `score` is what it can expect, white minus black; None for the mean of all playouts.
    """
    sign = 1.0 if colour == WHITE else -1.0
    playouts, score_sum, square_sum = np.sum([each.totals for each in buffers], axis=0).tolist()
    playouts = max(playouts, 1e-9)
    mean = score_sum / playouts
    stdev = math.sqrt(max(0.0, square_sum / playouts - mean * mean))
    points = board_points(game.width, game.height)
    ownership = sign * np.sum([each.ownership[points] for each in buffers], axis=0) / playouts
    expected = sign * (mean if score is None else score)
    return SearchResult(
        colour=colour,
        visits=visits,
        winrate=winrate,
        utility=2.0 * winrate - 1.0,
        score_mean=expected,
        score_stdev=stdev,
        lead=expected,
        weight=float(max(1, sum(tally.visits for tally in tallies))),
        moves=tuple(_move_info(tally, i, winrate, expected, sign, stdev) for i, tally in enumerate(tallies)),
        ownership=ownership.astype(np.float32),
        seconds=seconds,
        new_visits=new_visits,
        evaluations=new_visits,
        reason=reason,
    )


def _move_info(tally: Tally, order: int, winrate: float, lead: float, sign: float, stdev: float) -> MoveInfo:
    """A move as it is reported; one without playouts has the `winrate` and the `lead` of the position."""
    n = tally.visits
    value = tally.wins / n if n else winrate
    score = sign * tally.score / n if n else lead
    radius = winrate_radius(value, n)
    return MoveInfo(
        point=tally.point,
        visits=n,
        edge_visits=n,
        winrate=value,
        utility=2.0 * value - 1.0,
        score_mean=score,
        score_stdev=stdev,
        prior=tally.prior,
        lead=score,
        lcb=value - radius,
        utility_lcb=2.0 * (value - radius) - 1.0,
        weight=float(n),
        order=order,
        pv=tally.pv,
        pv_visits=tally.pv_visits,
        pv_edge_visits=tally.pv_visits,
    )
