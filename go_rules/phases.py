"""The phases of a game: the main phase, two clean-up phases under some territory rules, and the end."""

from __future__ import annotations

import numpy as np

from go_rules.points import BLACK, N_POINTS, NO_POINT, WHITE
from go_rules.position import (
    HISTORY_MOVES,
    MARK_BLACK_AT_CLEANUP_2,
    MARK_WHITE_AT_CLEANUP_2,
    PHASE_CLEANUP_2,
    PHASE_MAIN,
    PHASE_OVER,
)
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY
from nobi_machine.jit import kernel, kernel_for_python, kernel_part

MOST_PASSES = 3
"""Consecutive passes are counted no further: one, two and more are all that is ever told apart."""


@kernel
def pass_ends_phase(pos):
    """Tell whether a pass of the side to move would end this phase now."""
    return pos.button == 0 and (pos.passes >= 1 or pos.passed_here == 1)


@kernel_for_python
def end_phase(pos, rules):
    """Go on to the next clean-up phase where the rules have one left, else end the game."""
    if rules.scoring != SCORING_TERRITORY or rules.cleanup == 0 or pos.phase >= PHASE_CLEANUP_2:
        pos.phase = PHASE_OVER
        return
    pos.phase += 1
    pos.passes = 0
    forget_moves(pos, np.int64(0))
    for point in range(N_POINTS):
        pos.marks[point] = 0
        if pos.phase == PHASE_CLEANUP_2:
            if pos.board[point] == BLACK:
                pos.marks[point] = MARK_BLACK_AT_CLEANUP_2
            elif pos.board[point] == WHITE:
                pos.marks[point] = MARK_WHITE_AT_CLEANUP_2


@kernel_part
def count_pass(pos, colour, rules):
    """Count a pass of `colour`: it takes the button if that is still there, else it may end the phase.

    `pos.passed_here` must be about `colour`.
    """
    if pos.button == 1:
        pos.button = 0
        pos.passes = 0
        pos.white_bonus += 0.5 if colour == WHITE else -0.5
        return
    if pos.passes < MOST_PASSES:
        pos.passes += 1
    if pos.passes >= 2 or pos.passed_here == 1:
        end_phase(pos, rules)


@kernel_for_python
def live_phase(pos, rules):
    """Return the phase of the next move: after the end of a game it is the last phase once more."""
    if pos.phase != PHASE_OVER:
        return pos.phase
    return PHASE_CLEANUP_2 if rules.scoring == SCORING_TERRITORY and rules.cleanup == 1 else PHASE_MAIN


@kernel_part
def passes_decide(pos, rules):
    """Tell whether the passes that ended a game are its end for a search too, whose network judges dead stones.

    Where players settle these by agreement (friendly_pass), two passes do not decide anything yet: the network judges,
    and a third pass ends it.
    """
    return not (rules.friendly_pass == 1 and rules.scoring == SCORING_AREA and pos.passes == 2)


@kernel_for_python
def forget_moves(pos, kept):
    """Remove all but the last `kept` moves from `recent`, so that the networks do not see the others."""
    for i in range(kept, HISTORY_MOVES):
        pos.recent[i] = NO_POINT


@kernel_for_python
def give_turn(pos, colour):
    """Let `colour` move next. Where it is the other side's turn one side moves twice, and what came before means
    nothing any more: the ko, the passes, and the last moves that a network sees."""
    if pos.to_play == colour:
        return
    pos.to_play = colour
    pos.ko = NO_POINT
    pos.passes = 0
    pos.passed_here = 0
    forget_moves(pos, np.int64(0))
