"""The trunk as one kernel: the stem's sparse convolution, then one layer after another by Winograd's method."""

from __future__ import annotations

import numpy as np

from go_rules.jit import kernel
from nets.native.finish import TO_LEVELS, TO_STREAM, TO_VALUES, store_levels
from nets.native.pooling import pool
from nets.native.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.tiling import PLACES
from nets.native.transforms import FLOAT_BYTES, SHORT_BYTES, VECTOR_BYTES, transform_inputs, transform_outputs
from nets.native.vectors import floats, load_everywhere, load_floats, store

NETWORK = np.dtype(
    [
        ("parameters", np.int64),  # the address of all numbers
        ("channels", np.int64),  # of the stream; a multiple of 32 as all counts of channels here
        (
            "stem",
            np.int64,
        ),  # offset of float32 [planes, 2 * reach + 1 (y), 2 * reach + 1 (x, from the right), channels]
        ("stem_reach", np.int64),
        ("stem_bias", np.int64),  # float32 [channels], and so the next two
        ("first_scale", np.int64),  # from the stream to the first levels
        ("first_bias", np.int64),
        ("stem_global", np.int64),  # float32 [global features, channels]
    ]
)

LAYER = np.dtype(
    [
        ("inputs", np.int64),
        ("outputs", np.int64),
        ("pooled", np.int64),  # more outputs, before the others, whose pool over the board is added to those
        ("adds", np.int64),  # 1: reads the block's middle and adds to the stream; 0: writes the block's middle
        ("middle", np.int64),  # which of the buffers for blocks' middles
        ("weights", np.int64),  # offsets in the network's parameters
        ("scale", np.int64),
        ("bias", np.int64),
        ("next_scale", np.int64),
        ("next_bias", np.int64),
        ("pool_matrix", np.int64),  # float32 [3 * pooled, outputs], in levels
    ]
)
"""A convolution of 3×3. Weights are int16 [blocks of 32 outputs, PLACES, inputs / 2, 32, 2]."""

MOST_MIDDLES = 4

SPACE = np.dtype(
    [
        ("places", np.int64),  # int16 [tiles of all places, channels]
        ("sums", np.int64),  # int32 [tiles of all places, 32]
        ("rows", np.int64),  # what the transforms need
        ("constant", np.int64),  # float32 [H, W, channels], the stem's sums on an empty board
        ("stream", np.int64),  # float32 [boards, H, W, channels]
        ("before", np.int64),  # int16 [boards, H + 2, W + 2, channels], what reads the stream
        ("middles", np.int64, MOST_MIDDLES),  # the same for the middles of blocks, by their number of channels
        ("values", np.int64),  # float32 [boards, H, W, pooled]
        ("pool", np.int64),  # float32 [3 * pooled]
        ("pool_bias", np.int64),  # float32 [boards, outputs]
    ]
)
"""Addresses of a worker's memory. Frames of zeros are never written."""


@kernel
def write_stem(spatial, global_, network, tiles, space):
    """The stem's sums, into the stream, and the levels that the first block reads.

    What `spatial` [boards, planes, H, W] has beside an empty board, whose sums are in `space.constant`, is little: each
    such input adds its weights to the points around it. `global_` is [boards, global features]."""
    boards, planes, height, width = spatial.shape
    reach, point = network.stem_reach, network.channels * FLOAT_BYTES
    line = (2 * reach + 1) * point
    weights = network.parameters + network.stem
    for board in range(boards):
        stream = space.stream + board * height * width * point
        for at in range(0, point, VECTOR_BYTES):
            more = floats(0.0)
            for feature in range(global_.shape[1]):
                matrix = network.parameters + network.stem_global + feature * point
                more = more + floats(global_[board, feature]) * load_floats(matrix, at)
            for offset in range(at, height * width * point, point):
                store(stream, offset, load_floats(space.constant, offset) + more)
        for plane in range(planes):
            for y in range(height):
                for x in range(width):
                    value = spatial[board, plane, y, x] - (plane == 0)
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
        _write_levels(stream, board, network, tiles, space)


