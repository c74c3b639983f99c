"""Writes a network's parameters for the kernels: arrays one after another in one piece of memory, with convolutions as
integers.

The weights that read an activation absorb its steps. They are as fine as sums in 32 bits allow, however unlikely the
inputs: no sum can overflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Convolution, FloatArray
from nets.native.convolutions.levels import Levels, Steps, at_places
from nets.native.convolutions.tiling import places, weight_matrix
from nets.native.simd.products import OUTPUTS

LARGEST_WEIGHT = 32767
ALIGNMENT = 64
HEAD = 16
"""The channels of an attention head are padded to a multiple of this."""


class Writer:
    """Writes arrays one after another, each at a multiple of 64 bytes."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.uint8]] = []
        self._size = 0

    def put(self, array: NDArray[np.generic]) -> int:
        """Append an array and return its offset in bytes."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        at = self._size
        self._arrays.append(np.pad(flat, (0, -len(flat) % ALIGNMENT)))
        self._size += len(self._arrays[-1])
        return at

    def content(self) -> NDArray[np.uint8]:
        """Return all that was written; the writer is empty afterwards."""
        result = aligned(self._size)
        at = 0
        for array in self._arrays:
            result[at : at + len(array)] = array
            at += len(array)
        self._arrays.clear()
        return result


def aligned(size: int) -> NDArray[np.uint8]:
    """Make an array of `size` zero bytes whose address is a multiple of 64."""
    space = np.zeros(size + ALIGNMENT, np.uint8)
    start = -space.ctypes.data % ALIGNMENT
    return space[start : start + size]


def padded(channels: int) -> int:
    return -(-channels // OUTPUTS) * OUTPUTS


def pad(values: FloatArray, channels: int) -> FloatArray:
    return np.pad(values.astype(np.float32), (0, channels - len(values)))


def bias_of(convolution: Convolution) -> FloatArray:
    return np.zeros(convolution.outputs, np.float32) if convolution.bias is None else convolution.bias


def pool_matrix(matrix: FloatArray, pooled: int, outputs: int) -> FloatArray:
    """Turn a pooling matrix [3 * pooled, outputs] into [3, pooled, outputs], with padding for both."""
    result = np.zeros((3, padded(pooled), outputs), np.float32)
    result[:, :pooled, : matrix.shape[1]] = matrix.reshape(3, pooled, -1)
    return result


def put_convolutions(
    writer: Writer, parts: list[Convolution], read: Steps, levels: Levels, largest: int
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
        biases.append(pad(bias_of(part), outputs))
    together = np.concatenate(integers, axis=1) if len(integers) > 1 else integers[0]
    pairs = together.view(np.int32).reshape(len(together), -1, OUTPUTS, inputs // 2)
    weights = writer.put(pairs.transpose(1, 0, 3, 2))
    return weights, writer.put(np.concatenate(scales)), writer.put(np.concatenate(biases))


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
    # Rounding moves each product by up to half of the largest input, 2^15.
    largest_sum = 2**31 - 2**15 * weights.shape[-1]
    scale = np.maximum(most / largest_sum, np.abs(weights).max(axis=(0, 2)) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30)
    return np.rint(weights / scale[:, None]).astype(np.int16), scale.astype(np.float32)
