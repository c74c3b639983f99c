"""The kernels of Winograd's method in fp32: transforms of tiles, and products of matrices at each place of a tile.

nets/native/convolutions/tiling.py says how boards are cut into tiles; here its parts have 3 or 4 points. Boards lie in
memory point by point, [H, W, channels], channels in steps of 16. Addresses, offsets and steps are in bytes.
"""

from __future__ import annotations

from go_rules.compilation.jit import kernel
from nets.native.convolutions.tiling import LARGEST, PLACES
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.vectors import VECTOR_BYTES, floats, load_floats, store
from training.convolutions.products import add_products, multiply

SIDE = LARGEST + 2
"""The places of a tile along one side, of which there are PLACES in all."""


@kernel
def convolve(x, y, weights, room, tiles, boards, inputs, outputs):
    """Convolve boards `x` [boards, H, W, inputs] to `y` [boards, H, W, outputs].

    `weights` are [places, inputs, outputs]. `room` is memory for what lies between (winograd.py).
    """
    places, sums, rows, frame = _rooms(room, tiles, inputs, outputs)
    x_row, row = stride(inputs), stride(outputs)
    _spread(x, places, rows, frame, tiles, boards, inputs * FLOAT_BYTES, x_row)
    for place in range(PLACES):
        count, start = tiles.counts[place], tiles.starts[place]
        if count > 0:
            block = weights + place * inputs * outputs * FLOAT_BYTES
            multiply(places + start * x_row, x_row, block, sums + start * row, row, count, inputs, outputs)
    _gather(y, sums, rows, tiles, boards, outputs * FLOAT_BYTES, row)


@kernel
def add_gradient(x, dy, gradient, room, tiles, boards, inputs, outputs):
    """Add to `gradient` [places, inputs, outputs] what `dy` [boards, H, W, outputs] says of the weights that made
    `y` of `x`."""
    places, sums, rows, frame = _rooms(room, tiles, inputs, outputs)
    x_row, row = stride(inputs), stride(outputs)
    _spread(x, places, rows, frame, tiles, boards, inputs * FLOAT_BYTES, x_row)
    _spread_gradient(dy, sums, rows, tiles, boards, outputs * FLOAT_BYTES, row)
    for place in range(PLACES):
        count, start = tiles.counts[place], tiles.starts[place]
        if count > 0:
            to = gradient + place * inputs * outputs * FLOAT_BYTES
            add_products(places + start * x_row, x_row, sums + start * row, row, to, count, inputs, outputs)


@kernel
def _rooms(room, tiles, inputs, outputs):
    """Cut the room: tiles of all places as they are read and as sums, SIDE rows of a board, a board in its frame."""
    total = tiles.starts[PLACES - 1] + tiles.counts[PLACES - 1]
    sums = room + total * stride(inputs)
    rows = sums + total * stride(outputs)
    frame = rows + SIDE * (tiles.width + 2) * max(inputs, outputs) * FLOAT_BYTES
    return room, sums, rows, frame


