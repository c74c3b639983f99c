"""Transformer blocks on the points of some boards, row after row: attention, feed-forward, and ends of bottlenecks.

A bottleneck has a residual stream of its own, with fewer channels. One block narrows the stream around it to that of
the blocks inside, which follow it, and another one widens the result and adds it.
"""

from __future__ import annotations

import numpy as np

from go_rules.points import MAX_SIZE
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_rows
from nets.native.simd.tile_products import ROWS_AT_ONCE, give_up_tiles, shape_tiles
from nets.native.transformers.attention import (
    LONGEST,
    SHARE_BITS,
    fraction_bits,
    largest_square,
    longest,
    mix,
    pack_int8_keys,
    pack_int8_values,
    pack_keys,
    pack_values,
    rotate,
    write_int8_queries,
    write_shorts,
)
from nets.native.transformers.products import ATTENDS_INT8, IN_TILES, multiply_many_int8
from nets.native.transformers.rows import add_values, put_gated, put_silu, put_values, write_activated, write_levels
from nobi_machine.jit import kernel

TO_VALUES, TO_STREAM, TO_GATED, TO_SILU = map(np.int64, range(4))  # for literals, kernels are compiled once each
"""What to do with a matrix's outputs."""
ATTENTION, FEED_FORWARD, NARROW, WIDEN = 0, 1, 2, 3
"""The kinds of blocks. The last two are the ends of a bottleneck."""
CHUNK = ROWS_AT_ONCE if IN_TILES else 24
"""So many rows at a time: their levels and outputs stay in the processor's first caches."""
LARGEST_SUM = 2.0**31 - 2.0**20
LARGEST_SHORT = 32767.0

BLOCK = np.dtype(
    [
        ("kind", np.int64),
        ("stream", np.int64),  # the number of the stream that it reads
        ("heads", np.int64),
        ("kv_heads", np.int64),
        ("size", np.int64),  # of queries and keys and of values, multiples of 16
        ("value_size", np.int64),
        ("octaves", np.float64),  # log2(e) / sqrt(query size): the base-2 logit of a product of 1 of a query and a key
        ("rotation", np.int64),  # float32 [kv heads, 2, 2, MAX_SIZE, size], see attention.rotate; offset
        ("share", np.float64),  # 1 / channels: makes a row's sum of squares its mean square, for the RMS norm
        ("epsilon", np.float64),
        ("scores_int8", np.int64),  # 1: queries and keys have 8 bits, 0: 16
        ("mixes_int8", np.int64),  # the same of shares and values
        ("first", np.int64),  # numbers of MATRIX records
        ("second", np.int64),
        ("gated", np.int64),  # 1: a feed-forward block with a gate
        ("gamma", np.int64),  # offsets of float32 [channels]: a bottleneck reads activation(x * gamma + beta)
        ("beta", np.int64),
        ("activation", np.int64),  # its place in activations.KINDS
    ]
)
"""An attention block's first matrix has queries, keys and values; its second one reads what the heads mix.
A feed-forward block's first matrix has, by blocks of 32 outputs, 16 of the first one and 16 of the gate.
The ends of a bottleneck have a first matrix only."""

ROW_SPACE = np.dtype(
    [
        ("values", np.int64),  # float32 [rows, queries, keys, values]
        ("mixed", np.int64),  # float32 [rows, heads * value size]
        ("levels", np.int64),  # of CHUNK rows
        ("hidden", np.int64),  # float32 [CHUNK, hidden]
        ("sums", np.int64),  # int32 [CHUNK, 32]
        ("steps", np.int64),  # float32 [CHUNK]
    ]
)
"""Addresses of a worker's memory for rows, whatever the block."""


