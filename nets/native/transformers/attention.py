"""Attention of one head on one board, in integers: logits ("scores"), softmax weights ("shares"), the mix of values.

Queries and keys, rotated, have 16-bit levels, with one step for each head and board. The longest query and key
determine it: by the inequality of Cauchy and Schwarz no sum of products overflows. The upper 16 bits of a sum are the
score: a logit to the base 2, in fixed point ("octaves": each is a factor of two). A share is 2^(score - highest score),
an integer; the mix divides by the sum of the shares. From the levels to the mix no floats are needed. Where that is
quicker, levels have 8 bits.
"""

from __future__ import annotations

import math

import numpy as np

from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS, multiply_parts
from nets.native.simd.tile_products import ROWS_AT_ONCE
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    larger,
    load_float,
    load_floats,
    load_ints,
    load_shorts,
    smaller,
    store,
    store_as_shorts,
    to_floats,
)
from nets.native.transformers.arithmetic import (
    BYTE_EXPONENTIAL,
    EXPONENTIAL,
    HIGHEST_POWER,
    ONE,
    ROUNDED_OFF,
    add_shares,
    copy_pair,
    fade,
    highest_magnitude,
    highest_short,
    kept,
    larger_magnitude,
    larger_shorts,
    left,
    masked,
    nearest,
    no_ints,
    right,
    rounded_pairs,
    rounded_quads,
    share_of,
    shorts,
    store_as_int8,
    store_float,
    store_low_bytes,
    swapped,
    thresholds,
    total_of_ints,
)
from nets.native.transformers.products import (
    ATTENDS_INT8,
    IN_TILES,
    multiply_int8,
    multiply_many_int8,
    score_block,
    score_int8,
)
from nets.native.transformers.rows import BYTE_LEVELS, BYTE_ZERO, sum_of_squares
from nobi_machine.jit import kernel

KEYS = OUTPUTS
"""In a block of keys."""
LONGEST = 32000.0
"""Levels that the longest query and the longest key have."""
FINEST = 10
"""Most bits of a score behind the point."""
SHARE_BITS = 11
"""The largest share of a row is 2^SHARE_BITS; what is less than half of 1 is lost."""
SPARE_BITS = 16 - SHARE_BITS
ROUNDED_OFF_BITS = ROUNDED_OFF.bit_length() - 1
PER_BLOCK, PER_ROW = 79, 47
"""How far thresholds move from one block of keys, and from one row, to the next: odd, so that all take turns."""
HIGHEST_FACTOR = 65535.0
"""Of scores of 8-bit levels, see write_shares."""
LEAST = 1e-30
ROWS = ROWS_AT_ONCE if IN_TILES else 12
"""How many queries' scores are kept at a time."""

HEAD_BUFFERS = np.dtype(
    [
        ("queries", np.int64),  # int16 or 8 bits [area, size]
        ("key_rows", np.int64),  # the same of keys
        ("keys", np.int64),  # int16 [area / 32, size / 2, 32, 2] or int8 [area / 32, size / 4, 32, 4]
        ("key_steps", np.int64),  # float32 [size]: what a level of 8 bits of each channel of the keys is worth
        ("starts", np.int64),  # int32 [area / 32, 32]: what sums of products of 8 bits begin with
        ("units", np.int64),  # float32 [area]: octaves that a score of 8-bit levels is worth
        ("values", np.int64),  # int16 [width / 32, area / 2, 32, 2] or int8 [width / 32, area / 4, 32, 4]
        ("steps", np.int64),  # float32 [width]: what a level of each channel of the values is worth
        ("scores", np.int64),  # int16 [ROWS, area], then shares of 16 bits, or of 8 in the first half of each row
        ("sums", np.int64),  # int32 [ROWS, 32]
        ("factors", np.int64),  # float32 [ROWS, a vector]: what the sums of a row are multiplied by
    ]
)
"""Addresses of what one head works with; areas are rounded up to a multiple of 32."""


@kernel
def longest(rows, count, row_bytes, size):
    """Return the largest length of `count` vectors of `size` floats, above 0, or nan if one of them has nan."""
    most = np.float32(0.0)
    for row in range(count):
        length = sum_of_squares(rows + row * row_bytes, size * FLOAT_BYTES)
        if length > most or math.isnan(length):
            most = length
    return math.sqrt(most) + LEAST


@kernel
def largest_square(rows, count, row_bytes, size):
    """Return the largest square in `count` rows of `size` floats: infinite or nan if one is beyond floats or is nan."""
    peaks = floats(0.0)
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        for row in range(count):
            peaks = larger_magnitude(peaks, load_floats(rows, row * row_bytes + at))
    peak = highest_magnitude(peaks)
    return peak * peak


