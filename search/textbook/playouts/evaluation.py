"""Evaluate a position by one playout: its score, and who owned which point at the end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK, EMPTY, N_POINTS, STRIDE, WHITE
from go_rules.position import PHASE_OVER
from go_rules.rules import SCORING_AREA
from go_rules.scoring import tromp_taylor_area
from nobi_machine.jit import kernel
from search.textbook.playouts.board import area_score, load_position, new_playout_boards, owner_of_empty
from search.textbook.playouts.playout import MOVES_PER_POINT, PlayoutTools, playout

SCORE_SCALE = 10.0
"""A lead of so many points gives half of what the score can add to a value."""


class PlayoutBuffers(NamedTuple):
    """The memory of one thread that plays games out. No other thread writes to it."""

    board: NDArray[np.void]
    """PLAYOUT_BOARD[1]."""
    tools: PlayoutTools
    area: NDArray[np.int8]
    """[N_POINTS]: scratch of the scoring."""
    ownership: NDArray[np.int64]
    """[N_POINTS]: playouts that ended with the point white's minus those with it black's."""
    totals: NDArray[np.float64]
    """[3]: number of playouts, sum of their scores (white minus black), and of the squares."""


def new_playout_buffers(tools: PlayoutTools) -> PlayoutBuffers:
    """Make the memory of one thread, whose playouts use these tools."""
    return PlayoutBuffers(
        board=new_playout_boards(1),
        tools=tools,
        area=np.zeros(N_POINTS, np.int8),
        ownership=np.zeros(N_POINTS, np.int64),
        totals=np.zeros(3, np.float64),
    )


@kernel
def evaluate(pos, rules, buffers):
    """Compute the score of the POSITION `pos`, white minus black, at the end of one playout.

    A game that is over under area rules is counted as it stands. Adds to the ownership and totals of `buffers`, and
    leaves in `tools.first` who first played where.
    """
    if pos.phase == PHASE_OVER and rules.scoring == SCORING_AREA:
        score = final_score(pos, rules, buffers.area)
        for point in range(N_POINTS):
            buffers.tools.first[point] = EMPTY
            if buffers.area[point] != EMPTY:
                buffers.ownership[point] += 1 if buffers.area[point] == WHITE else -1
    else:
        b = buffers.board[0]
        load_position(b, pos)
        playout(
            b, np.int64(pos.to_play), np.int64(pos.recent[0]), buffers.tools, MOVES_PER_POINT * pos.width * pos.height
        )
        # Each side's stones in a playout cost the same under territory rules: what counts is the area.
        score = area_score(b) + pos.white_bonus + rules.komi + rules.handicap_bonus
        add_ownership(b, pos, buffers.ownership)
    buffers.totals[0] += 1.0
    buffers.totals[1] += score
    buffers.totals[2] += score * score
    return score


@kernel
def final_score(pos, rules, area):
    """Count the score (white minus black, with komi) of a position as it stands, without group tax, of which playouts
    know nothing. Fills `area` [N_POINTS]: owners."""
    return tromp_taylor_area(pos, area) + pos.white_bonus + rules.komi + rules.handicap_bonus


@kernel
def add_ownership(b, pos, ownership):
    """Add a finished playout to `ownership`: +1 for each point of white, -1 for each point of black."""
    for y in range(pos.height):
        row = (y + 1) * STRIDE + 1
        for point in range(row, row + pos.width):
            owner = b.board[point]
            if owner == EMPTY:
                owner = owner_of_empty(b.around[point])
            if owner == WHITE:
                ownership[point] += 1
            elif owner == BLACK:
                ownership[point] -= 1


@kernel
def value_of(score, score_weight):
    """Turn a score (white minus black) into a value to white, 0..1: mostly the win, and a little the score's size."""
    win = 1.0 if score > 0.0 else 0.0 if score < 0.0 else 0.5
    return win + score_weight * (0.5 + 0.5 * score / (abs(score) + SCORE_SCALE) - win)
