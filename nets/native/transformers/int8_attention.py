"""Levels of 8 bits for the attention of one head on one board, where a processor multiplies those faster.

So few bits are enough because errors are made to cancel each other:

- A logit that is the same for all keys changes no share. So the middle of each channel of the keys is taken away, which
  leaves less to round (SageAttention, https://arxiv.org/abs/2410.02367). Each channel of the keys has a step of its
  own, which queries take over; then each query has one.
- Most shares are less than half of 1. To round all of these down would lose what they mix together. So a share is
  rounded up or down by a threshold that differs from key to key (ordered dithering).
- A level of a value takes over what the point before it lost by rounding (error diffusion): neighbouring points have
  about the same share. For keys this was tried, and is worse.
"""

from __future__ import annotations

from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.products import OUTPUT_BYTES
from nets.native.simd.vectors import (
    VECTOR_BYTES,
    floats,
    larger,
    load_floats,
    load_ints,
    smaller,
    store,
)
from nets.native.transformers.arithmetic import (
    highest_magnitude,
    larger_magnitude,
    nearest,
    no_ints,
    rounded_quads,
    store_as_int8,
    store_float,
)
from nets.native.transformers.attention import KEYS, LEAST, pack_keys, write_steps
from nets.native.transformers.products import multiply_int8
from nets.native.transformers.rows import BYTE_LEVELS, BYTE_ZERO
from nobi_machine.jit import kernel

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
        multiply_int8(buffers.queries, buffers.keys + block * KEYS * size, starts, 1, size, size)
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
