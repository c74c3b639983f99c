"""The end of the trunk, and the part of the heads that reads the board: three 1×1 convolutions, their pools, policy and
ownership of each point. The rest works on a few numbers a position (outputs.py)."""

from __future__ import annotations

import numpy as np

from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.pooling import pool
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.simd.vectors import VECTOR_BYTES, load_everywhere, load_floats, store, total
from nets.native.transformers.blocks import CHUNK
from nets.native.transformers.rows import (
    activate,
    put_values,
    reciprocal_root,
    sum_of_squares,
    write_activated,
    write_levels,
)
from nobi_machine.jit import kernel

POOL_BYTES = 3 * OUTPUT_BYTES

HEADS = np.dtype(
    [
        ("tip", np.int64),  # 0: batch norm, 1: by the root mean square of a point, 2: of the board
        ("epsilon", np.float64),
        ("share", np.float64),  # 1 / channels
        ("gamma", np.int64),  # offsets of float32 [channels]
        ("beta", np.int64),
        ("tip_activation", np.int64),  # its place in activations.KINDS, as below
        ("matrix", np.int64),  # number of the MATRIX record of all heads
        ("pooled_blocks", np.int64),  # of 32 outputs: the policy head's pooled ones, its others, the value head's
        ("policy_blocks", np.int64),
        ("value_blocks", np.int64),
        ("pooled_activation", np.int64),
        ("policy_activation", np.int64),
        ("value_activation", np.int64),
        ("bias", np.int64),  # float32 [outputs]
        ("pool_matrix", np.int64),  # float32 [pooled blocks, 3, 32, policy blocks * 32]
        ("policy", np.int64),  # float32 [policies, policy blocks * 32]
        ("ownership", np.int64),  # float32 [value blocks * 32]
    ]
)


@kernel
def write_tip(heads, parameters, stream, to, count, row_bytes, board_root):
    """Write what the heads read of `count` rows of the stream."""
    gamma, beta = parameters + heads.gamma, parameters + heads.beta
    if heads.tip != 1:
        root = board_root if heads.tip == 2 else np.float32(1.0)
        write_activated(stream, count, row_bytes, root, gamma, beta, heads.tip_activation, to)
        return
    for at in range(0, count * row_bytes, row_bytes):
        root = reciprocal_root(sum_of_squares(stream + at, row_bytes) * heads.share, heads.epsilon)
        write_activated(stream + at, 1, row_bytes, root, gamma, beta, heads.tip_activation, to + at)


@kernel
def run_heads(heads, matrices, parameters, room, streams, pools, policies, ownership):
    """Compute the heads from the trunk's streams, float32 [boards, H * W, channels] at the address `streams`.

    Writes `pools` [boards, pooled and value blocks, 3, 32], `policies` [boards, policies, H * W] and `ownership`
    [boards, H * W], before tanh.
    """
    boards, area = ownership.shape
    matrix = matrices[heads.matrix]
    row_bytes = matrix.inputs * FLOAT_BYTES
    for board in range(boards):
        stream = streams + board * area * row_bytes
        squares = sum_of_squares(stream, area * row_bytes)
        board_root = reciprocal_root(squares * heads.share / area, heads.epsilon)
        # What is not a number must not get lost: activations may cut it off.
        ownership[board] = squares * np.float32(0.0)
        for start in range(0, area, CHUNK):
            count = min(CHUNK, area - start)
            write_tip(heads, parameters, stream + start * row_bytes, room.hidden, count, row_bytes, board_root)
            write_levels(room.hidden, count, matrix, parameters, 0.0, 0.0, room.levels, room.steps)
            _multiply(matrix, parameters, room, count, room.values + start * OUTPUT_BYTES, area)
        _read_board(heads, parameters, room, pools[board], policies[board], ownership[board])


@kernel
def _multiply(matrix, parameters, room, count, to, area):
    """Write the products of the `count` rows in `room.levels` with the matrix to their place in [blocks, H * W, 32]."""
    row = matrix.inputs * SHORT_BYTES
    for block in range(matrix.outputs // OUTPUTS):
        multiply_rows(room.levels, parameters + matrix.weights + block * row * OUTPUTS, room.sums, count, row)
        scale = parameters + matrix.scale + block * OUTPUT_BYTES
        shift = parameters + matrix.shift + block * OUTPUT_BYTES
        put_values(room.sums, count, scale, shift, room.steps, to + block * area * OUTPUT_BYTES, np.int64(OUTPUT_BYTES))


@kernel
def _read_board(heads, parameters, room, pools, policies, ownership):
    """Compute the heads of one board from its values [blocks, H * W, 32]."""
    area, width = len(ownership), np.int64(OUTPUTS)  # a literal would have what is called compiled once more
    values, bias, pooled = room.values, parameters + heads.bias, pools.ctypes.data
    for block in range(heads.pooled_blocks):
        _activate(values, bias, heads.pooled_activation, area)
        pool(values, pooled + block * POOL_BYTES, area, width)
        values += area * OUTPUT_BYTES
        bias += OUTPUT_BYTES
    policies[:] = 0
    for block in range(heads.policy_blocks):
        _write_policy_bias(heads, parameters, block, pooled, room.sums)
        _activate(values, room.sums, heads.policy_activation, area)
        for policy in range(len(policies)):
            weights = parameters + heads.policy + (policy * heads.policy_blocks + block) * OUTPUT_BYTES
            _add_products(values, weights, policies[policy])
        values += area * OUTPUT_BYTES
        bias += OUTPUT_BYTES
    for block in range(heads.value_blocks):
        _activate(values, bias, heads.value_activation, area)
        pool(values, pooled + (heads.pooled_blocks + block) * POOL_BYTES, area, width)
        _add_products(values, parameters + heads.ownership + block * OUTPUT_BYTES, ownership)
        values += area * OUTPUT_BYTES
        bias += OUTPUT_BYTES


@kernel
def _activate(values, bias, activation, area):
    """Add a bias of 32 floats to values [area, 32] and apply the activation, in place."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        more = load_floats(bias, at)
        for row in range(at, area * OUTPUT_BYTES, OUTPUT_BYTES):
            store(values, row, activate(load_floats(values, row) + more, activation))


@kernel
def _write_policy_bias(heads, parameters, block, pooled, to):
    """Write to `to` the bias [32] that a block of the policy head, one that is not pooled, gets at every point."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        bias = load_floats(parameters + heads.bias + (heads.pooled_blocks + block) * OUTPUT_BYTES, at)
        matrix = parameters + heads.pool_matrix + block * OUTPUT_BYTES + at
        for feature in range(heads.pooled_blocks * 3 * OUTPUTS):
            factor = load_everywhere(pooled, feature * FLOAT_BYTES)
            bias = bias + factor * load_floats(matrix, feature * heads.policy_blocks * OUTPUT_BYTES)
        store(to, at, bias)


@kernel
def _add_products(values, weights, to):
    """Add values [points, 32] @ weights [32] to `to` [points]."""
    low, high = load_floats(weights, 0), load_floats(weights, VECTOR_BYTES)
    for point in range(len(to)):
        ours = values + point * OUTPUT_BYTES
        to[point] += total(load_floats(ours, 0) * low + load_floats(ours, VECTOR_BYTES) * high)
