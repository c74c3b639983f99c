"""The last step of a convolution: its sums become activations for the next one, or are added to a residual stream."""

from __future__ import annotations

import math

import numpy as np

from nets.native.simd.activations import RELU, activated, curve_at
from nets.native.simd.bfloat16 import store_as_bfloats
from nets.native.simd.products import OUTPUT_BYTES
from nets.native.simd.vectors import VECTOR_BYTES, floats, load_floats, load_ints, store, store_as_shorts, to_floats
from nobi_machine.jit import kernel, kernel_part

TO_LEVELS, TO_STREAM, TO_VALUES, TO_NEW_STREAM = 0, 1, 2, 3
"""Kinds of FINISH: what becomes of y = sums * scale + bias.

    TO_LEVELS       levels = act(y)
    TO_STREAM       stream += y, and levels = act(stream * next_scale + next_bias)
    TO_NEW_STREAM   stream = y, and levels as for TO_STREAM
    TO_VALUES       the values in `stream` = act(y)
"""

FINISH = np.dtype(
    [
        ("kind", np.int64),
        ("scale", np.int64),  # addresses of the block's 32 floats
        ("bias", np.int64),
        ("bias_step", np.int64),  # from one board's bias to the next one's
        ("next_scale", np.int64),
        ("next_bias", np.int64),
        ("per_step", np.int64),  # what activations are multiplied by; read only where there are curves
        ("activation", np.int64),  # its place in activations.KINDS
        ("least", np.float64),  # where results are cut off
        ("most", np.float64),
        ("stream", np.int64),  # address of the block's channels at the first point
        ("stream_point", np.int64),  # from one point to the next
        ("levels", np.int64),  # address of the block's channels at the first point
        ("levels_point", np.int64),  # from one point to the next, one row, one board
        ("levels_row", np.int64),
        ("levels_board", np.int64),
    ]
)


@kernel
def cut_values_off(finish, activation):
    """Set FINISH so that values are cut off only where the activation itself cuts them off."""
    finish.activation = activation
    finish.least, finish.most = 0.0 if activation == RELU else -math.inf, math.inf


@kernel
def factors_at(finish, board, at):
    """Load what is the same for all points: vectors of `scale`, `bias`, `next_scale`, `next_bias`, `least`, `most`."""
    # Read once: for all LLVM knows, what is stored meanwhile could change them.
    return (
        load_floats(finish.scale, at),
        load_floats(finish.bias + board * finish.bias_step, at),
        load_floats(finish.next_scale, at),
        load_floats(finish.next_bias, at),
        floats(finish.least),
        floats(finish.most),
    )


@kernel
def finish_outputs(sums, kind, factors, curve, stream, levels):
    """Finish one vector of `sums` and write it to the addresses `stream` and `levels`."""
    value = _finished(sums, kind, factors, curve, stream)
    if kind != TO_VALUES:
        store_as_shorts(levels, 0, value)


@kernel_part
def _finished(sums, kind, factors, curve, stream):
    value = sums * factors[0] + factors[1]
    if kind == TO_STREAM:
        value = value + load_floats(stream, 0)
    if kind == TO_STREAM or kind == TO_NEW_STREAM:
        store(stream, 0, value)
        value = value * factors[2] + factors[3]
    value = activated(value, factors[4], factors[5], curve)
    if kind == TO_VALUES:
        store(stream, 0, value)
    return value


@kernel
def finish_points(sums, height, width, boards, finish, curves):
    """Finish the int32 `sums` [boards, H, W, 32] of a 1×1 convolution."""
    kind, stream_point, levels_point = finish.kind, finish.stream_point, finish.levels_point
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        curve = curve_at(curves, finish.activation, finish.per_step, at)
        from_, stream = sums + at, finish.stream + at
        for board in range(boards):
            factors = factors_at(finish, board, at)
            for y in range(height):
                levels = finish.levels + board * finish.levels_board + y * finish.levels_row + at // 2
                for _ in range(width):
                    finish_outputs(to_floats(load_ints(from_, 0)), kind, factors, curve, stream, levels)
                    from_ += OUTPUT_BYTES
                    stream += stream_point
                    levels += levels_point


@kernel
def finish_bf16_points(sums, row_points, board, height, width, finish, curves):
    """Finish float32 `sums` [H, row_points, 32] of one board; those of the first `width` points of each row count.
    What become levels elsewhere become numbers in bf16."""
    kind, stream_point, levels_point = finish.kind, finish.stream_point, finish.levels_point
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        curve, factors = curve_at(curves, finish.activation, finish.per_step, at), factors_at(finish, board, at)
        stream = finish.stream + board * height * width * stream_point + at
        for y in range(height):
            from_ = sums + y * row_points * OUTPUT_BYTES + at
            levels = finish.levels + board * finish.levels_board + y * finish.levels_row + at // 2
            for _ in range(width):
                value = _finished(load_floats(from_, 0), kind, factors, curve, stream)
                if kind != TO_VALUES:
                    store_as_bfloats(levels, 0, value)
                from_ += OUTPUT_BYTES
                stream += stream_point
                levels += levels_point
