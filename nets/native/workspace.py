"""The working memory of one call of the kernels, for batches of one size on boards of one size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import Evaluation
from nets.katago.model import FloatArray
from nets.native.convolutions.finish import FINISH
from nets.native.convolutions.layers import CONVOLUTION_SPACE
from nets.native.convolutions.tiling import POINTS, tiling
from nets.native.convolutions.transforms import FLOAT_BYTES, SHORT_BYTES
from nets.native.network import run_network
from nets.native.outputs import finish_batch, last_layers
from nets.native.packed import Packed
from nets.native.parameters import aligned
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS
from nets.native.simd.tile_products import TILE_ROWS
from nets.native.simd.vectors import VECTOR_BYTES
from nets.native.stem import write_stem
from nets.native.transformers.attention import HEAD_BUFFERS, KEYS
from nets.native.transformers.attention import ROWS as QUERIES
from nets.native.transformers.blocks import ATTENTION, CHUNK, ROW_SPACE
from nobi_machine.fused_call import Given, Step, fuse

NEAR_BYTES = 8 << 20
"""Parameters up to this size stay in a processor's last cache together with everything else."""
BATCH_BYTES = 4 << 20
"""The size up to which a workspace is read from the processor's caches."""
ROWS_TOGETHER = 400
"""How many points of boards transformer blocks compute together: their data stays in the processor's second cache, and
parameters are read from farther away once for all of them."""

Sizes = Mapping[str, int | list[int]]
"""Bytes of what the fields of a record point to; several where the field has several addresses."""


class Workspace:
    """The arrays that the kernels work in, and the records with their addresses."""

    def __init__(self, packed: Packed, count: int, height: int, width: int) -> None:
        """Allocate the memory for a batch of `count` boards."""
        self.kind = count, height, width
        most, area = boards_at_once(packed, height, width), height * width
        boards = max(number for number in range(1, min(count, most) + 1) if count % number == 0)
        heads = packed.heads[0]
        tiles, finish_record = tiling(boards, height, width, packed.largest), np.zeros(1, FINISH)
        self._held: list[object] = [packed]
        space = self._allocated(CONVOLUTION_SPACE, _space_sizes(packed, boards, height, width))
        room = self._allocated(ROW_SPACE, _row_space_sizes(packed, boards, area))
        buffers = self._allocated(HEAD_BUFFERS, _head_buffer_sizes(packed, area))
        streams = np.array([self._allocate(boards * area * each * FLOAT_BYTES) for each in packed.streams])
        self.profile_bias = np.zeros((count, packed.channels), np.float32)
        self.pools = np.zeros((count, int(heads["pooled_blocks"] + heads["value_blocks"]), 3, OUTPUTS), np.float32)
        self.policies = np.zeros((count, packed.policies, area), np.float32)
        self.ownership = np.zeros((count, area), np.float32)
        constant = _constant(packed, height, width)
        self._held.append(constant)
        self._memory = (
            packed.network, packed.runs, packed.layers, packed.blocks, packed.matrices, packed.heads, tiles,
            space, room, buffers, streams, finish_record, packed.curves,
            constant.ctypes.data, self.profile_bias, self.pools, self.policies, self.ownership, boards,
        )  # fmt: skip
        self.boards = boards
        """How many boards are computed together."""
        self._outputs = last_layers(packed.small, area), self.pools, self.policies, self.ownership
        planes, row = np.zeros((1, 1, 1, 1), np.float32), np.zeros((1, 1), np.float32)
        optimism = np.zeros(1, np.float32)
        examples = count, planes, row, optimism, row, row, row, row
        self.evaluate = fuse(self.steps(*map(Given, range(len(examples)))), *examples)
        """Evaluate a batch, with the arguments of `steps`."""

    def steps(self, count: Any, spatial: Any, global_: Any, optimism: Any, *evaluation: Any) -> list[Step]:
        """Return the calls that evaluate `count` boards, a multiple of `boards`.

        They go from the boards' features to the fields of an `Evaluation`, the arrays `evaluation`. `optimism` [N] are
        the shares of the optimistic policy. All arrays are np.float32 in C order. `profile_bias` is added to the stream
        at every point. The last call raises FloatingPointError if an output is not finite.
        """
        run = *self._memory, count, spatial, global_
        finish = *self._outputs, count, global_, optimism, *evaluation
        return [Step(run_network, run, self._held), Step(finish_batch, finish)]

    def finish(self, count: int, global_: FloatArray, optimism: FloatArray, evaluation: Evaluation) -> None:
        """Make another evaluation of the batch that was evaluated last, with another `optimism`."""
        finish_batch(*self._outputs, count, global_, optimism, *evaluation)

    def _allocate(self, size: int) -> int:
        """Allocate so many bytes, zeros, and return their address."""
        memory = aligned(size)
        self._held.append(memory)
        return int(memory.ctypes.data)

    def _allocated(self, kind: np.dtype[np.void], sizes: Sizes) -> NDArray[np.void]:
        """Return a record with the addresses of memory of these sizes; fields without a size are 0."""
        record = np.zeros(1, kind)
        for name, size in sizes.items():
            if isinstance(size, list):
                record[0][name][: len(size)] = [self._allocate(each) for each in size]
            else:
                record[0][name] = self._allocate(size)
        return record


