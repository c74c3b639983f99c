"""Attention of one head on one board, in integers: logits ("scores"), softmax weights ("shares"), the mix of values.

Queries and keys, rotated, have 16-bit levels, with one step for each head and board. The longest query and key
determine it: by the inequality of Cauchy and Schwarz no sum of products overflows. The upper 16 bits of a sum are the
score: a logit to the base 2, in fixed point ("octaves": each is a factor of two). A share is 2^(score - highest score),
a 16-bit integer; the mix divides by the sum of the shares. No floats are needed before that.
"""

from __future__ import annotations

import math

import numpy as np

from go_rules.machine.jit import kernel
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_parts
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    load_floats,
    load_ints,
    load_shorts,
    store,
    store_as_shorts,
    to_floats,
    total,
)
from nets.native.transformers.arithmetic import (
    EXPONENTIAL,
    ONE,
    add_shares,
    copy_pair,
    fade,
    highest_magnitude,
    highest_short,
    larger_magnitude,
    larger_shorts,
    left,
    masked,
    no_ints,
    right,
    rounded_pairs,
    share_of,
    shorts,
    swapped,
    total_of_ints,
)
from nets.native.transformers.products import score_block

LANES = VECTOR_BYTES // FLOAT_BYTES
KEYS = OUTPUTS
"""In a block of keys."""
LONGEST = 32000.0
"""Levels that the longest query and the longest key have."""
FINEST = 10
"""Most bits of a score behind the point."""
SHARE_BITS = 11
"""The largest share of a row is 2^SHARE_BITS; what is less than half of 1 is lost."""
SPARE_BITS = 16 - SHARE_BITS
LEAST = 1e-30
ROWS = 12
"""How many queries' scores are kept at a time."""

HEAD_BUFFERS = np.dtype(
    [
        ("queries", np.int64),  # int16 [area, size]
        ("key_rows", np.int64),  # the same of keys
        ("keys", np.int64),  # int16 [area / 32, size / 2, 32, 2]
        ("values", np.int64),  # int16 [width / 32, area / 2, 32, 2]
        ("scores", np.int64),  # int16 [12, area]
        ("sums", np.int64),  # int32 [12, 32]
        ("factors", np.int64),  # float32 [12, a vector]: what the sums of a row are multiplied by
    ]
)
"""Addresses of what one head works with; areas are rounded up to a multiple of 32."""


@kernel
def longest(rows, count, row_bytes, size):
    """Return the largest length of `count` vectors of `size` floats, above 0, or nan if one of them has nan."""
    most = np.float32(0.0)
    for row in range(count):
        squares = floats(0.0)
        for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
            value = load_floats(rows, row * row_bytes + at)
            squares = squares + value * value
        length = total(squares)
        if length > most or math.isnan(length):
            most = length
    return math.sqrt(most) + LEAST


@kernel
def write_rotated(rows, row_bytes, height, width, size, table, table_bytes, factor, levels):
    """Write int16 `levels` [H * W, size] of rows of floats, rotated by the angles of their points, times `factor`.

    `table` has float32 [2, 2, MAX_SIZE, size], `table_bytes` being a fourth of it: cosine and sine by x, then by y,
    each pair's first sine with the sign reversed."""
    multiplier = floats(factor)
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        from_, to = rows + at, levels + at // 2
        for y in range(height):
            by_y = table + y * size * FLOAT_BYTES + at
            cos_y = load_floats(by_y, 2 * table_bytes) * multiplier
            sin_y = load_floats(by_y, 3 * table_bytes) * multiplier
            by_x = table + at
            for _ in range(width):
                cos_x, sin_x = load_floats(by_x, 0), load_floats(by_x, table_bytes)
                value = load_floats(from_, 0)
                turned = value * (cos_x * cos_y - sin_x * sin_y) + swapped(value) * (sin_x * cos_y + cos_x * sin_y)
                store_as_shorts(to, 0, turned)
                from_ += row_bytes
                to += size * SHORT_BYTES
                by_x += size * FLOAT_BYTES


