"""The kernels of Winograd's transforms, and of what becomes of a convolution's sums; tiling.py has the matrices.

Boards lie in memory point by point, [H + 2, W + 2, channels] with a frame of zeros where convolutions read and
[H, W, channels] where only their sums go. Addresses, offsets and steps are in bytes.
"""

from __future__ import annotations

import math

import numpy as np

from nets.native.simd.activations import RELU, activated, curve_at
from nets.native.simd.products import OUTPUT_BYTES
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    load_floats,
    load_ints,
    load_shorts,
    store,
    store_as_bfloats,
    store_as_shorts,
    times,
    to_floats,
)
from nobi_machine.jit import kernel, kernel_part

# --- What becomes of the sums ----------------------------------------------------------------------------------------
# They become activations for the next convolution, or are added to a residual stream.

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


# --- Winograd's transforms -------------------------------------------------------------------------------------------

SHORT_BYTES, FLOAT_BYTES = 2, 4


@kernel
def transform_inputs(levels, places, rows, tiles, boards, channels):
    """Transform `levels` [boards, H + 2, W + 2, channels] to the inputs [tiles of all places, channels] in int16.

    `rows` has room for [6, W + 2, channels].
    """
    point = channels * SHORT_BYTES
    row = (tiles.width + 2) * point
    for board in range(boards):
        top = levels + board * (tiles.height + 2) * row
        for number in range(tiles.tile_rows):
            height = tiles.heights[number]
            to3 = rows + 3 * row
            _inputs(height, top, row, rows, rows + row, rows + 2 * row, to3, to3 + row, to3 + 2 * row, row)
            top += height * row
            for i in range(height + 2):
                left = rows + i * row
                index = board * tiles.rows_with[i] + number
                to0 = places + (tiles.starts[6 * i] + index * tiles.columns_with[0]) * point
                to1 = places + (tiles.starts[6 * i + 1] + index * tiles.columns_with[1]) * point
                to2 = places + (tiles.starts[6 * i + 2] + index * tiles.columns_with[2]) * point
                to3 = places + (tiles.starts[6 * i + 3] + index * tiles.columns_with[3]) * point
                to4 = places + (tiles.starts[6 * i + 4] + index * tiles.columns_with[4]) * point
                to5 = places + (tiles.starts[6 * i + 5] + index * tiles.columns_with[5]) * point
                for column in range(tiles.tile_columns):
                    width = tiles.widths[column]
                    at = column * point
                    _inputs(width, left, point, to0 + at, to1 + at, to2 + at, to3 + at, to4 + at, to5 + at, point)
                    left += width * point


@kernel
def _inputs(size, first, step, to0, to1, to2, to3, to4, to5, length):
    """Apply B^T to `size` + 2 lines of `length` bytes that are `step` apart; writes as many."""
    for at in range(0, length, VECTOR_BYTES):
        x0 = load_shorts(first, at)
        x1 = load_shorts(first + step, at)
        x2 = load_shorts(first + 2 * step, at)
        x3 = load_shorts(first + 3 * step, at)
        if size == 4:
            x4 = load_shorts(first + 4 * step, at)
            x5 = load_shorts(first + 5 * step, at)
            even, odd = x4 - times(4, x2), x3 - times(4, x1)
            store(to0, at, times(4, x0) - times(5, x2) + x4)
            store(to1, at, even + odd)
            store(to2, at, even - odd)
            store(to3, at, times(4, x1) - times(5, x3) + x5)
            even, odd = x4 - x2, times(2, x3 - x1)
            store(to4, at, even + odd)
            store(to5, at, even - odd)
        elif size == 3:
            x4 = load_shorts(first + 4 * step, at)
            twice = times(2, x1)
            store(to0, at, times(2, x0 - x2) - x1 + x3)
            store(to1, at, x3 - x2 - twice)
            store(to2, at, x3 - times(3, x2) + twice)
            store(to3, at, twice - times(2, x3) - x2 + x4)
            store(to4, at, x3 - x1)
        else:
            store(to0, at, x2 - x0)
            store(to1, at, x1 + x2)
            store(to2, at, x2 - x1)
            store(to3, at, x3 - x1)


@kernel
def transform_outputs(sums, rows, tiles, boards, finish, curves):
    """Transform the `sums` [tiles of all places, 32] of a block of outputs to points, and finish them as FINISH says.

    `rows` has room for [6, W, 32].
    """
    row = tiles.width * OUTPUT_BYTES
    for board in range(boards):
        top = np.int64(0)  # not a literal, for which what is called would be compiled a second time
        for number in range(tiles.tile_rows):
            height = tiles.heights[number]
            for i in range(height + 2):
                left = rows + i * row
                index = board * tiles.rows_with[i] + number
                from0 = sums + (tiles.starts[6 * i] + index * tiles.columns_with[0]) * OUTPUT_BYTES
                from1 = sums + (tiles.starts[6 * i + 1] + index * tiles.columns_with[1]) * OUTPUT_BYTES
                from2 = sums + (tiles.starts[6 * i + 2] + index * tiles.columns_with[2]) * OUTPUT_BYTES
                from3 = sums + (tiles.starts[6 * i + 3] + index * tiles.columns_with[3]) * OUTPUT_BYTES
                from4 = sums + (tiles.starts[6 * i + 4] + index * tiles.columns_with[4]) * OUTPUT_BYTES
                from5 = sums + (tiles.starts[6 * i + 5] + index * tiles.columns_with[5]) * OUTPUT_BYTES
                for column in range(tiles.tile_columns):
                    at = column * OUTPUT_BYTES
                    width = tiles.widths[column]
                    _columns(width, left, from0 + at, from1 + at, from2 + at, from3 + at, from4 + at, from5 + at)
                    left += width * OUTPUT_BYTES
            _rows(height, rows, row, tiles, board, top, finish, curves)
            top += height


