"""The working memory of one call of the kernels, for batches of one size on boards of one size."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray
from nets.native.convolutions.finish import FINISH
from nets.native.convolutions.network import run_network
from nets.native.convolutions.pack import Packed
from nets.native.convolutions.parameters import aligned
from nets.native.convolutions.tiling import POINTS, tiling
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.convolutions.trunk import SPACE, write_stem
from nets.native.outputs import last_layers
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS

NEAR_BYTES = 8 << 20
"""Parameters up to this size stay in a processor's last cache beside everything else."""
BATCH_BYTES = 4 << 20
"""The size up to which a workspace is read from the processor's caches."""

Held = dict[str, NDArray[np.uint8]]
"""Memory that records point to, by the names of their fields."""


class HasStem(Protocol):
    """A packed network of any kind, as far as its stem is concerned."""

    @property
    def parameters(self) -> NDArray[np.uint8]: ...
    @property
    def network(self) -> NDArray[np.void]: ...
    @property
    def channels(self) -> int: ...
    @property
    def planes(self) -> int: ...
    @property
    def global_features(self) -> int: ...


class Workspace:
    """The arrays that the kernels work in, and the records with their addresses."""

    def __init__(self, packed: Packed, count: int, height: int, width: int) -> None:
        """Allocate the memory for a batch of `count` boards."""
        self.kind = count, height, width
        most = boards_at_once(packed, height, width)
        boards = self._boards = max(number for number in range(1, min(count, most) + 1) if count % number == 0)
        self._packed, heads = packed, packed.heads[0]
        self._tiles, self._space, self._finish = (
            tiling(boards, height, width, packed.largest),
            np.zeros(1, SPACE),
            np.zeros(1, FINISH),
        )
        self._held: Held = {}
        for name, size in _sizes(packed, boards, height, width).items():
            self._held[name] = aligned(size)
            self._space[0][name] = self._held[name].ctypes.data
        for name, sizes in _buffers(packed, boards, height, width).items():
            for number, size in enumerate(sizes):
                buffer = self._held[f"{name}{number}"] = aligned(size)
                self._space[0][name][number] = buffer.ctypes.data
        self.players = np.zeros((count, packed.channels), np.float32)
        self.pools = np.zeros((count, int(heads["pooled_blocks"] + heads["value_blocks"]), 3, OUTPUTS), np.float32)
        self.policies = np.zeros((count, int(heads["policies"]), height * width), np.float32)
        self.ownership = np.zeros((count, height * width), np.float32)
        self.last = last_layers(packed.small, height * width)
        set_constant(packed, self._tiles, self._space, self._held)

    def run(self, spatial: FloatArray, global_: FloatArray) -> None:
        """Compute `pools`, `policies` and `ownership` (heads.py) from `spatial` and `global_`, both C-contiguous.

        `players` is added to the stream at every point."""
        packed = self._packed
        run_network(
            packed.network, packed.layers, packed.heads, self._tiles, self._space, self._finish, packed.curves,
            spatial, global_, self.players, self.pools, self.policies, self.ownership, self._boards,
        )  # fmt: skip


def set_constant(packed: HasStem, tiles: NDArray[np.void], space: NDArray[np.void], held: Held) -> None:
    """Write the sums of the stem for an empty board: its bias, and its kernel applied to the plane of the board."""
    constant, height, width = held["constant"].view(np.float32), tiles[0]["height"], tiles[0]["width"]
    bias = packed.parameters[packed.network[0]["stem_bias"] :].view(np.float32)[: packed.channels]
    constant.reshape(-1, packed.channels)[:] = bias
    empty = np.zeros((1, packed.planes, height, width), np.float32)
    empty[:, 0] = 2  # one of which an empty board is expected to have
    nothing = np.zeros((1, packed.global_features), np.float32), np.zeros((1, packed.channels), np.float32)
    write_stem(empty, *nothing, packed.network[0], tiles[0], space[0])
    constant[:] = held["streams0"].view(np.float32)[: constant.size]


def boards_at_once(packed: Packed, height: int, width: int) -> int:
    """Return how many boards to compute together. For a small network this is 1: then its places and sums stay in the
    processor's second cache. For a large network it is at least 2, because its parameters never stay there."""
    if packed.parameters.nbytes <= NEAR_BYTES:
        return 1
    one = sum(_sizes(packed, 1, height, width).values())
    one += sum(sum(sizes) for sizes in _buffers(packed, 1, height, width).values())
    return max(2, BATCH_BYTES // one)


def _buffers(packed: Packed, boards: int, height: int, width: int) -> dict[str, list[int]]:
    """Return the sizes in bytes of the arrays that SPACE has several of."""
    points = {False: boards * height * width, True: boards * (height + 2) * (width + 2)}
    return {
        "streams": [points[False] * channels * FLOAT_BYTES for channels in packed.streams],
        "levels": [points[is_framed] * channels * SHORT_BYTES for channels, is_framed in packed.buffers],
    }


def _sizes(packed: Packed, boards: int, height: int, width: int) -> dict[str, int]:
    """Return the sizes in bytes of the other arrays of SPACE."""
    record = tiling(boards, height, width, packed.largest)[0]
    tiles, points = int(record["counts"].sum()), boards * height * width
    transformed = max((channels for channels, is_framed in packed.buffers if is_framed), default=0)
    widest = int(packed.layers["outputs"].max())
    return {
        "places": tiles * transformed * SHORT_BYTES,
        "sums": max(tiles, points) * OUTPUT_BYTES,
        "rows": len(POINTS) * (width + 2) * max(transformed * SHORT_BYTES, OUTPUT_BYTES),
        "constant": height * width * packed.channels * FLOAT_BYTES,
        "values": max(points * packed.pooled, height * width * OUTPUTS) * FLOAT_BYTES,
        "pool": 3 * max(packed.pooled, OUTPUTS) * FLOAT_BYTES,
        "pool_bias": boards * max(widest, OUTPUTS) * FLOAT_BYTES,
    }
