"""Blocks of convolutions, layer after layer: in integers, those of 3×3 by Winograd's method and those of 1×1 as plain
products; or both as they are, in bf16 on tile registers."""

from __future__ import annotations

import math

import numpy as np

from nets.native.convolutions.tiling import POINTS
from nets.native.convolutions.transforms import (
    FLOAT_BYTES,
    SHORT_BYTES,
    TO_VALUES,
    cut_values_off,
    finish_bf16_points,
    finish_points,
    transform_inputs,
    transform_outputs,
)
from nets.native.simd.activations import activated, curve_at
from nets.native.simd.bf16_tiles import multiply_bf16_tiles, shape_bf16_tiles
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.simd.tile_products import give_up_tiles
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    larger,
    load_everywhere,
    load_floats,
    store,
    store_as_bfloats,
    store_as_shorts,
)
from nobi_machine.jit import kernel


@kernel
def pool(values, to, area, channels):
    """Pool float32 `values` [area, channels] to float32 `to` [3, channels]."""
    point = channels * 4
    share = floats(1.0 / area)
    linear = floats((math.sqrt(area) - 14.0) / 10.0)
    for at in range(0, point, VECTOR_BYTES):
        sums, most = floats(0.0), load_floats(values, at)
        for offset in range(at, area * point, point):
            value = load_floats(values, offset)
            sums, most = sums + value, larger(value, most)
        mean = sums * share
        store(to, at, mean)
        store(to + point, at, mean * linear)
        store(to + 2 * point, at, most)


LAYER = np.dtype(
    [
        ("inputs", np.int64),  # channels, a multiple of 32, as the next one
        ("outputs", np.int64),
        ("pooled", np.int64),  # more outputs, before the others, whose pool over the board is added to those
        ("in_bf16", np.int64),  # 1: levels and weights are numbers in bf16, multiplied as they are; 0: integers
        ("side", np.int64),  # 3: a convolution of 3×3; 1: of 1×1; 0: none, a stream is rounded to levels
        ("source", np.int64),  # which levels it reads
        ("kind", np.int64),  # what becomes of the outputs that are not pooled: see transforms.py
        ("stream", np.int64),  # which one they are added to or begin, or is rounded, if any
        ("target", np.int64),  # which levels are written; the next layer of the run reads them
        ("is_framed", np.int64),  # whether these have a frame, which convolutions of 3×3 need
        ("activation", np.int64),  # before the levels; its place in activations.KINDS
        ("pooled_activation", np.int64),
        ("least", np.int64),  # levels
        ("most", np.int64),
        ("weights", np.int64),  # offsets in the network's parameters
        ("scale", np.int64),  # float32 [pooled + outputs]
        ("bias", np.int64),
        ("next_scale", np.int64),  # float32 [outputs], as the next two
        ("next_bias", np.int64),
        ("per_step", np.int64),
        ("pool_matrix", np.int64),  # float32 [3 * pooled, outputs]
    ]
)
"""A convolution and what reads it. Weights are int16, of 3×3 [blocks of 32 outputs, places, inputs / 2, 32, 2], of 1×1
[blocks of 32 outputs, inputs / 2, 32, 2]. Where ReLU is the only activation, scales and biases make levels at once;
elsewhere `per_step` does, after the activation. In bf16 weights are [blocks of 32 outputs, side, side, inputs / 2, 32,
2], and scales and steps are 1."""

MOST_BUFFERS = 12

CONVOLUTION_SPACE = np.dtype(
    [
        ("places", np.int64),  # int16 [tiles of all places, channels]
        ("sums", np.int64),  # int32 [tiles of all places or points of all boards, 32]
        ("rows", np.int64),  # what the transforms need
        ("levels", np.int64, MOST_BUFFERS),  # int16 [boards, H, W, channels], framed [boards, H + 2, W + 2, …];
        # in bf16 [boards, H + 2, W + 1, …], where the zeros after a row are those before the next one
        ("values", np.int64),  # float32 [boards, H, W, pooled]
        ("pool", np.int64),  # float32 [3 * pooled]
        ("pool_bias", np.int64),  # float32 [boards, outputs]
    ]
)
"""Addresses of a worker's memory for convolutions. Frames of zeros are never written."""


