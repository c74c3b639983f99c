"""Networks run by our own kernels, in integers of 16 bits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.evaluator import (
    Evaluation,
    EvaluationRequest,
    EvaluationSteps,
    Evaluator,
    EvaluatorError,
    NetworkEvaluator,
    as_floats,
    of_colours,
)
from nets.human_profile import HumanProfile
from nets.katago.model import FloatArray
from nets.native.convolutions.layers import CONVOLUTION_SPACE
from nets.native.convolutions.tiling import POINTS, SMALLEST, tiling
from nets.native.convolutions.transforms import FINISH, FLOAT_BYTES, SHORT_BYTES
from nets.native.network import run_network, write_stem
from nets.native.outputs import finish_batch, for_boards
from nets.native.packed import Packed, aligned
from nets.native.profiles import profile_bias
from nets.native.simd.products import OUTPUT_BYTES, OUTPUTS
from nets.native.simd.tile_products import TILE_ROWS
from nets.native.simd.vectors import VECTOR_BYTES
from nets.native.transformers.attention import HEAD_BUFFERS, KEYS
from nets.native.transformers.attention import ROWS as QUERIES
from nets.native.transformers.blocks import ATTENTION, CHUNK, ROW_SPACE
from nobi_machine.fused_call import Given, KernelCall, fuse

MOST_IDLE = 8
"""How many idle workspaces are kept. More callers at once, or more kinds of batches, allocate their own."""
LONG = 400_000_000
"""An evaluation of so many multiplications takes long, some milliseconds. What a search does besides it is little to
that, and a batch would still be under way long after the search's time, and in the way of the next move's."""
NO_OPTIMISM = np.zeros(0, np.float32)


class NativeEvaluator(NetworkEvaluator):
    """An evaluator that runs a network with our own kernels. Any number of threads may call it at once; each computes
    its call alone."""

    def __init__(
        self,
        packed: Packed,
        source: str,
        open_other: Callable[[], Evaluator],
        optimism: float = 1.0,
        profile: HumanProfile | None = None,
    ) -> None:
        """Run a network as the kernels read it. Raises EvaluatorError.

        Boards of a single line fit no tile: the evaluator that `open_other` opens evaluates them. For the other
        arguments see `NetworkEvaluator`."""
        encoder = packed.metadata
        super().__init__(replace(packed.attributes, profile=profile), source, optimism, encoder is not None)
        self._profile_bias = None if encoder is None else lru_cache(maxsize=64)(partial(profile_bias, encoder))
        self._packed, self._open_other = packed, open_other
        self._other: Evaluator | None = None
        self._idle: list[KernelArrays] = []
        self._lock = threading.Lock()

    def suited_batch(self, height: int, width: int) -> int:
        """Return 1 where an evaluation takes long, else the usual batch, as `Evaluator.suited_batch` says: the kernels
        themselves gain nothing by batches."""
        is_long = self._packed.work.multiplications(height * width) >= LONG
        return 1 if is_long else super().suited_batch(height, width)

    def warm_up(self, count: int, height: int, width: int) -> None:
        """Do nothing: the kernels are the same for batches and boards of every size."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        """Evaluate positions as `Evaluator.evaluate` says."""
        spatial, global_, optimism, colours = request
        if min(spatial.shape[2:]) < SMALLEST:
            return self._evaluate_line(request)
        shares = self.optimism_of(len(spatial), optimism) if self._attributes.has_optimism else NO_OPTIMISM
        return self._computed(spatial, global_, [shares], colours)[0]

    def steps(self, request: EvaluationRequest, evaluation: Evaluation, count: Any) -> EvaluationSteps | None:
        """Return the steps of an evaluation as `Evaluator.steps` says, in memory of their own."""
        spatial, global_, optimism, _ = request
        if self._profile_bias is not None or min(spatial.shape[2:]) < SMALLEST or optimism is None:
            return None
        space = KernelArrays(self._packed, len(spatial), *spatial.shape[2:])
        given = optimism if self._attributes.has_optimism else NO_OPTIMISM
        return EvaluationSteps(space.steps(count, spatial, global_, given, *evaluation), space.boards)

    def evaluate_both(self, spatial: FloatArray, global_: FloatArray) -> tuple[Evaluation, FloatArray | None]:
        """Evaluate without optimism, and return the logits [N, H*W + 1] of the optimistic policy too, or None.

        The boards must have more than a single line. Raises EvaluatorError."""
        has_optimism = self._attributes.has_optimism
        optimisms = [np.full(len(spatial), each, np.float32) for each in (0.0, 1.0)] if has_optimism else [NO_OPTIMISM]
        evaluations = self._computed(spatial, global_, optimisms, None)
        return evaluations[0], evaluations[1].policy if has_optimism else None

    def _computed(
        self, spatial: FloatArray, global_: FloatArray, optimisms: list[FloatArray], colours: NDArray[np.int8] | None
    ) -> list[Evaluation]:
        """An evaluation for each of `optimisms`. Raises EvaluatorError."""
        count, planes, height, width = spatial.shape
        if planes != self._packed.planes or max(height, width) > MAX_SIZE:
            raise EvaluatorError(f"{self.source}: evaluation failed: {planes} planes of {height}x{width}")
        if global_.shape != (count, self._packed.global_features):
            raise EvaluatorError(f"{self.source}: evaluation failed: global features of the shape {global_.shape}")
        spatial, global_ = as_floats(spatial), as_floats(global_)
        results = [Evaluation.zeros(count, height, width) for _ in optimisms]
        space = self._take(count, height, width)
        if self._profile_bias is not None:
            added = of_colours(self._profile_bias(self._attributes.profile, height * width), count, colours)
            space.profile_bias[:, : added.shape[1]] = added
        try:
            space.evaluate(count, spatial, global_, optimisms[0], *results[0])
            for each, result in zip(optimisms[1:], results[1:], strict=True):
                space.finish(count, global_, each, result)
        except FloatingPointError as error:
            # What is no number may stay in the workspace where no other evaluation writes, so it is not used again.
            raise EvaluatorError(f"{self.source}: {error}") from None
        self._give_back(space)
        return results

    def _evaluate_line(self, request: EvaluationRequest) -> Evaluation:
        with self._lock:
            if self._other is None:
                self._other = self._open_other()
            other = self._other
        if self._attributes.profile is not None:
            other.use_profile(self._attributes.profile)
        return other.evaluate(request._replace(optimism=self.optimism_of(len(request.spatial), request.optimism)))

    def _take(self, count: int, height: int, width: int) -> KernelArrays:
        kind = count, height, width
        with self._lock:
            for number in reversed(range(len(self._idle))):
                if self._idle[number].kind == kind:
                    return self._idle.pop(number)
        return KernelArrays(self._packed, *kind)

    def _give_back(self, space: KernelArrays) -> None:
        with self._lock:
            self._idle.append(space)
            del self._idle[:-MOST_IDLE]


# --- The memory that a thread needs ----------------------------------------------------------------------------------
# It is for one call of the kernels, for batches of one size on boards of one size.

NEAR_BYTES = 8 << 20
"""Parameters up to this size stay in a processor's last cache together with everything else."""
BATCH_BYTES = 4 << 20
"""The size up to which a workspace is read from the processor's caches."""
ROWS_TOGETHER = 400
"""How many points of boards transformer blocks compute together: their data stays in the processor's second cache, and
parameters are read from farther away once for all of them."""

