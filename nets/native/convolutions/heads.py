"""The part of the heads that reads the board: three 1×1 convolutions, their pools, policy and ownership of each point.

The rest works on a few numbers a position (outputs.py)."""

from __future__ import annotations

import numpy as np

from go_rules.machine.jit import kernel
from nets.native.convolutions.finish import TO_VALUES, cut_values_off, finish_points
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.pooling import pool
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.simd.vectors import VECTOR_BYTES, load_everywhere, load_floats, store, total

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
        ("source", np.int64),  # which levels they read
        ("pooled_activation", np.int64),  # places in activations.KINDS
        ("policy_activation", np.int64),
        ("value_activation", np.int64),
        ("policies", np.int64),  # how many, 1 or 2
        ("policy", np.int64),  # float32 [policies, policy blocks * 32]
        ("ownership", np.int64),  # float32 [value blocks * 32]
    ]
)
"""The convolutions read the same levels and are one."""


@kernel
def run_heads(heads, network, tiles, space, finish, curves, pools, policies, ownership):
    """Compute the heads from the levels that the trunk wrote.

    Writes `pools` [boards, pooled and value blocks, 3, 32], `policies` [boards, policies, H * W] and `ownership`
    [boards, H * W], before tanh.
    """
    boards, area = ownership.shape
    parameters = network.parameters
    row = heads.policy_blocks * OUTPUT_BYTES
    width = np.int64(OUTPUTS)  # a literal would have what is called compiled once more
    finish.kind, finish.per_step, finish.bias_step = TO_VALUES, parameters + network.ones, 0
    finish.stream, finish.stream_point = space.values, OUTPUT_BYTES
    for board in range(boards):
        cut_values_off(finish, heads.pooled_activation)
        for block in range(heads.pooled_blocks):
            finish.bias = parameters + heads.bias + block * OUTPUT_BYTES
            _values(heads, block, network, tiles, space, finish, curves, board)
            to = pools.ctypes.data + (board * pools.shape[1] + block) * POOL_BYTES
            pool(space.values, to, area, width)
        first = heads.pooled_blocks
        pooled = pools.ctypes.data + board * pools.shape[1] * POOL_BYTES
        policies[board] = 0
        cut_values_off(finish, heads.policy_activation)
        for block in range(heads.policy_blocks):
            write_policy_bias(heads, parameters, block, pooled, space.pool_bias)
            finish.bias = space.pool_bias
            _values(heads, first + block, network, tiles, space, finish, curves, board)
            for policy in range(heads.policies):
                weights = parameters + heads.policy + policy * row + block * OUTPUT_BYTES
                add_products(space.values, weights, policies[board, policy])
        first += heads.policy_blocks
        ownership[board] = 0
        cut_values_off(finish, heads.value_activation)
        for block in range(heads.value_blocks):
            finish.bias = parameters + heads.bias + (first + block) * OUTPUT_BYTES
            _values(heads, first + block, network, tiles, space, finish, curves, board)
            pool(space.values, pooled + (heads.pooled_blocks + block) * POOL_BYTES, area, width)
            add_products(space.values, parameters + heads.ownership + block * OUTPUT_BYTES, ownership[board])


@kernel
def write_policy_bias(heads, parameters, block, pooled, to):
    """Write to `to` the bias [32] that a block of the policy head, one that is not pooled, gets at every point."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        bias = load_floats(parameters + heads.bias + (heads.pooled_blocks + block) * OUTPUT_BYTES, at)
        matrix = parameters + heads.pool_matrix + block * OUTPUT_BYTES + at
        for feature in range(heads.pooled_blocks * 3 * OUTPUTS):
            factor = load_everywhere(pooled, feature * FLOAT_BYTES)
            bias = bias + factor * load_floats(matrix, feature * heads.policy_blocks * OUTPUT_BYTES)
        store(to, at, bias)


@kernel
def _values(heads, block, network, tiles, space, finish, curves, board):
    """A block's values [H, W, 32] of a board, after the activation and with the bias that FINISH says."""
    area, row = tiles.height * tiles.width, network.channels * SHORT_BYTES
    levels = space.levels[heads.source] + board * area * row
    weights = network.parameters + heads.weights + block * OUTPUTS * row
    multiply_rows(levels, weights, space.sums, area, row)
    finish.scale = network.parameters + heads.scale + block * OUTPUT_BYTES
    finish.next_scale, finish.next_bias = finish.scale, finish.scale
    finish_points(space.sums, tiles.height, tiles.width, np.int64(1), finish, curves)


@kernel
def add_products(values, weights, to):
    """Add values [points, 32] @ weights [32] to `to` [points]."""
    low, high = load_floats(weights, 0), load_floats(weights, VECTOR_BYTES)
    for point in range(len(to)):
        ours = values + point * OUTPUT_BYTES
        to[point] += total(load_floats(ours, 0) * low + load_floats(ours, VECTOR_BYTES) * high)
