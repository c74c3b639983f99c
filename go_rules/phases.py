"""The phases of a game: the main one, clean-up under territory rules, and the end."""

from __future__ import annotations

from go_rules.machine.jit import kernel
from go_rules.points import BLACK, N_POINTS, NO_POINT, WHITE
from go_rules.position import (
    HISTORY_MOVES,
    MARK_BLACK_AT_CLEANUP_2,
    MARK_WHITE_AT_CLEANUP_2,
    PHASE_CLEANUP_2,
    PHASE_MAIN,
    PHASE_OVER,
)
from go_rules.rules import SCORING_TERRITORY


@kernel
def pass_ends_phase(pos):
    """Whether a pass now would be the last of this phase (repeated passes aside, which only Game can see)."""
    return pos.button == 0 and pos.passes >= 1


@kernel
def end_phase(pos, rules):
    """Go on to the next clean-up phase under territory rules that have them, or end the game."""
    if rules.scoring != SCORING_TERRITORY or rules.cleanup == 0 or pos.phase >= PHASE_CLEANUP_2:
        pos.phase = PHASE_OVER
        return
    pos.phase += 1
    pos.passes = 0
    forget_moves(pos, 0)
    for point in range(N_POINTS):
        pos.marks[point] = 0
        if pos.phase == PHASE_CLEANUP_2:
            if pos.board[point] == BLACK:
                pos.marks[point] = MARK_BLACK_AT_CLEANUP_2
            elif pos.board[point] == WHITE:
                pos.marks[point] = MARK_WHITE_AT_CLEANUP_2


@kernel
def count_pass(pos, colour, rules):
    """What a pass of `colour` changes: the button is taken, or a phase may end."""
    if pos.button == 1:
        pos.button = 0
        pos.passes = 0
        pos.white_bonus += 0.5 if colour == WHITE else -0.5
        return
    pos.passes += 1
    if pos.passes >= 2:
        end_phase(pos, rules)


@kernel
def live_phase(pos, rules):
    """The phase in which the next move will be: after the end of a game, the last one again."""
    if pos.phase != PHASE_OVER:
        return pos.phase
    return PHASE_CLEANUP_2 if rules.scoring == SCORING_TERRITORY and rules.cleanup == 1 else PHASE_MAIN


@kernel
def forget_moves(pos, kept):
    """Leave only the last `kept` moves in `recent`: the networks see no others."""
    for i in range(kept, HISTORY_MOVES):
        pos.recent[i] = NO_POINT
