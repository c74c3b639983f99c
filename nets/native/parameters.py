"""Writes a network's parameters for the kernels: arrays one after another in one piece of memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray
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
        """Return all that was written. Nothing can be written after that."""
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
    """Round a number of channels up to a multiple of OUTPUTS."""
    return -(-channels // OUTPUTS) * OUTPUTS


def pad(values: FloatArray, channels: int) -> FloatArray:
    """Add zeros to an array until it has so many channels, and return it as float32."""
    return np.pad(values.astype(np.float32), (0, channels - len(values)))


def pool_matrix(matrix: FloatArray, pooled: int, outputs: int) -> FloatArray:
    """Turn a pooling matrix [3 * pooled, outputs] into [3, pooled, outputs], with padding for both."""
    result = np.zeros((3, padded(pooled), outputs), np.float32)
    result[:, :pooled, : matrix.shape[1]] = matrix.reshape(3, pooled, -1)
    return result