@kernel
def _write_levels(stream, board, network, tiles, space):
    """The levels that the first block reads of a board's stream."""
    framed, point = tiles.width + 2, network.channels * SHORT_BYTES
    for at in range(0, network.channels * FLOAT_BYTES, VECTOR_BYTES):
        scale = load_floats(network.parameters + network.first_scale, at)
        bias = load_floats(network.parameters + network.first_bias, at)
        from_ = stream + at
        for y in range(tiles.height):
            to = space.before + ((board * (tiles.height + 2) + y + 1) * framed + 1) * point + at // 2
            for _ in range(tiles.width):
                store_levels(load_floats(from_, 0) * scale + bias, to)
                from_ += network.channels * FLOAT_BYTES
                to += point


@kernel
def run_layers(layers, network, tiles, space, finish, boards):
    """All layers. The levels that read the stream at the end are left in `space.before`."""
    parameters, channels = network.parameters, network.channels
    for number in range(len(layers)):
        layer = layers[number]
        middle = space.middles[layer.middle]
        if layer.adds == 1:
            transform_inputs(middle, space.places, space.rows, tiles, boards, layer.inputs)
            finish.levels_point = channels * SHORT_BYTES
            finish.stream_point = channels * FLOAT_BYTES
        else:
            transform_inputs(space.before, space.places, space.rows, tiles, boards, layer.inputs)
            finish.levels_point = layer.outputs * SHORT_BYTES
            finish.stream_point = layer.pooled * FLOAT_BYTES
        blocks = (layer.pooled + layer.outputs) // OUTPUTS
        pooled_blocks = layer.pooled // OUTPUTS
        finish.bias_step = 0
        for block in range(blocks):
            if block == pooled_blocks and block > 0:
                _pool_bias(layer, parameters, tiles, space, boards)
                finish.bias_step = layer.outputs * FLOAT_BYTES
            for place in range(PLACES):
                weights = parameters + layer.weights + (block * PLACES + place) * layer.inputs * OUTPUTS * SHORT_BYTES
                start = tiles.starts[place]
                row = layer.inputs * SHORT_BYTES
                levels, sums = space.places + start * row, space.sums + start * OUTPUT_BYTES
                multiply_rows(levels, weights, sums, tiles.counts[place], row)
            finish.scale = parameters + layer.scale + block * OUTPUT_BYTES
            finish.bias = parameters + layer.bias + block * OUTPUT_BYTES
            finish.next_scale, finish.next_bias = finish.scale, finish.bias
            if block < pooled_blocks:
                finish.kind = TO_VALUES
                finish.stream = space.values + block * OUTPUT_BYTES
            else:
                ours = (block - pooled_blocks) * OUTPUT_BYTES
                if layer.adds == 1:
                    finish.kind = TO_STREAM
                    finish.next_scale = parameters + layer.next_scale + ours
                    finish.next_bias = parameters + layer.next_bias + ours
                    finish.stream = space.stream + ours
                    finish.levels = space.before + ours // 2
                else:
                    finish.kind = TO_LEVELS
                    finish.levels = middle + ours // 2
                    if pooled_blocks > 0:
                        finish.bias = space.pool_bias + ours
            transform_outputs(space.sums, space.rows, tiles, boards, finish)


@kernel
def _pool_bias(layer, parameters, tiles, space, boards):
    """The biases of the layer's other outputs, from the pooled ones."""
    area = tiles.height * tiles.width
    row = layer.outputs * FLOAT_BYTES
    for board in range(boards):
        values = space.values + board * area * layer.pooled * FLOAT_BYTES
        pool(values, space.pool, area, layer.pooled)
        bias = space.pool_bias + board * row
        for at in range(0, row, VECTOR_BYTES):
            result = load_floats(parameters + layer.bias + layer.pooled * FLOAT_BYTES, at)
            matrix = parameters + layer.pool_matrix + at
            for feature in range(3 * layer.pooled):
                result = result + load_everywhere(space.pool, feature * FLOAT_BYTES) * load_floats(
                    matrix, feature * row
                )
            store(bias, at, result)
