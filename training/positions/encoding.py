"""Kernels that write a position as network input on its canvas, turned by one of the eight symmetries, and hide moves.

A position that somebody has set up has no last moves, and networks must have seen such positions.
"""

from __future__ import annotations

import numpy as np

from go_rules.points import PASS, STRIDE
from go_rules.position import HISTORY_MOVES
from go_rules.random import uniform
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.features import CAUGHT, GLOBAL_PASSES, HISTORY, IN_TREE, LAST_MOVES, encode_symmetry
from nets.symmetry import LEFT_RIGHT, TRANSPOSED, UPSIDE_DOWN
from nobi_machine.jit import kernel


@kernel
def cell_of(point, size, canvas, symmetry):
    """Return the cell, row * canvas + column, of a point on a board of size×size once it is turned by `symmetry`.

    PASS has the last cell, canvas * canvas."""
    if point == PASS:
        return canvas * canvas
    y = point // STRIDE - 1
    x = point % STRIDE - 1
    if symmetry & UPSIDE_DOWN:
        y = size - 1 - y
    if symmetry & LEFT_RIGHT:
        x = size - 1 - x
    return x * canvas + y if symmetry & TRANSPOSED else y * canvas + x


@kernel
def write_input(stack, now, rules, symmetry, buffers, spatial, global_):
    """Encode `stack[now]` for the side to move, turned by `symmetry`, into the top left corner of a canvas.

    `spatial` is uint8[22, S, S] and becomes zeros and ones; `global_` is float32[19].
    """
    pos = stack[now]
    size = np.int64(pos.width)
    canvas = spatial.shape[1]
    for y in range(size):
        for x in range(size):
            buffers.permutation[y * size + x] = cell_of((y + 1) * STRIDE + x + 1, size, canvas, symmetry)
    position = stack, now, np.int64(pos.to_play), rules, 0.0, IN_TREE, buffers.ban, buffers.scratch
    flat = spatial.reshape(SPATIAL_PLANES, canvas * canvas)
    encode_symmetry(*position, buffers.permutation, flat, buffers.numbers)
    for i in range(GLOBAL_FEATURES):
        global_[i] = buffers.numbers[i]


@kernel
def known_turns(forgotten, state):
    """Draw how many of the last moves a position shows, 0 to HISTORY_MOVES.

    With the chance `forgotten` a move is hidden, and with it all before it."""
    turns = 0
    while turns < HISTORY_MOVES and uniform(state) >= forgotten:
        turns += 1
    return turns


@kernel
def forget(turns, spatial, global_):
    """Hide all but the last `turns` moves of a position that is network input: uint8[22, S, S] and float32[19].

    The oldest board that is still known stands for those before it, as the encoder has it.
    """
    canvas = spatial.shape[1]
    for turn in range(turns, HISTORY_MOVES):
        global_[GLOBAL_PASSES + turn] = 0.0
        for y in range(canvas):
            for x in range(canvas):
                spatial[LAST_MOVES + turn, y, x] = 0
    for ago in range(turns + 1, HISTORY):
        for y in range(canvas):
            for x in range(canvas):
                spatial[CAUGHT + ago, y, x] = spatial[CAUGHT + ago - 1, y, x]
