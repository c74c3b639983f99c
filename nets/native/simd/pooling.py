"""The pool of a board: for each channel the mean, the mean times a function of the board's size, and the maximum."""

from __future__ import annotations

import math

from nets.native.simd.vectors import VECTOR_BYTES, floats, larger, load_floats, store
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