@kernel
def run_layers(layers, first, end, network, tiles, space, streams, finish, curves, boards):
    """Run the layers from number `first` to before `end`: the first of them rounds a stream, the last adds to one.

    `streams` are the addresses of float32 [boards, H, W, channels]: the trunk's, those of bottlenecks in it, and so on.
    """
    parameters = network.parameters
    _aim(layers[first], tiles, space, finish)
    _write_levels(layers[first], parameters, tiles, streams, finish, curves, boards)
    if layers[first].in_bf16 == 1:
        shape_bf16_tiles()
    for number in range(first + 1, end):
        layer = layers[number]
        row, points = layer.inputs * SHORT_BYTES, boards * tiles.height * tiles.width
        levels = space.levels[layer.source]
        if layer.side == 3 and layer.in_bf16 == 0:
            transform_inputs(levels, space.places, space.rows, tiles, boards, layer.inputs)
        _aim(layer, tiles, space, finish)
        blocks, pooled_blocks = (layer.pooled + layer.outputs) // OUTPUTS, layer.pooled // OUTPUTS
        for block in range(blocks):
            if block < pooled_blocks:
                _finish_pooled(layer, network, space, finish, block)
            else:
                if block == pooled_blocks and block > 0:
                    _pool_bias(layer, parameters, tiles, space, boards)
                _finish_block(layer, parameters, space, streams, finish, block - pooled_blocks)
            finish.scale = parameters + layer.scale + block * OUTPUT_BYTES
            if layer.in_bf16 == 1:
                weights = parameters + layer.weights + block * layer.side**2 * row * OUTPUTS
                _multiply_bf16(levels, weights, layer, tiles, space.sums, finish, curves, boards)
            elif layer.side == 3:
                weights = parameters + layer.weights + block * network.points**2 * row * OUTPUTS
                for i in range(network.points):
                    for place in range(len(POINTS) * i, len(POINTS) * i + network.points):
                        start = tiles.starts[place]
                        ours, sums = space.places + start * row, space.sums + start * OUTPUT_BYTES
                        multiply_rows(ours, weights, sums, tiles.counts[place], row)
                        weights += row * OUTPUTS
                transform_outputs(space.sums, space.rows, tiles, boards, finish, curves)
            else:
                multiply_rows(levels, parameters + layer.weights + block * row * OUTPUTS, space.sums, points, row)
                finish_points(space.sums, tiles.height, tiles.width, boards, finish, curves)
    if layers[first].in_bf16 == 1:
        give_up_tiles()


@kernel
def _multiply_bf16(levels, weights, layer, tiles, sums, finish, curves, boards):
    """Compute a block of 32 outputs in bf16, board by board."""
    frame = layer.side // 2
    point, row_points = layer.inputs * SHORT_BYTES, tiles.width + frame
    points = (tiles.height - 1) * row_points + tiles.width
    for board in range(boards):
        from_ = levels + board * (tiles.height + 2 * frame) * row_points * point
        multiply_bf16_tiles(from_, row_points * point, layer.side, layer.inputs, weights, sums, points)
        finish_bf16_points(sums, row_points, board, tiles.height, tiles.width, finish, curves)


@kernel
def _aim(layer, tiles, space, finish):
    """Point FINISH to the levels that a layer writes."""
    point = layer.outputs * SHORT_BYTES
    beside = layer.is_framed if layer.in_bf16 == 1 else 2 * layer.is_framed
    finish.levels_point, finish.levels_row = point, (tiles.width + beside) * point
    finish.levels_board = (tiles.height + 2 * layer.is_framed) * finish.levels_row
    finish.levels = space.levels[layer.target] + layer.is_framed * (finish.levels_row + point)


@kernel
def _finish_pooled(layer, network, space, finish, block):
    finish.kind = TO_VALUES
    cut_values_off(finish, layer.pooled_activation)
    finish.per_step = network.parameters + network.ones
    finish.bias, finish.bias_step = network.parameters + layer.bias + block * OUTPUT_BYTES, 0
    finish.next_scale, finish.next_bias = finish.bias, finish.bias
    finish.stream, finish.stream_point = space.values + block * OUTPUT_BYTES, layer.pooled * FLOAT_BYTES


@kernel
def _finish_block(layer, parameters, space, streams, finish, block):
    """Set FINISH for a block of 32 outputs that are not pooled."""
    ours = block * OUTPUT_BYTES
    finish.kind, finish.activation = layer.kind, layer.activation
    finish.least, finish.most = layer.least, layer.most
    finish.bias, finish.bias_step = parameters + layer.bias + ours, 0
    if layer.pooled > 0:
        finish.bias, finish.bias_step = space.pool_bias + ours, layer.outputs * FLOAT_BYTES
    finish.next_scale, finish.next_bias = parameters + layer.next_scale + ours, parameters + layer.next_bias + ours
    finish.per_step = parameters + layer.per_step + ours
    finish.stream, finish.stream_point = streams[layer.stream] + ours, layer.outputs * FLOAT_BYTES
    if block > 0:
        finish.levels += OUTPUT_BYTES // 2


@kernel
def _write_levels(layer, parameters, tiles, streams, finish, curves, boards):
    """Round a stream to levels."""
    point = layer.outputs * FLOAT_BYTES
    least, most = floats(layer.least), floats(layer.most)
    for at in range(0, point, VECTOR_BYTES):
        scale = load_floats(parameters + layer.next_scale, at)
        bias = load_floats(parameters + layer.next_bias, at)
        curve = curve_at(curves, layer.activation, parameters + layer.per_step, at)
        from_ = streams[layer.stream] + at
        for board in range(boards):
            for y in range(tiles.height):
                to = finish.levels + board * finish.levels_board + y * finish.levels_row + at // 2
                for _ in range(tiles.width):
                    value = activated(load_floats(from_, 0) * scale + bias, least, most, curve)
                    if layer.in_bf16 == 1:
                        store_as_bfloats(to, 0, value)
                    else:
                        store_as_shorts(to, 0, value)
                    from_ += point
                    to += finish.levels_point


@kernel
def _pool_bias(layer, parameters, tiles, space, boards):
    """Compute the biases of the layer's other outputs from its pooled ones."""
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
