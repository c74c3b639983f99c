"""Kernels for random moves, and the random numbers of a sample, which are the same in every run."""

from __future__ import annotations

import numpy as np

from go_rules.board import is_legal
from go_rules.points import EMPTY, NO_POINT, PASS, STRIDE, WALL
from go_rules.random import below
from nobi_machine.jit import kernel

TRIES = 24
"""Points that `random_move` looks at before it gives up and passes."""
NEARBY = 2
"""How far, in columns and in rows, a nearby move is from the last one."""


@kernel
def seed_random(state, seed, index):
    """Start the random numbers of sample `index` of stream `seed` (both int64), by SplitMix64 as in go_rules.random."""
    counter = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(index)
    for i in range(2):
        counter += np.uint64(0x9E3779B97F4A7C15)
        word = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state[i] = word ^ (word >> np.uint64(31))


@kernel
def random_move(pos, rules, state, nearby):
    """Return a random legal point that does not fill an own eye, or PASS if none is found quickly.

    `nearby` asks for a point close to the last move."""
    last = pos.recent[0]
    for _ in range(TRIES):
        if nearby and last > 0:
            y = last // STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            x = last % STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            if x < 0 or y < 0 or x >= pos.width or y >= pos.height:
                continue
        else:
            y = below(state, pos.height)
            x = below(state, pos.width)
        point = (y + 1) * STRIDE + x + 1
        if pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules) and not is_own_eye(pos, point):
            return point
    return PASS


@kernel
def is_own_eye(pos, point):
    """Return whether all neighbours of an empty point are stones of the side to move."""
    for step in (-STRIDE, -1, 1, STRIDE):
        content = pos.board[point + step]
        if content != pos.to_play and content != WALL:
            return False
    return True


@kernel
def may_play(pos, point, rules):
    """Return whether a record's move makes sense here: it is legal, and it is not a pass that answers a pass."""
    if point == PASS:
        return pos.recent[0] != PASS
    return point != NO_POINT and pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules)
