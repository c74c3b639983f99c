"""The working memory of one call of a transformer's kernels, for batches of one size on boards of one size."""

from __future__ import annotations

import numpy as np

from nets.katago.model import FloatArray
from nets.native.convolutions.parameters import aligned
from nets.native.convolutions.tiling import tiling
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.convolutions.trunk import SPACE
from nets.native.convolutions.workspace import Held, set_constant
from nets.native.outputs import last_layers
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS
from nets.native.transformers.attention import HEAD_BUFFERS, KEYS, ROWS
from nets.native.transformers.blocks import ATTENTION, CHUNK, ROOM
from nets.native.transformers.network import run_tokens
from nets.native.transformers.pack import PackedTokens

ROWS_TOGETHER = 400
"""How many points of boards are computed together: their data stays in the processor's second cache, and parameters
are read from farther away once for all of them."""


class TokensWorkspace:
    """The arrays that the kernels work in, and the records with their addresses."""

    def __init__(self, packed: PackedTokens, count: int, height: int, width: int) -> None:
        """Allocate the memory for a batch of `count` boards."""
        self.kind = count, height, width
        area = height * width
        most = max(1, ROWS_TOGETHER // area)
        boards = self._boards = max(number for number in range(1, min(count, most) + 1) if count % number == 0)
        self._packed, heads = packed, packed.heads[0]
        self._tiles, self._space = tiling(1, height, width), np.zeros(1, SPACE)
        self._room, self._buffers = np.zeros(1, ROOM), np.zeros(1, HEAD_BUFFERS)
        self._held: Held = {"constant": aligned(area * packed.channels * FLOAT_BYTES)}
        for number, channels in enumerate(packed.streams):
            stream = self._held[f"streams{number}"] = aligned(boards * area * channels * FLOAT_BYTES)
            self._room[0]["streams"][number] = stream.ctypes.data
        self._space[0]["constant"] = self._held["constant"].ctypes.data
        self._space[0]["streams"][0] = self._held["streams0"].ctypes.data
        for kind, records, sizes in (
            ("room", self._room, _room_sizes(packed, boards * area)),
            ("buffers", self._buffers, _head_buffer_sizes(packed, area)),
        ):
            for name, size in sizes.items():
                held = self._held[f"{kind}_{name}"] = aligned(size)
                records[0][name] = held.ctypes.data
        self.players = np.zeros((count, packed.channels), np.float32)
        self.pools = np.zeros((count, int(heads["pooled_blocks"] + heads["value_blocks"]), 3, OUTPUTS), np.float32)
        self.policies = np.zeros((count, packed.policies, area), np.float32)
        self.ownership = np.zeros((count, area), np.float32)
        self.last = last_layers(packed.small, area)
        set_constant(packed, self._tiles, self._space, self._held)

    def run(self, spatial: FloatArray, global_: FloatArray) -> None:
        """Compute `pools`, `policies` and `ownership` (heads.py) from `spatial` and `global_`, both C-contiguous.

        `players` is added to the stream at every point."""
        packed = self._packed
        run_tokens(
            packed.network, packed.blocks, packed.matrices, packed.heads, self._tiles, self._space, self._room,
            self._buffers, spatial, global_, self.players, self.pools, self.policies, self.ownership, self._boards,
        )  # fmt: skip


def _room_sizes(packed: PackedTokens, rows: int) -> dict[str, int]:
    """Return the sizes in bytes of the arrays that ROOM points to, except the streams."""
    attention = packed.blocks[packed.blocks["kind"] == ATTENTION]
    inputs, outputs = int(packed.matrices["inputs"].max()), int(packed.matrices["outputs"].max())
    outputs_of = packed.matrices["outputs"]
    values = outputs_of[attention["first"]] + outputs_of[attention["values"]]
    return {
        "values": rows * int(max(outputs_of[packed.heads[0]["matrix"]], values.max(initial=0))) * FLOAT_BYTES,
        "mixed": rows * int(packed.matrices["inputs"][attention["second"]].max(initial=0)) * FLOAT_BYTES,
        "levels": CHUNK * inputs * SHORT_BYTES,
        "hidden": CHUNK * max(inputs, outputs) * FLOAT_BYTES,
        "sums": CHUNK * OUTPUT_BYTES,
        "steps": CHUNK * FLOAT_BYTES,
    }


def _head_buffer_sizes(packed: PackedTokens, area: int) -> dict[str, int]:
    """Bytes of what HEAD_BUFFERS points to."""
    size, values = (int(packed.blocks[name].max(initial=0)) for name in ("size", "value_size"))
    area = -(-area // KEYS) * KEYS
    return {
        "queries": area * size * SHORT_BYTES,
        "key_rows": area * size * SHORT_BYTES,
        "keys": area * size * SHORT_BYTES,
        "values": -(-values // OUTPUTS) * area // 2 * OUTPUT_BYTES,
        "scores": ROWS * area * SHORT_BYTES,
        "sums": ROWS * OUTPUT_BYTES,
    }
