"""What becomes of a convolution's sums: activations for the next one, or an addition to the residual stream."""

from __future__ import annotations

import numpy as np

from go_rules.jit import kernel
from nets.native.tiling import MOST_LEVELS
from nets.native.vectors import floats, larger, load_floats, smaller, store, store_as_shorts

TO_LEVELS, TO_STREAM, TO_VALUES = 0, 1, 2
"""Kinds of FINISH. Sums times `scale` plus `bias` are: levels; added to the stream, whose next reader's levels are the
stream times `next_scale` plus `next_bias`; values, 0 where they are negative, in `stream`."""

FINISH = np.dtype(
    [
        ("kind", np.int64),
        ("scale", np.int64),  # addresses of the block's 32 floats
        ("bias", np.int64),
        ("bias_step", np.int64),  # from one board's bias to the next one's
        ("next_scale", np.int64),
        ("next_bias", np.int64),
        ("stream", np.int64),  # address of the block's channels at the first point
        ("stream_point", np.int64),  # from one point to the next
        ("levels", np.int64),  # address of the block's channels at the frame's first point
        ("levels_point", np.int64),
    ]
)


@kernel
def finish_outputs(sums, kind, scale, bias, next_scale, next_bias, stream, levels):
    """Finish a vector of `sums` that belongs at the addresses `stream` and `levels`."""
    value = sums * scale + bias
    if kind == TO_VALUES:
        store(stream, 0, larger(value, floats(0.0)))
        return
    if kind == TO_STREAM:
        value = value + load_floats(stream, 0)
        store(stream, 0, value)
        value = value * next_scale + next_bias
    store_levels(value, levels)


@kernel
def store_levels(value, levels):
    """Write activations, in levels, that are cut off at 0 and at the highest level."""
    store_as_shorts(levels, 0, smaller(larger(value, floats(0.0)), floats(float(MOST_LEVELS))))