@kernel
def rotate(rows, row_bytes, height, width, size, table, table_bytes):
    """Rotate rows of `size` floats [H * W] in place, by the angles of their points.

    `table` has float32 [2, 2, MAX_SIZE, size], `table_bytes` being a fourth of it: cosine and sine by x, then by y,
    each pair's first sine with the sign reversed."""
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        row = rows + at
        for y in range(height):
            by_y = table + y * size * FLOAT_BYTES + at
            cos_y, sin_y = load_floats(by_y, 2 * table_bytes), load_floats(by_y, 3 * table_bytes)
            by_x = table + at
            for _ in range(width):
                cos_x, sin_x = load_floats(by_x, 0), load_floats(by_x, table_bytes)
                value = load_floats(row, 0)
                turned = value * (cos_x * cos_y - sin_x * sin_y) + swapped(value) * (sin_x * cos_y + cos_x * sin_y)
                store(row, 0, turned)
                row += row_bytes
                by_x += size * FLOAT_BYTES


@kernel
def write_shorts(rows, area, row_bytes, size, factor, levels):
    """Write int16 `levels` [area, size] of rows of floats, times `factor`."""
    multiplier = floats(factor)
    for row in range(area):
        for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
            store_as_shorts(levels, at // 2, load_floats(rows, row * row_bytes + at) * multiplier)
        levels += size * SHORT_BYTES


@kernel
def pack_keys(rows, area, words, keys):
    """Rearrange keys of so many `words` of 32 bits [area, words] as scores are made from them."""
    block_bytes = KEYS * words * 4
    for key in range(area):
        place = key % KEYS
        to = keys + key // KEYS * block_bytes + (place // 2 + place % 2 * (KEYS // 2)) * 4
        for _ in range(words):
            copy_pair(rows, to)
            rows += 4
            to += OUTPUT_BYTES


@kernel
def pack_values(rows, area, row_bytes, size, most, steps, values):
    """Write the 16-bit levels of `area` rows of `size` floats for a product with shares, and the channels' `steps`.

    `most` is the highest level."""
    words = (area + 1) // 2
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        factor = write_steps(rows + at, area, row_bytes, most, steps + at)
        to = values + at // OUTPUT_BYTES * words * OUTPUT_BYTES + at % OUTPUT_BYTES
        for row in range(0, area, 2):
            even = load_floats(rows, row * row_bytes + at) * factor
            # A point beyond the area has no share: its level may be any.
            odd = load_floats(rows, min(row + 1, area - 1) * row_bytes + at) * factor
            store(to, row // 2 * OUTPUT_BYTES, rounded_pairs(even, odd))


@kernel
def write_steps(rows, area, row_bytes, most, steps):
    """Write what one level of each of 16 channels is worth, and return what their values are multiplied by."""
    peaks = floats(0.0)
    for row in range(area):
        peaks = larger_magnitude(peaks, load_floats(rows, row * row_bytes))
    peaks = peaks + floats(LEAST)
    store(steps, 0, peaks * floats(1.0 / most))
    return floats(most) / peaks


@kernel
def fraction_bits(octaves):
    """Return how many of the 15 bits of a score are a fraction, for scores of up to `octaves` octaves."""
    bits = FINEST
    while bits > 1 and octaves * (1 << bits) > LONGEST * LONGEST / 65536.0:
        bits -= 1
    return bits


@kernel
def write_shares(scores, blocks, tail, bits, factor, in_int8, number):
    """Turn a row of scores into shares in place, and return their sum. The last of `blocks` has `tail` keys.

    The last `bits` of scores are a fraction of an octave; if `factor` is above 0, once they are multiplied by it and
    divided by 65536. Shares have 8 bits if `in_int8` is 1, else 16. With 8 they are rounded by thresholds, which
    the row's `number` chooses.
    """
    last = (blocks - 1) * VECTOR_BYTES
    store(scores, last, masked(load_shorts(scores, last), tail))
    tops = load_shorts(scores, 0)
    for at in range(VECTOR_BYTES, blocks * VECTOR_BYTES, VECTOR_BYTES):
        tops = larger_shorts(load_shorts(scores, at), tops)
    top = shorts(highest_short(tops))
    to_octaves, to_fraction = shorts(bits), shorts(16 - bits)
    highest = shorts(HIGHEST_POWER if in_int8 == 1 else ONE)
    linear = shorts(BYTE_EXPONENTIAL[0] if in_int8 == 1 else EXPONENTIAL[0])
    square = shorts(BYTE_EXPONENTIAL[1] if in_int8 == 1 else EXPONENTIAL[1])
    sums, start = no_ints(), number * PER_ROW
    for at in range(0, blocks * VECTOR_BYTES, VECTOR_BYTES):
        below = top - load_shorts(scores, at)
        if factor > 0:
            below = share_of(below, shorts(factor))
        rest = left(below, to_fraction)
        power = highest - share_of(rest, linear - share_of(rest, square))
        octaves = right(below, to_octaves)
        if in_int8 == 1:
            shares = right(fade(power, octaves + shorts(1)) + thresholds(start % ROUNDED_OFF), shorts(ROUNDED_OFF_BITS))
            start += PER_BLOCK
        else:
            shares = right(fade(power, octaves + shorts(SPARE_BITS - 1)) + shorts(1), shorts(1))
        if at == last:
            shares = kept(shares, tail)
        if in_int8 == 1:
            store_low_bytes(scores, at // 2, shares)
        else:
            store(scores, at, shares)
        sums = add_shares(sums, shares)
    return total_of_ints(sums)


@kernel
def mix(block, buffers, area, fraction, shift, one_or_nan, mixed, row_bytes):
    """Write the values of a head mixed by its shares at every point, float32 [area, value size].

    So many bits of 16-bit scores are a `fraction`; sums of 8-bit products are shifted by `shift` bits for scores. What
    is mixed is multiplied by `one_or_nan`: integers cannot be no number, so this says whether a query or a key was."""
    blocks = (area + KEYS - 1) // KEYS
    score_row, tail = blocks * VECTOR_BYTES, area - (blocks - 1) * KEYS
    query_bytes = block.size if block.scores_int8 == 1 else block.size * SHORT_BYTES
    words = (area + 3) // 4 if block.mixes_int8 == 1 else (area + 1) // 2
    # In tiles levels beyond the board are mixed too: their shares are 0, and they may be any.
    share_bytes = blocks * KEYS if IN_TILES and block.mixes_int8 == 1 else words * 4
    for start in range(0, area, ROWS):
        count = min(ROWS, area - start)
        queries = buffers.queries + start * query_bytes
        for number in range(blocks):
            keys, to = buffers.keys + number * KEYS * query_bytes, buffers.scores + number * VECTOR_BYTES
            if ATTENDS_INT8 and block.scores_int8 == 1:
                starts = buffers.starts + number * OUTPUT_BYTES
                score_int8(queries, keys, starts, to, count, query_bytes, score_row, shift)
            else:
                score_block(queries, keys, to, count, query_bytes, score_row)
        for row in range(count):
            bits, factor = fraction, 0
            if ATTENDS_INT8 and block.scores_int8 == 1:
                unit = load_float(buffers.units, (start + row) * FLOAT_BYTES)
                bits = FINEST
                while bits > 1 and unit * (65536 << bits) > HIGHEST_FACTOR:
                    bits -= 1
                factor = int(min(max(unit * (65536 << bits), 1.0), HIGHEST_FACTOR))
            scores = buffers.scores + row * score_row
            shares = write_shares(scores, blocks, tail, bits, factor, block.mixes_int8, start + row)
            store(buffers.factors, row * VECTOR_BYTES, floats(one_or_nan / shares))
        _mix_values(block, buffers, count, words, share_bytes, score_row, mixed + start * row_bytes, row_bytes)


@kernel
def _mix_values(block, buffers, count, words, share_bytes, score_row, mixed, row_bytes):
    end = block.value_size * FLOAT_BYTES
    for first in range(0, end, OUTPUT_BYTES):
        values = buffers.values + first * words
        if ATTENDS_INT8 and block.mixes_int8 == 1:
            multiply_many_int8(buffers.scores, values, buffers.sums, count, score_row, share_bytes)
        else:
            multiply_parts(buffers.scores, values, buffers.sums, count, score_row, share_bytes)
        for at in range(first, min(first + OUTPUT_BYTES, end), VECTOR_BYTES):
            steps = load_floats(buffers.steps, at)
            for row in range(count):
                level = to_floats(load_ints(buffers.sums, row * OUTPUT_BYTES + at - first))
                store(mixed, row * row_bytes + at, level * steps * load_floats(buffers.factors, row * VECTOR_BYTES))


# --- In 8 bits -------------------------------------------------------------------------------------------------------
# So few bits are enough because errors are made to cancel each other:
#
# - A logit that is the same for all keys changes no share. So the middle of each channel of the keys is taken away,
#   which leaves less to round (SageAttention, https://arxiv.org/abs/2410.02367). Each channel of the keys has a step of
#   its own, which queries take over; then each query has one.
# - Most shares are less than half of 1. To round all of these down would lose what they mix together. So a share is
#   rounded up or down by a threshold that differs from key to key (ordered dithering).
# - A level of a value takes over what the point before it lost by rounding (error diffusion): neighbouring points have
#   about the same share. For keys this was tried, and is worse.

MOST = 126.5
"""The highest level of values, less the half that a level takes over."""
HIGHEST_SCORE = 32767


@kernel
def pack_int8_keys(buffers, rows, area, row_bytes, size):
    """Write the levels of `area` rows of `size` floats, less the middle of each channel, and the channels' steps.

    Levels of queries are BYTE_ZERO too high. So sums begin with the products with a row of BYTE_ZERO, their sign
    reversed; it stands where the queries will."""
    for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
        lowest = highest = load_floats(rows, at)
        for row in range(1, area):
            value = load_floats(rows, row * row_bytes + at)
            lowest, highest = smaller(lowest, value), larger(highest, value)
        middle = (highest + lowest) * floats(0.5)
        reach = (highest - lowest) * floats(0.5) + floats(LEAST)
        store(buffers.key_steps, at, reach * floats(1.0 / BYTE_LEVELS))
        factor = floats(float(BYTE_LEVELS)) / reach
        for row in range(area):
            value = load_floats(rows, row * row_bytes + at) - middle
            store_as_int8(buffers.key_rows, row * size + at // 4, value * factor)
    pack_keys(buffers.key_rows, area, size // 4, buffers.keys)
    for at in range(0, size, VECTOR_BYTES // 4):
        store_as_int8(buffers.queries, at, floats(float(BYTE_ZERO)))
    for block in range((area + KEYS - 1) // KEYS):
        starts = buffers.starts + block * OUTPUT_BYTES
        multiply_int8(buffers.queries, buffers.keys + block * KEYS * size, starts, np.int64(1), size, size)
        for at in range(0, OUTPUT_BYTES, VECTOR_BYTES):
            store(starts, at, no_ints() - load_ints(starts, at))


@kernel
def write_int8_queries(buffers, rows, area, row_bytes, size, octaves):
    """Write the levels of `area` rows of `size` floats, and how many octaves 1 of each row's scores is worth.

    `octaves` is the base-2 logit of a product of 1 of a query and a key. Returns how many bits to shift sums by."""
    bits = 0
    while size * BYTE_LEVELS * BYTE_LEVELS >> bits > HIGHEST_SCORE:
        bits += 1
    unit = octaves * (1 << bits) / BYTE_LEVELS
    zero, levels = floats(float(BYTE_ZERO)), buffers.queries
    for row in range(area):
        peaks = floats(0.0)
        for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
            peaks = larger_magnitude(peaks, load_floats(rows, at) * load_floats(buffers.key_steps, at))
        peak = highest_magnitude(peaks) + LEAST
        factor = floats(BYTE_LEVELS / peak)
        for at in range(0, size * FLOAT_BYTES, VECTOR_BYTES):
            value = load_floats(rows, at) * load_floats(buffers.key_steps, at)
            store_as_int8(levels, at // 4, value * factor + zero)
        store_float(buffers.units, row * FLOAT_BYTES, unit * peak)
        rows += row_bytes
        levels += size
    return bits


@kernel
def pack_int8_values(rows, area, row_bytes, size, steps, values):
    """Write the 8-bit levels of `area` rows of `size` floats for a product with shares, and the channels' `steps`.

    Each level waits for the one before it, so two vectors of channels at a time take hardly longer than one."""
    end, column = size * FLOAT_BYTES, (area + 3) // 4 * OUTPUT_BYTES
    for at in range(0, end, 2 * VECTOR_BYTES):
        other = min(at + VECTOR_BYTES, end - VECTOR_BYTES)
        factor = write_steps(rows + at, area, row_bytes, MOST, steps + at)
        other_factor = write_steps(rows + other, area, row_bytes, MOST, steps + other)
        to = values + at // OUTPUT_BYTES * column + at % OUTPUT_BYTES
        other_to = values + other // OUTPUT_BYTES * column + other % OUTPUT_BYTES
        lost = other_lost = floats(0.0)
        for row in range(0, area, 4):
            levels, lost = _diffused(rows + at, row, area - 1, row_bytes, factor, lost)
            other_levels, other_lost = _diffused(rows + other, row, area - 1, row_bytes, other_factor, other_lost)
            store(to, row // 4 * OUTPUT_BYTES, levels)
            store(other_to, row // 4 * OUTPUT_BYTES, other_levels)


@kernel
def _diffused(rows, row, last, row_bytes, factor, lost):
    """Return the levels of four points of a vector of channels, and what is lost by rounding the fourth of them.

    The first takes over what was `lost` before. Points beyond the `last` have no share: their levels may be any."""
    value = load_floats(rows, row * row_bytes) * factor + lost
    first = nearest(value)
    value = load_floats(rows, min(row + 1, last) * row_bytes) * factor + (value - first)
    second = nearest(value)
    value = load_floats(rows, min(row + 2, last) * row_bytes) * factor + (value - second)
    third = nearest(value)
    value = load_floats(rows, min(row + 3, last) * row_bytes) * factor + (value - third)
    fourth = nearest(value)
    return rounded_quads(first, second, third, fourth), value - fourth