def boards_at_once(packed: Packed, height: int, width: int) -> int:
    """Return how many boards to compute together.

    For convolutions of a small network this is 1: then its places and sums stay in the processor's second cache. For
    those of a large network it is at least 2, because its parameters never stay there.
    """
    most = 1 if packed.blocks is None else max(1, ROWS_TOGETHER // (height * width))
    if packed.layers is None or packed.parameters.nbytes <= NEAR_BYTES:
        return most
    sizes = _space_sizes(packed, 1, height, width).values()
    one = sum(sum(size) if isinstance(size, list) else size for size in sizes)
    one += sum(height * width * channels * FLOAT_BYTES for channels in packed.streams)
    return max(most, 2, BATCH_BYTES // one)


def _space_sizes(packed: Packed, boards: int, height: int, width: int) -> dict[str, int | list[int]]:
    """Return the sizes in bytes of what CONVOLUTION_SPACE points to."""
    if packed.layers is None:
        return {}
    record = tiling(boards, height, width, packed.largest)[0]
    tiles, points = int(record["counts"].sum()), boards * height * width
    framed = boards * (height + 2) * (width + 2)
    transformed = max((channels for channels, is_framed in packed.buffers if is_framed), default=0)
    if packed.layers["in_bf16"].any():  # nothing is transformed
        transformed = 0
    widest, pooled = int(packed.layers["outputs"].max()), int(packed.layers["pooled"].max())
    return {
        "places": tiles * transformed * SHORT_BYTES,
        "sums": (max(tiles, points, framed) + TILE_ROWS) * OUTPUT_BYTES,
        "rows": len(POINTS) * (width + 2) * max(transformed * SHORT_BYTES, OUTPUT_BYTES),
        "levels": [
            ((framed if is_framed else points) + TILE_ROWS) * channels * SHORT_BYTES
            for channels, is_framed in packed.buffers
        ],
        "values": points * pooled * FLOAT_BYTES,
        "pool": 3 * pooled * FLOAT_BYTES,
        "pool_bias": boards * widest * FLOAT_BYTES,
    }


def _row_space_sizes(packed: Packed, boards: int, area: int) -> dict[str, int | list[int]]:
    """Return the sizes in bytes of what ROW_SPACE points to, for the blocks of rows and for the heads."""
    inputs, outputs = packed.matrices["inputs"], packed.matrices["outputs"]
    values, mixed = area * int(outputs[packed.heads[0]["matrix"]]), 0
    if packed.blocks is not None:
        attention = packed.blocks[packed.blocks["kind"] == ATTENTION]
        widest = int(outputs[attention["first"]].max(initial=0))
        values, mixed = max(values, boards * area * widest), int(inputs[attention["second"]].max(initial=0))
    return {
        "values": values * FLOAT_BYTES,
        "mixed": boards * area * mixed * FLOAT_BYTES,
        "levels": CHUNK * int(inputs.max()) * SHORT_BYTES,
        "hidden": CHUNK * max(int(inputs.max()), int(outputs.max())) * FLOAT_BYTES,
        "sums": CHUNK * OUTPUT_BYTES,
        "steps": CHUNK * FLOAT_BYTES,
    }


def _head_buffer_sizes(packed: Packed, area: int) -> dict[str, int | list[int]]:
    """Return the sizes in bytes of what HEAD_BUFFERS points to."""
    if packed.blocks is None:
        return {}
    size, values = (int(packed.blocks[name].max()) for name in ("size", "value_size"))
    area = -(-area // KEYS) * KEYS
    return {
        "queries": area * size * SHORT_BYTES,
        "key_rows": area * size * SHORT_BYTES,
        "keys": area * size * SHORT_BYTES,
        "key_steps": size * FLOAT_BYTES,
        "starts": area // KEYS * OUTPUT_BYTES,
        "units": area * FLOAT_BYTES,
        "values": -(-values // OUTPUTS) * area // 2 * OUTPUT_BYTES,
        "steps": values * FLOAT_BYTES,
        "scores": QUERIES * area * SHORT_BYTES,
        "sums": QUERIES * OUTPUT_BYTES,
        "factors": QUERIES * VECTOR_BYTES,
    }


def _constant(packed: Packed, height: int, width: int) -> NDArray[np.uint8]:
    """Compute the sums of the stem for an empty board: its bias, and its kernel applied to the plane of the board."""
    size = height * width * packed.channels * FLOAT_BYTES
    biases, result = aligned(size), aligned(size)
    bias = packed.parameters[packed.network[0]["stem_bias"] :].view(np.float32)[: packed.channels]
    biases.view(np.float32).reshape(-1, packed.channels)[:] = bias
    empty = np.zeros((1, packed.planes, height, width), np.float32)
    empty[:, 0] = 2  # one of which an empty board is expected to have
    nothing = np.zeros((1, packed.global_features), np.float32), np.zeros((1, packed.channels), np.float32)
    write_stem(empty, *nothing, packed.network[0], biases.ctypes.data, result.ctypes.data)
    return result