@kernel
def multiply(matrix, parameters, room, count, kind, to, to_bytes, to_block):
    """Multiply the `count` rows in `room.levels`, at most CHUNK, by a matrix, and write or add the results.

    They go to an address, `to_bytes` from one row to the next and `to_block` from one block of outputs to the next.
    """
    block_bytes = matrix.inputs * OUTPUTS
    if matrix.in_int8 == 0:
        block_bytes *= SHORT_BYTES
    for block in range(matrix.outputs // OUTPUTS):
        weights = parameters + matrix.weights + block * block_bytes
        if matrix.in_int8 == 1:
            multiply_many_int8(room.levels, weights, room.sums, count, matrix.inputs, matrix.inputs)
        else:
            multiply_rows(room.levels, weights, room.sums, count, matrix.inputs * SHORT_BYTES)
        scale = parameters + matrix.scale + block * OUTPUT_BYTES
        shift = parameters + matrix.shift + block * OUTPUT_BYTES
        if kind == TO_VALUES:
            put_values(room.sums, count, scale, shift, room.steps, to, to_bytes)
        elif kind == TO_STREAM:
            add_values(room.sums, count, scale, shift, room.steps, to, to_bytes)
        elif kind == TO_GATED:
            put_gated(room.sums, count, scale, shift, room.steps, to, to_bytes)
        else:
            put_silu(room.sums, count, scale, shift, room.steps, to, to_bytes)
        to += to_block


@kernel
def run_blocks(blocks, first, end, matrices, parameters, room, streams, buffers, boards, height, width):
    """Run the blocks from number `first` to before `end` on `boards` boards, whose points are the rows of the streams.

    `streams` are the addresses of float32 [rows, channels]: the trunk's, those of bottlenecks in it, and so on.
    """
    rows = boards * height * width
    shape_tiles()
    for number in range(first, end):
        block = blocks[number]
        stream, matrix = streams[block.stream], matrices[block.first]
        if block.kind == NARROW:
            _resize(block, matrix, parameters, room, stream, streams[block.stream + 1], TO_VALUES, rows)
        elif block.kind == WIDEN:
            _resize(block, matrix, parameters, room, stream, streams[block.stream - 1], TO_STREAM, rows)
        elif block.kind == ATTENTION:
            second = matrices[block.second]
            _attend(block, matrix, second, parameters, room, stream, buffers, boards, height, width)
        else:
            _feed_forward(block, matrix, matrices[block.second], parameters, room, stream, rows)
    give_up_tiles()


@kernel
def _resize(block, matrix, parameters, room, stream, to, kind, rows):
    """Compute an end of a bottleneck, from one stream to another."""
    row_bytes, to_bytes = matrix.inputs * FLOAT_BYTES, matrix.outputs * FLOAT_BYTES
    gamma, beta = parameters + block.gamma, parameters + block.beta
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        write_activated(stream, count, row_bytes, np.float32(1.0), gamma, beta, block.activation, room.hidden)
        write_levels(room.hidden, count, matrix, parameters, 0.0, 0.0, room.levels, room.steps)
        multiply(matrix, parameters, room, count, kind, to, to_bytes, OUTPUT_BYTES)
        stream += count * row_bytes
        to += count * to_bytes


@kernel
def _feed_forward(block, first, second, parameters, room, whole, rows):
    row_bytes, hidden_bytes = first.inputs * FLOAT_BYTES, second.inputs * FLOAT_BYTES
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        stream = whole + start * row_bytes
        write_levels(stream, count, first, parameters, block.share, block.epsilon, room.levels, room.steps)
        if block.gated == 1:
            multiply(first, parameters, room, count, TO_GATED, room.hidden, hidden_bytes, OUTPUT_BYTES // 2)
        else:
            multiply(first, parameters, room, count, TO_SILU, room.hidden, hidden_bytes, OUTPUT_BYTES)
        write_levels(room.hidden, count, second, parameters, 0.0, 0.0, room.levels, room.steps)
        multiply(second, parameters, room, count, TO_STREAM, stream, row_bytes, OUTPUT_BYTES)


@kernel
def _attend(block, first, second, parameters, room, whole, buffers, boards, height, width):
    area = height * width
    rows = boards * area
    row_bytes, value_bytes = first.inputs * FLOAT_BYTES, first.outputs * FLOAT_BYTES
    mixed_bytes = second.inputs * FLOAT_BYTES
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        stream = whole + start * row_bytes
        write_levels(stream, count, first, parameters, block.share, block.epsilon, room.levels, room.steps)
        values = room.values + start * value_bytes
        multiply(first, parameters, room, count, TO_VALUES, values, value_bytes, OUTPUT_BYTES)
    for board in range(boards):
        values = room.values + board * area * value_bytes
        _attend_board(block, parameters, values, value_bytes, room, buffers, board, height, width, mixed_bytes)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        mixed = room.mixed + start * mixed_bytes
        write_levels(mixed, count, second, parameters, 0.0, 0.0, room.levels, room.steps)
        stream = whole + start * row_bytes
        multiply(second, parameters, room, count, TO_STREAM, stream, row_bytes, OUTPUT_BYTES)


@kernel
def _attend_board(block, parameters, rows, row_bytes, room, buffers, board, height, width, mixed_bytes):
    """All heads on one board, whose queries, keys and values are in `rows`, one after another."""
    area, size, value_size = height * width, block.size, block.value_size
    groups = block.heads // block.kv_heads
    keys = rows + block.heads * size * FLOAT_BYTES
    values = keys + block.kv_heads * size * FLOAT_BYTES
    table_bytes = MAX_SIZE * size * FLOAT_BYTES
    most = min(LARGEST_SUM / (area << SHARE_BITS), LARGEST_SHORT)
    for kv_head in range(block.kv_heads):
        our_keys = keys + kv_head * size * FLOAT_BYTES
        our_values = values + kv_head * value_size * FLOAT_BYTES
        table = parameters + block.rotation + kv_head * 4 * table_bytes
        rotate(our_keys, row_bytes, height, width, size, table, table_bytes)
        if ATTENDS_INT8 and block.scores_int8 == 1:
            # Here no length is needed: all that counts is whether it is finite.
            longest_key = largest_square(our_keys, area, row_bytes, size)
            pack_int8_keys(buffers, our_keys, area, row_bytes, size)
        else:
            longest_key = longest(our_keys, area, row_bytes, size)
            write_shorts(our_keys, area, row_bytes, size, LONGEST / longest_key, buffers.key_rows)
            pack_keys(buffers.key_rows, area, size // 2, buffers.keys)
        if ATTENDS_INT8 and block.mixes_int8 == 1:
            pack_int8_values(our_values, area, row_bytes, value_size, buffers.steps, buffers.values)
        else:
            pack_values(our_values, area, row_bytes, value_size, most, buffers.steps, buffers.values)
        for head in range(kv_head * groups, (kv_head + 1) * groups):
            queries = rows + head * size * FLOAT_BYTES
            rotate(queries, row_bytes, height, width, size, table, table_bytes)
            fraction = shift = 0
            if ATTENDS_INT8 and block.scores_int8 == 1:
                longest_query = largest_square(queries, area, row_bytes, size)
                shift = write_int8_queries(buffers, queries, area, row_bytes, size, block.octaves)
            else:
                longest_query = longest(queries, area, row_bytes, size)
                fraction = fraction_bits(longest_query * longest_key * block.octaves)
                step = (1 << fraction) * block.octaves * longest_key / LONGEST
                write_shorts(
                    queries, area, row_bytes, size, min(65536.0 * step, LONGEST / longest_query), buffers.queries
                )
            mixed = room.mixed + board * area * mixed_bytes + head * value_size * FLOAT_BYTES
            one_or_nan = 1.0 + 0.0 * (longest_query + longest_key)
            mix(block, buffers, area, fraction, shift, one_or_nan, mixed, mixed_bytes)
