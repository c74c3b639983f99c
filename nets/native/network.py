"""One kernel for a network: from the features of a batch to the outputs of the heads for each board.

A trunk is a list of runs: stretches of convolution blocks and of transformer blocks, which share the residual streams.
A kind of block that a network lacks is not compiled.
"""

from __future__ import annotations

import numpy as np

from nets.native.convolutions.layers import pool, run_layers
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.simd.vectors import VECTOR_BYTES, floats, load_everywhere, load_floats, store, total
from nets.native.transformers.blocks import CHUNK, run_blocks
from nets.native.transformers.rows import (
    activate,
    put_values,
    reciprocal_root,
    sum_of_squares,
    write_activated,
    write_levels,
)
from nobi_machine.jit import kernel, kernel_for_python

# --- The stem --------------------------------------------------------------------------------------------------------
# It reads the features of a position and begins the trunk's stream.

NETWORK = np.dtype(
    [
        ("parameters", np.int64),  # the address of all numbers
        ("channels", np.int64),  # of the trunk's stream; a multiple of 32 as all counts of channels here
        ("points", np.int64),  # at which Winograd's method evaluates polynomials
        ("stem", np.int64),  # offset of float32 [planes, 2 * reach + 1 (y), 2 * reach + 1 (x, from right), channels]
        ("stem_reach", np.int64),
        ("stem_bias", np.int64),  # float32 [channels]
        ("stem_global", np.int64),  # float32 [global features, channels]
        ("ones", np.int64),  # float32 [OUTPUTS of products.py], the steps of values that are no levels
    ]
)


@kernel_for_python
def write_stem(spatial, global_, profile_bias, network, constant, stream):
    """Write the sums of the stem to the trunk's `stream`, float32 [boards, H, W, channels].

    What `spatial` [boards, planes, H, W] has besides an empty board, whose sums [H, W, channels] are in `constant`, is
    little: each such input adds its weights to the points around it. `global_` is [boards, global features];
    `profile_bias` [boards, channels] is added at every point. `constant` and `stream` are addresses."""
    boards, planes, height, width = spatial.shape
    reach, point = network.stem_reach, network.channels * FLOAT_BYTES
    line = (2 * reach + 1) * point
    weights = network.parameters + network.stem
    for board in range(boards):
        for at in range(0, point, VECTOR_BYTES):
            more = load_floats(profile_bias.ctypes.data + board * point, at)
            for feature in range(global_.shape[1]):
                matrix = network.parameters + network.stem_global + feature * point
                more = more + floats(global_[board, feature]) * load_floats(matrix, at)
            for offset in range(at, height * width * point, point):
                store(stream, offset, load_floats(constant, offset) + more)
        for plane in range(planes):
            usual = np.float32(plane == 0)
            for y in range(height):
                # Most rows are as on an empty board: this loop is a few instructions on vectors.
                differs = False
                for x in range(width):
                    differs |= spatial[board, plane, y, x] != usual
                if not differs:
                    continue
                for x in range(width):
                    value = spatial[board, plane, y, x] - usual
                    if value == 0:
                        continue
                    factor = floats(value)
                    left, right = max(x - reach, 0), min(x + reach, width - 1)
                    for to_y in range(max(y - reach, 0), min(y + reach, height - 1) + 1):
                        kernel_y = y - to_y + reach
                        ours = weights + (plane * (2 * reach + 1) + kernel_y) * line + (left - x + reach) * point
                        to = stream + (to_y * width + left) * point
                        for at in range(0, (right - left + 1) * point, VECTOR_BYTES):
                            store(to, at, load_floats(to, at) + factor * load_floats(ours, at))
        stream += height * width * point


# --- The heads -------------------------------------------------------------------------------------------------------
# The end of the trunk, and the part of the heads that reads the board: three 1×1 convolutions, their pools, policy and
# ownership of each point. The rest works on a few numbers a position (outputs.py).

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
        write_activated(stream + at, np.int64(1), row_bytes, root, gamma, beta, heads.tip_activation, to + at)


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


# --- The whole network -----------------------------------------------------------------------------------------------

CONVOLUTIONS, ROWS = 0, 1
"""Kinds of runs: of LAYER records, and of BLOCK records."""

RUN = np.dtype([("kind", np.int64), ("first", np.int64), ("end", np.int64)])
"""A stretch of records of one kind, from number `first` to before `end`."""


@kernel
def run_network(
    network, runs, layers, blocks, matrices, heads, tiles, space, room, buffers, streams, finish, curves,
    constant, profile_bias, pools, policies, ownership, boards, count, spatial, global_,
):  # fmt: skip
    """Compute the first `count` boards of a batch, `boards` at a time, which divides their number.

    The other arguments are arrays. `network`, `heads`, `tiles`, `space`, `room`, `buffers` and `finish` hold one record
    each; `runs`, `layers`, `blocks` and `matrices` hold many, and `layers` and `blocks` are None where there are none.
    `streams` has addresses, and `curves` is None or activations.CURVES. `constant` is an address, and `profile_bias` is
    [boards of the batch, channels] (write_stem). `pools`, `policies` and `ownership` get the results (run_heads).
    """
    height, width = spatial.shape[2], spatial.shape[3]
    parameters = network[0].parameters
    for start in range(0, count, boards):
        part = slice(start, start + boards)
        write_stem(spatial[part], global_[part], profile_bias[part], network[0], constant, streams[0])
        for number in range(len(runs)):
            first, end = runs[number].first, runs[number].end
            if layers is not None and runs[number].kind == CONVOLUTIONS:
                run_layers(layers, first, end, network[0], tiles[0], space[0], streams, finish[0], curves, boards)
            if blocks is not None and runs[number].kind == ROWS:
                run_blocks(
                    blocks, first, end, matrices, parameters, room[0], streams, buffers[0], boards, height, width
                )
        run_heads(heads[0], matrices, parameters, room[0], streams[0], pools[part], policies[part], ownership[part])