@kernel
def pack_keys(rows, area, size, keys):
    """Rearrange int16 keys [area, size] as score_block reads them."""
    block_bytes = KEYS * size * SHORT_BYTES
    for key in range(area):
        place = key % KEYS
        to = keys + key // KEYS * block_bytes + (place // 2 + place % 2 * (KEYS // 2)) * 4
        for _ in range(size // 2):
            copy_pair(rows, to)
            rows += 4
            to += OUTPUT_BYTES


@kernel
def pack_values(rows, area, row_bytes, size, most, values):
    """Write the levels of `area` rows of `size` floats, of which `most` is the largest, for a product with shares.

    Returns what one level is worth."""
    peaks = floats(0.0)
    for row in range(area):
        for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
            peaks = larger_magnitude(peaks, load_floats(rows, row * row_bytes + at))
    step = (highest_magnitude(peaks) + LEAST) / most
    factor = floats(1.0 / step)
    pairs = (area + 1) // 2
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        to = values + at // OUTPUT_BYTES * pairs * OUTPUT_BYTES + at % OUTPUT_BYTES
        for pair in range(area // 2):
            from_ = rows + 2 * pair * row_bytes + at
            even = load_floats(from_, 0) * factor
            odd = load_floats(from_, row_bytes) * factor
            store(to, pair * OUTPUT_BYTES, rounded_pairs(even, odd))
        if area % 2 == 1:
            last = load_floats(rows + (area - 1) * row_bytes, at) * factor
            store(to, area // 2 * OUTPUT_BYTES, rounded_pairs(last, floats(0.0)))
    return step


@kernel
def fraction_bits(octaves):
    """Return how many of the 15 bits of a score are a fraction, for scores of up to `octaves` octaves."""
    bits = FINEST
    while bits > 1 and octaves * (1 << bits) > LONGEST * LONGEST / 65536.0:
        bits -= 1
    return bits


@kernel
def write_shares(scores, blocks, tail, bits):
    """Turn a row of scores into shares in place, and return their sum. The last of `blocks` has `tail` keys."""
    last = (blocks - 1) * VECTOR_BYTES
    store(scores, last, masked(load_shorts(scores, last), tail))
    tops = load_shorts(scores, 0)
    for at in range(VECTOR_BYTES, blocks * VECTOR_BYTES, VECTOR_BYTES):
        tops = larger_shorts(load_shorts(scores, at), tops)
    top = shorts(highest_short(tops))
    to_octaves, to_fraction = shorts(bits), shorts(16 - bits)
    sums = no_ints()
    for at in range(0, blocks * VECTOR_BYTES, VECTOR_BYTES):
        below = top - load_shorts(scores, at)
        rest = left(below, to_fraction)
        power = shorts(ONE) - share_of(rest, shorts(EXPONENTIAL[0]) - share_of(rest, shorts(EXPONENTIAL[1])))
        power = fade(power, right(below, to_octaves) + shorts(SPARE_BITS - 1))
        shares = right(power + shorts(1), shorts(1))
        store(scores, at, shares)
        sums = add_shares(sums, shares)
    return total_of_ints(sums)


@kernel
def mix(buffers, area, size, value_size, bits, value_step, mixed, row_bytes):
    """Write the values of a head mixed by its shares at every point, float32 [area, value size]."""
    blocks = (area + KEYS - 1) // KEYS
    score_bytes = blocks * VECTOR_BYTES
    query_bytes, key_bytes = size * SHORT_BYTES, KEYS * size * SHORT_BYTES
    pairs = (area + 1) // 2
    for start in range(0, area, ROWS):
        count = min(ROWS, area - start)
        queries = buffers.queries + start * query_bytes
        for block in range(blocks):
            to = buffers.scores + block * VECTOR_BYTES
            score_block(queries, buffers.keys + block * key_bytes, to, count, query_bytes, score_bytes)
        for row in range(count):
            shares = write_shares(buffers.scores + row * score_bytes, blocks, area - (blocks - 1) * KEYS, bits)
            store(buffers.factors, row * VECTOR_BYTES, floats(value_step / shares))
        for at in range(0, value_size * FLOAT_BYTES, OUTPUT_BYTES):
            values = buffers.values + at * pairs
            multiply_parts(buffers.scores, values, buffers.sums, count, score_bytes, pairs * 4)
            to = mixed + start * row_bytes + at
            for row in range(count):
                factor = load_floats(buffers.factors, row * VECTOR_BYTES)
                for half in range(at, min(at + OUTPUT_BYTES, value_size * FLOAT_BYTES), VECTOR_BYTES):
                    level = to_floats(load_ints(buffers.sums, row * OUTPUT_BYTES + half - at))
                    store(to, row * row_bytes + half - at, level * factor)
