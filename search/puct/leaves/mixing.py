"""AlphaGo's mix: part of what a leaf is worth is what playouts from it say.

A network that has not learned much misjudges who lives and who is ahead, where even simple playouts cannot: they are
played to the end. (Silver et al., "Mastering the game of Go with deep neural networks and tree search", 2016.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.machine.jit import kernel
from go_rules.position import PHASE_MAIN
from go_rules.rules import SCORING_AREA
from search.playouts.board import area_score, copy_board, load_position, new_playout_boards
from search.playouts.playout import MOVES_PER_POINT, PlayoutTools, new_policy, new_tools, playout
from search.puct.context import LEAD, SCORE, SCORE_SQ, WIN_LOSS
from search.uct.parameters import UctParameters


class Mixer(NamedTuple):
    """What one worker's playouts need."""

    boards: NDArray[np.void]
    """PLAYOUT_BOARD[2]: the leaf's, and the one that is played on."""
    tools: PlayoutTools


def new_mixer(seed: int) -> Mixer:
    rates = UctParameters()
    policy = new_policy(rates.capture_rate, rates.pattern_rate, rates.self_atari_rate)
    return Mixer(new_playout_boards(2), new_tools(seed, policy))


@kernel
def mix_playouts(ctx, work, chosen, count, mixer, playouts, share):
    """Replace `share` of the values of the `count` leaves listed in `chosen` by the means of so many `playouts` each.

    Under territory rules, where a playout's superfluous moves blur the last points, they stay as they are.
    """
    rules = ctx[0].rules
    if rules.scoring != SCORING_AREA:
        return
    start, board = mixer.boards[0], mixer.boards[1]
    for i in range(count):
        leaf = work.leaves[chosen[i]]
        pos = leaf.stack[leaf.last]
        if pos.phase != PHASE_MAIN:
            continue
        load_position(start, pos)
        komi = pos.white_bonus + rules.komi + rules.handicap_bonus
        wins, total, squares = 0.0, 0.0, 0.0
        for _ in range(playouts):
            copy_board(board, start)
            most = MOVES_PER_POINT * pos.width * pos.height
            playout(board, np.int64(pos.to_play), np.int64(pos.recent[0]), mixer.tools, most)
            score = area_score(board) + komi
            wins += 1.0 if score > 0.0 else -1.0 if score < 0.0 else 0.0
            total += score
            squares += score * score
        _mix(leaf.values, WIN_LOSS, wins / playouts, share)
        _mix(leaf.values, SCORE, total / playouts, share)
        _mix(leaf.values, SCORE_SQ, squares / playouts, share)
        _mix(leaf.values, LEAD, total / playouts, share)


@kernel
def _mix(values, which, other, share):
    values[which] += share * (other - values[which])