@kernel
def _four(x0, x1, x2, x3, x4, x5):
    """Apply A^T for tiles of four points."""
    third, sixth = floats(-1 / 3), floats(1 / 6)
    even, odd = third * (x1 + x2), third * (x1 - x2)
    even2, odd2 = sixth * (x4 + x5), sixth * (x4 - x5)
    y0 = floats(0.25) * x0 + even + even2
    return y0, odd + floats(2.0) * odd2, even + floats(4.0) * even2, odd + floats(8.0) * odd2 + x3


@kernel
def _three(x0, x1, x2, x3, x4):
    """Apply A^T for tiles of three points."""
    x2, x4 = floats(-1 / 3) * x2, floats(2 / 3) * x4
    even = x2 - x1
    return floats(0.5) * x0 + even + x4, floats(2.0) * x4 - x1 - x2, even + floats(4.0) * x4 + x3


@kernel
def _two(x0, x1, x2, x3):
    """Apply A^T for tiles of two points."""
    return x1 + x2 - x0, x1 - x2 + x3


@kernel
def _columns(size, to, from0, from1, from2, from3, from4, from5):
    """Transform one tile's sums at six places of a row to `size` points in `rows`."""
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        x0 = to_floats(load_ints(from0, at))
        x1 = to_floats(load_ints(from1, at))
        x2 = to_floats(load_ints(from2, at))
        x3 = to_floats(load_ints(from3, at))
        if size == 4:
            y0, y1, y2, y3 = _four(x0, x1, x2, x3, to_floats(load_ints(from4, at)), to_floats(load_ints(from5, at)))
            store(to, at, y0)
            store(to + OUTPUT_BYTES, at, y1)
            store(to + 2 * OUTPUT_BYTES, at, y2)
            store(to + 3 * OUTPUT_BYTES, at, y3)
        elif size == 3:
            y0, y1, y2 = _three(x0, x1, x2, x3, to_floats(load_ints(from4, at)))
            store(to, at, y0)
            store(to + OUTPUT_BYTES, at, y1)
            store(to + 2 * OUTPUT_BYTES, at, y2)
        else:
            y0, y1 = _two(x0, x1, x2, x3)
            store(to, at, y0)
            store(to + OUTPUT_BYTES, at, y1)


@kernel
def _rows(size, rows, row, tiles, board, top, finish, curves):
    """Transform a row of tiles in `rows` to `size` rows of points, from row `top` on, and finish them."""
    width, kind = tiles.width, finish.kind
    stream_point, levels_point = finish.stream_point, finish.levels_point
    stream_row, levels_row = width * stream_point, finish.levels_row
    first_stream = finish.stream + (board * tiles.height + top) * stream_row
    first_levels = finish.levels + board * finish.levels_board + top * levels_row
    for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
        factors, curve = factors_at(finish, board, at), curve_at(curves, finish.activation, finish.per_step, at)
        sums, stream, levels = rows + at, first_stream + at, first_levels + at // 2
        for _ in range(width):
            x0, x1 = load_floats(sums, 0), load_floats(sums, row)
            x2, x3 = load_floats(sums, 2 * row), load_floats(sums, 3 * row)
            if size == 4:
                y0, y1, y2, y3 = _four(x0, x1, x2, x3, load_floats(sums, 4 * row), load_floats(sums, 5 * row))
                finish_outputs(y0, kind, factors, curve, stream, levels)
                second = stream + stream_row, levels + levels_row
                finish_outputs(y1, kind, factors, curve, *second)
                third = stream + 2 * stream_row, levels + 2 * levels_row
                finish_outputs(y2, kind, factors, curve, *third)
                fourth = stream + 3 * stream_row, levels + 3 * levels_row
                finish_outputs(y3, kind, factors, curve, *fourth)
            elif size == 3:
                y0, y1, y2 = _three(x0, x1, x2, x3, load_floats(sums, 4 * row))
                finish_outputs(y0, kind, factors, curve, stream, levels)
                second = stream + stream_row, levels + levels_row
                finish_outputs(y1, kind, factors, curve, *second)
                third = stream + 2 * stream_row, levels + 2 * levels_row
                finish_outputs(y2, kind, factors, curve, *third)
            else:
                y0, y1 = _two(x0, x1, x2, x3)
                finish_outputs(y0, kind, factors, curve, stream, levels)
                second = stream + stream_row, levels + levels_row
                finish_outputs(y1, kind, factors, curve, *second)
            sums += OUTPUT_BYTES
            stream += stream_point
            levels += levels_point
