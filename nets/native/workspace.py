"""The memory that one call of the kernels works in, for batches of one size on boards of one size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray
from nets.native.finish import FINISH
from nets.native.pack import Packed, aligned
from nets.native.products import OUTPUT_BYTES, OUTPUTS
from nets.native.tiling import POINTS, tiling
from nets.native.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.trunk import SPACE, write_stem


class Workspace:
    """Arrays for the kernels, and the records that tell them where these lie."""

    def __init__(self, packed: Packed, boards: int, height: int, width: int) -> None:
        self.kind = boards, height, width
        self.tiles = tiling(boards, height, width)
        """A TILING record"""
        self.places = np.zeros(1, SPACE)
        """A SPACE record"""
        self.finish = np.zeros(1, FINISH)
        self._held: list[NDArray[np.uint8]] = []
        for name, size in _sizes(packed, boards, height, width).items():
            self.places[0][name] = self._allocate(size)
        for number, channels in enumerate(packed.middles):
            self.places[0]["middles"][number] = self._allocate(_framed(boards, height, width) * channels * SHORT_BYTES)
        self.constant = _empty_board(packed, self)
        """[H, W, channels]: the stem's sums on an empty board, without global features."""

    @staticmethod
    def boards_in(size: int, packed: Packed, height: int, width: int) -> int:
        """How many boards, at least 1, a workspace of `size` bytes has room for."""
        middle = _framed(1, height, width) * sum(packed.middles) * SHORT_BYTES
        return max(1, size // (sum(_sizes(packed, 1, height, width).values()) + middle))

    def _allocate(self, size: int) -> int:
        self._held.append(aligned(size))
        return self._held[-1].ctypes.data


def _framed(boards: int, height: int, width: int) -> int:
    return boards * (height + 2) * (width + 2)


def _sizes(packed: Packed, boards: int, height: int, width: int) -> dict[str, int]:
    """Bytes of what SPACE points to, but for the middles."""
    record = tiling(boards, height, width)[0]
    tiles, points, framed = int(record["counts"].sum()), boards * height * width, _framed(boards, height, width)
    widest = max(packed.channels, *packed.middles)
    return {
        "places": tiles * widest * SHORT_BYTES,
        # The heads have a row for every framed point of one board.
        "sums": max(tiles, (height + 2) * (width + 2)) * OUTPUT_BYTES,
        "rows": len(POINTS) * (width + 2) * max(widest * SHORT_BYTES, OUTPUT_BYTES),
        "stream": points * packed.channels * FLOAT_BYTES,
        "before": framed * packed.channels * SHORT_BYTES,
        "values": max(points * packed.pooled, height * width * OUTPUTS) * FLOAT_BYTES,
        "pool": 3 * max(packed.pooled, OUTPUTS) * FLOAT_BYTES,
        "pool_bias": boards * widest * FLOAT_BYTES,
    }


def _empty_board(packed: Packed, space: Workspace) -> FloatArray:
    """Computed by the stem's own kernel, as the difference from nothing."""
    _, height, width = space.kind
    channels, start = packed.channels, packed.parameters.ctypes.data
    weights, bias, scale, next_bias = (start + offset for offset in packed.stem)
    nothing = aligned(height * width * channels * FLOAT_BYTES)
    spatial = np.zeros((1, packed.planes, height, width), np.float32)
    spatial[0, 0] = 2  # what is beside an empty board is then 1
    write_stem(
        spatial, nothing.ctypes.data, bias, weights, packed.stem_reach, scale, next_bias,
        space.tiles[0], space.places[0], channels,
    )  # fmt: skip
    stream = space._held[list(_sizes(packed, 1, 2, 2)).index("stream")].view(np.float32)
    result = aligned(nothing.size).view(np.float32)
    result[:] = stream[: result.size]
    return result.reshape(height, width, channels)
