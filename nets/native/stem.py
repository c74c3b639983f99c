"""The first convolution of a network, which reads the features of a position and begins the trunk's stream."""

from __future__ import annotations

import numpy as np

from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.vectors import VECTOR_BYTES, floats, load_floats, store
from nobi_machine.jit import kernel

NETWORK = np.dtype(
    [
        ("parameters", np.int64),  # the address of all numbers
        ("channels", np.int64),  # of the trunk's stream; a multiple of 32 as all counts of channels here
        ("points", np.int64),  # at which Winograd's method evaluates polynomials
        ("stem", np.int64),  # offset of float32 [planes, 2 * reach + 1 (y), 2 * reach + 1 (x, from right), channels]
        ("stem_reach", np.int64),
        ("stem_bias", np.int64),  # float32 [channels]
        ("stem_global", np.int64),  # float32 [global features, channels]
        ("ones", np.int64),  # float32 [OUTPUTS of products.py], the steps of values that are no levels
    ]
)


@kernel
def write_stem(spatial, global_, profile_bias, network, constant, stream):
    """Write the sums of the stem to the trunk's `stream`, float32 [boards, H, W, channels].

    What `spatial` [boards, planes, H, W] has besides an empty board, whose sums [H, W, channels] are in `constant`, is
    little: each such input adds its weights to the points around it. `global_` is [boards, global features];
    `profile_bias` [boards, channels] is added at every point. `constant` and `stream` are addresses."""
    boards, planes, height, width = spatial.shape
    reach, point = network.stem_reach, network.channels * FLOAT_BYTES
    line = (2 * reach + 1) * point
    weights = network.parameters + network.stem
    for board in range(boards):
        for at in range(0, point, VECTOR_BYTES):
            more = load_floats(profile_bias.ctypes.data + board * point, at)
            for feature in range(global_.shape[1]):
                matrix = network.parameters + network.stem_global + feature * point
                more = more + floats(global_[board, feature]) * load_floats(matrix, at)
            for offset in range(at, height * width * point, point):
                store(stream, offset, load_floats(constant, offset) + more)
        for plane in range(planes):
            usual = np.float32(plane == 0)
            for y in range(height):
                # Most rows are as on an empty board: this loop is a few instructions on vectors.
                differs = False
                for x in range(width):
                    differs |= spatial[board, plane, y, x] != usual
                if not differs:
                    continue
                for x in range(width):
                    value = spatial[board, plane, y, x] - usual
                    if value == 0:
                        continue
                    factor = floats(value)
                    left, right = max(x - reach, 0), min(x + reach, width - 1)
                    for to_y in range(max(y - reach, 0), min(y + reach, height - 1) + 1):
                        kernel_y = y - to_y + reach
                        ours = weights + (plane * (2 * reach + 1) + kernel_y) * line + (left - x + reach) * point
                        to = stream + (to_y * width + left) * point
                        for at in range(0, (right - left + 1) * point, VECTOR_BYTES):
                            store(to, at, load_floats(to, at) + factor * load_floats(ours, at))
        stream += height * width * point