Sizes = Mapping[str, int | list[int]]
"""Bytes of what the fields of a record point to; several where the field has several addresses."""


class KernelArrays:
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
        self._outputs = for_boards(packed.last_layers, area), self.pools, self.policies, self.ownership
        planes, row = np.zeros((1, 1, 1, 1), np.float32), np.zeros((1, 1), np.float32)
        optimism = np.zeros(1, np.float32)
        examples = count, planes, row, optimism, row, row, row, row
        self.evaluate = fuse(self.steps(*map(Given, range(len(examples)))), *examples)
        """Evaluate a batch, with the arguments of `steps`."""

    def steps(self, count: Any, spatial: Any, global_: Any, optimism: Any, *evaluation: Any) -> list[KernelCall]:
        """Return the calls that evaluate `count` boards, a multiple of `boards`.

        They go from the boards' features to the fields of an `Evaluation`, the arrays `evaluation`. `optimism` [N] are
        the shares of the optimistic policy. All arrays are np.float32 in C order. `profile_bias` is added to the stream
        at every point. The last call raises FloatingPointError if an output is not finite.
        """
        run = *self._memory, count, spatial, global_
        finish = *self._outputs, count, global_, optimism, *evaluation
        return [KernelCall(run_network, run, self._held), KernelCall(finish_batch, finish)]

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
