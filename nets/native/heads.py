"""The heads as far as they read the board: three convolutions of 1×1, their pools, and the policy and ownership of
every point. What is left are a few numbers a position, and outputs.py."""

from __future__ import annotations

import numpy as np

from go_rules.jit import kernel
from nets.native.pooling import pool
from nets.native.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.transforms import FLOAT_BYTES, SHORT_BYTES, VECTOR_BYTES
from nets.native.vectors import floats, larger, load_everywhere, load_floats, load_ints, store, to_floats, total

POOL_BYTES = 3 * OUTPUT_BYTES

HEADS = np.dtype(
    [
        ("pooled_blocks", np.int64),  # of 32 channels: the policy head's pooled ones, its others, the value head's
        ("policy_blocks", np.int64),
        ("value_blocks", np.int64),
        ("weights", np.int64),  # offsets in the network's parameters: int16 [blocks, channels / 2, 32, 2]
        ("scale", np.int64),  # float32 [blocks, 32]
        ("bias", np.int64),
        ("pool_matrix", np.int64),  # float32 [pooled blocks, 3, 32, policy blocks * 32]
        ("policies", np.int64),  # how many, 1 or 2
        ("policy", np.int64),  # float32 [policies, policy blocks * 32]
        ("ownership", np.int64),  # float32 [value blocks * 32]
    ]
)
"""The convolutions read the same levels and are one."""


@kernel
def run_heads(heads, network, tiles, space, pools, policies, ownership):
    """Read the levels in `space.before`. Writes `pools` [boards, pooled and value blocks, 3, 32], `policies` [boards,
    policies, H * W] and `ownership` [boards, H * W], before tanh."""
    boards, area = ownership.shape
    parameters, channels = network.parameters, network.channels
    row = heads.policy_blocks * OUTPUT_BYTES
    nothing, width = np.int64(0), np.int64(OUTPUTS)  # literals would have what is called compiled once more
    for board in range(boards):
        for block in range(heads.pooled_blocks):
            _values(heads, block, nothing, parameters, tiles, space, board, channels)
            to = pools.ctypes.data + (board * pools.shape[1] + block) * POOL_BYTES
            pool(space.values, to, area, width)
        first = heads.pooled_blocks
        pooled = pools.ctypes.data + board * pools.shape[1] * POOL_BYTES
        policies[board] = 0
        for block in range(heads.policy_blocks):
            for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
                more = floats(0.0)
                matrix = parameters + heads.pool_matrix + block * OUTPUT_BYTES + at
                for feature in range(heads.pooled_blocks * 3 * OUTPUTS):
                    more = more + load_everywhere(pooled, feature * FLOAT_BYTES) * load_floats(matrix, feature * row)
                store(space.pool_bias, at, more)
            _values(heads, first + block, space.pool_bias, parameters, tiles, space, board, channels)
            for policy in range(heads.policies):
                weights = parameters + heads.policy + policy * row + block * OUTPUT_BYTES
                _add_products(space.values, weights, policies[board, policy])
        first += heads.policy_blocks
        ownership[board] = 0
        for block in range(heads.value_blocks):
            _values(heads, first + block, nothing, parameters, tiles, space, board, channels)
            pool(space.values, pooled + (heads.pooled_blocks + block) * POOL_BYTES, area, width)
            _add_products(space.values, parameters + heads.ownership + block * OUTPUT_BYTES, ownership[board])


@kernel
def _values(heads, block, more, parameters, tiles, space, board, channels):
    """A block's values [H, W, 32] of a board, after ReLU; `more` is the address of what is added to the bias, or 0."""
    framed = tiles.width + 2
    row = channels * SHORT_BYTES
    levels = space.before + ((board * (tiles.height + 2) + 1) * framed + 1) * row
    # Without the rows' ends a board would be many small products; the frame between its rows costs less.
    weights = parameters + heads.weights + block * OUTPUTS * row
    multiply_rows(levels, weights, space.sums, tiles.height * framed - 2, row)
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        scale = load_floats(parameters + heads.scale + block * OUTPUT_BYTES, at)
        bias = load_floats(parameters + heads.bias + block * OUTPUT_BYTES, at)
        if more != 0:
            bias = bias + load_floats(more, at)
        to = space.values + at
        for y in range(tiles.height):
            sums = space.sums + y * framed * OUTPUT_BYTES + at
            for x in range(tiles.width):
                value = to_floats(load_ints(sums, x * OUTPUT_BYTES)) * scale + bias
                store(to, 0, larger(value, floats(0.0)))
                to += OUTPUT_BYTES


@kernel
def _add_products(values, weights, to):
    """to [points] += values [points, 32] @ weights [32]"""
    low, high = load_floats(weights, 0), load_floats(weights, VECTOR_BYTES)
    for point in range(len(to)):
        ours = values + point * OUTPUT_BYTES
        to[point] += total(load_floats(ours, 0) * low + load_floats(ours, VECTOR_BYTES) * high)
