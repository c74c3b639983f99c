"""Writes convolutions as integers, or in bf16.

The weights that read an activation absorb its steps. They are as fine as sums in 32 bits allow, however unlikely the
inputs: no sum can overflow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Convolution, FloatArray
from nets.native.convolutions.levels import Levels, Steps, at_places
from nets.native.convolutions.tiling import places, weight_matrix
from nets.native.parameters import LARGEST_WEIGHT, Writer, pad, padded
from nets.native.simd.products import OUTPUTS


def put_convolutions(
    writer: Writer, parts: Sequence[Convolution], read: Steps, levels: Levels, largest: int
) -> tuple[int, int, int]:
    """Write 3×3 or 1×1 convolutions that read the same levels as one; return the offsets of weights, scales, biases.

    Each is padded to blocks of 32 outputs. Those of 3×3 are for tiles of at most `largest` points.
    """
    integers, scales, biases = [], [], []
    inputs = padded(parts[0].inputs)
    for part in parts:
        if part.weights.shape[2] == 3:
            rows, scale = _winograd(part, read, levels, largest)
        else:
            rows, scale = _plain(part, read, levels)
        outputs = padded(part.outputs)
        block = np.zeros((len(rows), outputs, inputs), np.int16)
        block[:, : part.outputs, : part.inputs] = rows
        integers.append(block)
        scales.append(pad(scale, outputs))
        biases.append(pad(part.biases, outputs))
    together = np.concatenate(integers, axis=1) if len(integers) > 1 else integers[0]
    pairs = together.view(np.int32).reshape(len(together), -1, OUTPUTS, inputs // 2)
    weights = writer.put(pairs.transpose(1, 0, 3, 2))
    return weights, writer.put(np.concatenate(scales)), writer.put(np.concatenate(biases))


def put_bf16_convolutions(writer: Writer, parts: Sequence[Convolution]) -> tuple[int, int, int]:
    """Write 3×3 or 1×1 convolutions that read the same as one, in bf16, and return what `put_convolutions` does."""
    inputs = padded(parts[0].inputs)
    numbers, biases = [], []
    for part in parts:
        outputs, (height, width) = padded(part.outputs), part.weights.shape[2:]
        block = np.zeros((height, width, outputs, inputs), np.float32)
        block[:, :, : part.outputs, : part.inputs] = part.weights.transpose(2, 3, 0, 1)
        numbers.append(block)
        biases.append(pad(part.biases, outputs))
    together = as_bf16(np.concatenate(numbers, axis=2))
    pairs = together.view(np.int32).reshape(*together.shape[:2], -1, OUTPUTS, inputs // 2)
    weights = writer.put(pairs.transpose(2, 0, 1, 4, 3))
    bias = np.concatenate(biases)
    return weights, writer.put(np.ones_like(bias)), writer.put(bias)


def as_bf16(values: FloatArray) -> NDArray[np.uint16]:
    """Round floats to bf16, to the nearest, halfway to the even one."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _winograd(part: Convolution, read: Steps, levels: Levels, largest: int) -> tuple[NDArray[np.int16], FloatArray]:
    """[places, outputs, inputs] and what 1 is worth, [outputs]."""
    both = np.kron(weight_matrix(), weight_matrix())[places(largest)].astype(np.float32)
    kernels = (part.weights * read[None, :, None, None]).reshape(-1, 9)
    # Not a matrix product, for which numpy's library would wake its threads.
    weights = np.einsum("pk,nk->pn", both, kernels).reshape(-1, part.outputs, part.inputs)
    above, below = (each[:, None].astype(np.float32) for each in at_places(levels, largest))
    over = np.maximum(weights, 0).sum(axis=2)
    under = over - weights.sum(axis=2)
    most = np.maximum(above * over + below * under, above * under + below * over).max(axis=0)
    return _rounded(weights, most)


def _plain(part: Convolution, read: Steps, levels: Levels) -> tuple[NDArray[np.int16], FloatArray]:
    """[1, outputs, inputs] and what 1 is worth, [outputs]."""
    weights = part.weights[:, :, 0, 0] * read
    return _rounded(weights[None], max(levels.most, -levels.least) * np.abs(weights).sum(axis=1))


def _rounded(weights: FloatArray, most: FloatArray) -> tuple[NDArray[np.int16], FloatArray]:
    """Integers [places, outputs, inputs] and what 1 is worth [outputs], where sums of products of the weights come to
    at most `most` [outputs]."""
    # Rounding moves each product by up to half of the largest input, 2^15; twice that is kept free.
    largest_sum = 2**31 - 2**15 * weights.shape[-1]
    scale = np.maximum(most / largest_sum, np.abs(weights).max(axis=(0, 2)) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30)
    return np.rint(weights / scale[:, None]).astype(np.int16), scale.astype(np.float32)
