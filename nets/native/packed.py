"""A network as our own kernels read it, and as the cache keeps it: a later start reads this and nothing else."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import EvaluatorAttributes
from nets.katago.model import EvaluationCost, FloatArray, MetadataEncoder
from nets.loss import measurement_fingerprint
from nets.native.outputs import LastLayers
from nets.native.simd.products import HERE, OUTPUTS
from nets.native.transformers.products import PRODUCTS_HERE

Records = NDArray[np.void]


@dataclass(frozen=True)
class Packed:
    """A network as the kernels read it."""

    attributes: EvaluatorAttributes
    """What the network is and wants, without a profile."""
    metadata: MetadataEncoder | None
    """What a HumanSL network makes of its profile; None in all others."""
    parameters: NDArray[np.uint8]
    """All parameters; the array begins at a multiple of 64 bytes."""
    network: Records
    """One NETWORK record."""
    runs: Records
    """RUN records of the trunk, in order."""
    layers: Records | None
    """LAYER records of all convolution blocks; None if there are none."""
    blocks: Records | None
    """BLOCK records of all transformer blocks; None if there are none."""
    matrices: Records
    """MATRIX records of transformer blocks and of the heads."""
    heads: Records
    """One HEADS record."""
    largest: int
    """The side of Winograd's largest tiles, in points."""
    curves: NDArray[np.float64] | None
    """activations.CURVES, or None if convolutions have no activation but ReLU."""
    channels: int
    """Channels of the trunk's stream; here and below a multiple of 32."""
    streams: tuple[int, ...]
    """Channels of the trunk's stream and of the widest ones of bottlenecks in it."""
    buffers: tuple[tuple[int, bool], ...]
    """The buffers for levels: channels, and whether a frame of zeros is around each board."""
    policies: int
    planes: int
    global_features: int
    last_layers: LastLayers
    """For boards of any size, see `for_boards`."""
    work: EvaluationCost
    """What an evaluation costs."""


def packed_key() -> str:
    """Return the end of the name of a packed network's file, with a hash of what it depends on besides the network.

    Calibration and packing depend on the processor: weights for other products of 8-bit levels may overflow in its."""
    here = f"{PRODUCTS_HERE}, bf16: {HERE.has_bf16_tiles}, numpy: {np.__version__}, {sys.version}"
    return f"-{measurement_fingerprint('nets.native.calibrate', here)[:12]}-int16"


def to_bytes(packed: Packed, reason_against: str) -> bytes:
    """Return a packed network and why `auto` does not use it, as the content of a file."""
    return pickle.dumps((packed, reason_against), pickle.HIGHEST_PROTOCOL)


def from_bytes(content: bytes) -> tuple[Packed, str]:
    """Read what `to_bytes` wrote. To read it is to execute it: only for entries of our own cache."""
    packed, reason_against = pickle.loads(content)
    parameters = aligned(packed.parameters.nbytes)
    parameters[:] = packed.parameters
    packed.network["parameters"] = parameters.ctypes.data
    return replace(packed, parameters=parameters), reason_against


# --- The numbers in memory -------------------------------------------------------------------------------------------
# Arrays lie one after another in one piece.

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
        np.concatenate(self._arrays, out=result)
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