@kernel
def stride(channels):
    """Return the bytes from one tile to the next at a place: an odd number of the cache's lines, so that columns of a
    matrix do not share a few of its sets."""
    return (channels * FLOAT_BYTES // VECTOR_BYTES | 1) * VECTOR_BYTES


@kernel
def _place(places, tiles, i, index, j, step):
    """Return where the first tile of row of tiles number `index` has place (i, j)."""
    return places + (tiles.starts[SIDE * i + j] + index * tiles.columns_with[j]) * step


@kernel
def _spread(x, places, rows, frame, tiles, boards, point, step):
    """Transform boards to the inputs [tiles of all places, channels] of products. `frame` has room for a board and the
    points around it, `rows` for [6, W + 2, channels]; `point` is the bytes of a point's channels."""
    row = (tiles.width + 2) * point
    inner = tiles.width * point
    for at in range(0, (tiles.height + 2) * row, VECTOR_BYTES):
        store(frame, at, floats(0.0))
    for board in range(boards):
        for line in range(tiles.height):
            source = x + (board * tiles.height + line) * inner
            target = frame + (line + 1) * row + point
            for at in range(0, inner, VECTOR_BYTES):
                store(target, at, load_floats(source, at))
        _spread_board(False, frame, places, rows, tiles, board, row, point, step)


@kernel
def _spread_gradient(dy, places, rows, tiles, boards, point, step):
    """Transform gradients of boards to those of sums: the transpose of `_gather`."""
    row = tiles.width * point
    for board in range(boards):
        _spread_board(True, dy + board * tiles.height * row, places, rows, tiles, board, row, point, step)


@kernel
def _spread_board(is_gradient, top, places, rows, tiles, board, row, point, step):
    """Transform a board at `top`, whose rows are `row` bytes apart: first all columns, then all rows."""
    for number in range(tiles.tile_rows):
        height = tiles.heights[number]
        to3, to4, to5 = rows + 3 * row, rows + 4 * row, rows + 5 * row
        _transform(is_gradient, height, top, row, rows, rows + row, rows + 2 * row, to3, to4, to5, row)
        top += height * row
        for i in range(height + 2):
            left = rows + i * row
            index = board * tiles.rows_with[i] + number
            to0, to1 = _place(places, tiles, i, index, 0, step), _place(places, tiles, i, index, 1, step)
            to2, to3 = _place(places, tiles, i, index, 2, step), _place(places, tiles, i, index, 3, step)
            to4, to5 = _place(places, tiles, i, index, 4, step), _place(places, tiles, i, index, 5, step)
            for column in range(tiles.tile_columns):
                width = tiles.widths[column]
                _transform(is_gradient, width, left, point, to0, to1, to2, to3, to4, to5, point)
                left += width * point
                to0, to1, to2, to3, to4, to5 = to0 + step, to1 + step, to2 + step, to3 + step, to4 + step, to5 + step


@kernel
def _transform(is_gradient, size, first, step, to0, to1, to2, to3, to4, to5, length):
    if is_gradient:
        _outputs_back(size, first, step, to0, to1, to2, to3, to4, to5, length)
    else:
        _inputs(size, first, step, to0, to1, to2, to3, to4, to5, length)


@kernel
def _inputs(size, first, step, to0, to1, to2, to3, to4, to5, length):
    """Apply B^T to `size` + 2 lines of `length` bytes that are `step` apart; writes as many."""
    two, four, five = floats(2.0), floats(4.0), floats(5.0)
    for at in range(0, length, VECTOR_BYTES):
        x0, x1 = load_floats(first, at), load_floats(first + step, at)
        x2, x3 = load_floats(first + 2 * step, at), load_floats(first + 3 * step, at)
        x4 = load_floats(first + 4 * step, at)
        if size == 4:
            x5 = load_floats(first + 5 * step, at)
            even, odd = x4 - four * x2, x3 - four * x1
            store(to0, at, four * x0 - five * x2 + x4)
            store(to1, at, even + odd)
            store(to2, at, even - odd)
            store(to3, at, four * x1 - five * x3 + x5)
            even, odd = x4 - x2, two * (x3 - x1)
            store(to4, at, even + odd)
            store(to5, at, even - odd)
        else:
            twice = two * x1
            store(to0, at, two * (x0 - x2) - x1 + x3)
            store(to1, at, x3 - x2 - twice)
            store(to2, at, x3 - floats(3.0) * x2 + twice)
            store(to3, at, twice - two * x3 - x2 + x4)
            store(to4, at, x3 - x1)


@kernel
def _gather(y, sums, rows, tiles, boards, point, step):
    """Transform the sums [tiles of all places, channels] to boards `y`. `rows` has room for [6, W, channels]."""
    row = tiles.width * point
    for board in range(boards):
        top = y + board * tiles.height * row
        for number in range(tiles.tile_rows):
            height = tiles.heights[number]
            for i in range(height + 2):
                left = rows + i * row
                index = board * tiles.rows_with[i] + number
                from0, from1 = _place(sums, tiles, i, index, 0, step), _place(sums, tiles, i, index, 1, step)
                from2, from3 = _place(sums, tiles, i, index, 2, step), _place(sums, tiles, i, index, 3, step)
                from4, from5 = _place(sums, tiles, i, index, 4, step), _place(sums, tiles, i, index, 5, step)
                for column in range(tiles.tile_columns):
                    width = tiles.widths[column]
                    _outputs(width, from0, from1, from2, from3, from4, from5, left, point, point)
                    left += width * point
                    from0, from1, from2 = from0 + step, from1 + step, from2 + step
                    from3, from4, from5 = from3 + step, from4 + step, from5 + step
            from3, from4, from5 = rows + 3 * row, rows + 4 * row, rows + 5 * row
            _outputs(height, rows, rows + row, rows + 2 * row, from3, from4, from5, top, row, row)
            top += height * row


@kernel
def _outputs(size, from0, from1, from2, from3, from4, from5, to, step, length):
    """Apply A^T to `size` + 2 lines of `length` bytes; writes `size` lines that are `step` apart."""
    for at in range(0, length, VECTOR_BYTES):
        x0, x1, x2 = load_floats(from0, at), load_floats(from1, at), load_floats(from2, at)
        x3, x4 = load_floats(from3, at), load_floats(from4, at)
        if size == 4:
            x5 = load_floats(from5, at)
            even, odd = floats(-1 / 3) * (x1 + x2), floats(-1 / 3) * (x1 - x2)
            even2, odd2 = floats(1 / 6) * (x4 + x5), floats(1 / 6) * (x4 - x5)
            store(to, at, floats(0.25) * x0 + even + even2)
            store(to + step, at, odd + floats(2.0) * odd2)
            store(to + 2 * step, at, even + floats(4.0) * even2)
            store(to + 3 * step, at, odd + floats(8.0) * odd2 + x3)
        else:
            x2, x4 = floats(-1 / 3) * x2, floats(2 / 3) * x4
            even = x2 - x1
            store(to, at, floats(0.5) * x0 + even + x4)
            store(to + step, at, floats(2.0) * x4 - x1 - x2)
            store(to + 2 * step, at, even + floats(4.0) * x4 + x3)


@kernel
def _outputs_back(size, first, step, to0, to1, to2, to3, to4, to5, length):
    """Apply A to `size` lines of `length` bytes that are `step` apart; writes `size` + 2."""
    for at in range(0, length, VECTOR_BYTES):
        y0, y1, y2 = load_floats(first, at), load_floats(first + step, at), load_floats(first + 2 * step, at)
        if size == 4:
            y3 = load_floats(first + 3 * step, at)
            store(to0, at, floats(0.25) * y0)
            even, odd = y0 + y2, y1 + y3
            store(to1, at, floats(-1 / 3) * (even + odd))
            store(to2, at, floats(-1 / 3) * (even - odd))
            store(to3, at, y3)
            even, odd = y0 + floats(4.0) * y2, floats(2.0) * y1 + floats(8.0) * y3
            store(to4, at, floats(1 / 6) * (even + odd))
            store(to5, at, floats(1 / 6) * (even - odd))
        else:
            even = y0 + y2
            store(to0, at, floats(0.5) * y0)
            store(to1, at, floats(-1.0) * (even + y1))
            store(to2, at, floats(-1 / 3) * (even - y1))
            store(to3, at, y2)
            store(to4, at, floats(2 / 3) * (y0 + floats(2.0) * y1 + floats(4.0) * y2))
