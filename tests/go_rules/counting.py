"""Counts of move sequences by the kernels: perft (sequences of a given length) and complete games."""

from __future__ import annotations

import numpy as np

from go_rules.board import clear, copy_position, legal_points, play
from go_rules.points import MAX_SIZE, PASS
from go_rules.position import PHASE_OVER, new_stack
from go_rules.rules import Rules
from go_rules.superko import drop_superko_banned, history_key, new_seen, position_key, seen_refill
from nobi_machine.jit import kernel

MAX_GAME = 256
"""More moves than any game on the boards whose complete games can be counted."""


def complete_games(width: int, height: int, rules: Rules) -> int:
    """How many games there are from the empty board to two passes."""
    return perft(width, height, rules, MAX_GAME)


def perft(width: int, height: int, rules: Rules, depth: int, passes: bool = True) -> int:
    """How many sequences of `depth` moves there are, or how many games for MAX_GAME; two passes end a game."""
    record = rules.record(0.0)
    stack = new_stack(depth + 1)
    clear(stack[0], width, height, 0)
    keys = np.zeros(depth + 1, np.uint64)
    keys[0] = position_key(stack[0], record)
    moves = np.zeros((depth + 1, MAX_SIZE * MAX_SIZE + 1), np.int16)
    cursors = np.zeros((depth + 1, 2), np.int64)
    seen = new_seen(4 * depth)
    return int(count_sequences(stack, keys, seen, record, moves, cursors, depth, passes, depth == MAX_GAME))


@kernel
def count_sequences(stack, keys, seen, rules, moves, cursors, depth, passes, games):
    """Walk the game tree below stack[0], depth first; return the number of leaves.

    `games`: count finished games; otherwise count sequences of `depth` moves, the last move without playing it.
    moves[level, cursors[level, 0]:cursors[level, 1]] are yet to be tried.
    """
    count = 0
    level = 0
    seen_refill(seen, keys[:1])
    cursors[0, 0] = 0
    cursors[0, 1] = _list_moves(stack[0], rules, seen, moves[0], passes)
    while level >= 0:
        if cursors[level, 0] == cursors[level, 1]:
            level -= 1
            continue
        if not games and level == depth - 1:
            count += cursors[level, 1]
            level -= 1
            continue
        point = moves[level, cursors[level, 0]]
        cursors[level, 0] += 1
        after = stack[level + 1]
        copy_position(after, stack[level])
        play(after, point, after.to_play, rules)
        if after.phase == PHASE_OVER:
            if games:
                count += 1
            continue
        level += 1
        keys[level] = history_key(stack[level - 1], after, rules)
        # Small boards have short games: filling the set anew costs less than taking one key out.
        seen_refill(seen, keys[: level + 1])
        cursors[level, 0] = 0
        cursors[level, 1] = _list_moves(after, rules, seen, moves[level], passes)
    return count


@kernel
def _list_moves(pos, rules, seen, out, passes):
    n = legal_points(pos, pos.to_play, rules, out)
    n = drop_superko_banned(pos, pos.to_play, rules, seen, out, n)
    if passes:
        out[n] = PASS
        n += 1
    return n
