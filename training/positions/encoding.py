"""Kernels that write a position as network input on its canvas, turned by one of the eight symmetries."""

from __future__ import annotations

import numpy as np

from go_rules.compilation.jit import kernel
from go_rules.points import PASS, STRIDE
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.features import IN_TREE, encode_symmetry
from nets.symmetry import LEFT_RIGHT, TRANSPOSED, UPSIDE_DOWN


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
