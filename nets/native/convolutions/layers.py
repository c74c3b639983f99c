"""The trunk's blocks as a list of layers, each a convolution and what reads it.

The inner blocks of a bottleneck come between its own two layers, and have a residual stream of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import (
    Activation,
    Block,
    BottleneckBlock,
    Convolution,
    FloatArray,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
    Trunk,
)
from nets.native.convolutions.finish import TO_LEVELS, TO_NEW_STREAM, TO_STREAM
from nets.native.convolutions.levels import PLAIN, Levels, Steps, levels_of, steps
from nets.native.convolutions.parameters import Writer, bias_of, pad, padded, pool_matrix, put_convolutions
from nets.native.convolutions.trunk import LAYER
from nets.native.simd.activations import KINDS

Buffer = tuple[int, bool]
"""A buffer for levels: its channels, and whether it has a frame of zeros."""


@dataclass(frozen=True)
class Reader:
    """A norm and an activation before a convolution."""

    norm: Normed
    levels: Levels
    steps: Steps
    is_framed: bool

    @property
    def activation(self) -> Activation:
        return self.norm.activation


class LayersWriter:
    """Writes the layers of a prepared trunk. If `is_curved` is false, ReLU is the only activation."""

    def __init__(self, writer: Writer, highest: Mapping[str, FloatArray], is_curved: bool, largest: int) -> None:
        """Write parameters to `writer`. `highest` are the highest values of activations, [channels] by the names of
        their taps. If not `is_curved`, ReLU is the only activation. `largest` is the side of the largest tiles."""
        self._writer, self._highest, self._is_curved, self._largest = writer, highest, is_curved, largest
        self._records: list[NDArray[np.void]] = []
        self._current = -1
        self.buffers: list[Buffer] = []
        """Of levels."""
        self.streams: list[int] = []
        """Channels; first the trunk's."""

    def trunk(self, trunk: Trunk) -> tuple[NDArray[np.void], Reader]:
        """Return the LAYER records of the trunk, and what the levels of the last one are."""
        assert isinstance(trunk.tip, Normed)
        tip = self._reader("tip", trunk.tip, is_framed=False)
        first = self._reader_of(trunk.blocks[0], "block0")
        record = self._add(1, padded(trunk.channels), 0, first)
        record["side"] = 0
        self._blocks(trunk.blocks, tip, 0, "block")
        return np.concatenate(self._records), tip

    @property
    def target(self) -> int:
        """The number of the levels that the last layer writes."""
        return self._current

    def _blocks(self, blocks: Sequence[Block], end: Reader, depth: int, prefix: str) -> None:
        readers = [self._reader_of(block, f"{prefix}{number}") for number, block in enumerate(blocks)]
        for number, (block, read, next_) in enumerate(zip(blocks, readers, [*readers[1:], end], strict=True)):
            name = f"{prefix}{number}"
            if isinstance(block, BottleneckBlock):
                after = self._reader(f"{name}_after", block.after, block.widen.weights.shape[2] == 3)
                inner = self._reader_of(block.blocks[0], f"{name}_0")
                self._convolve([block.narrow], read, TO_NEW_STREAM, depth + 1, inner)
                self._blocks(block.blocks, after, depth + 1, f"{name}_")
                self._convolve([block.widen], after, TO_STREAM, depth, next_)
                continue
            assert isinstance(block, (OrdinaryBlock, PoolingBlock))
            between = self._reader(f"{name}_between", block.between, block.second.weights.shape[2] == 3)
            self._first(block, read, between)
            self._convolve([block.second], between, TO_STREAM, depth, next_)

    def _first(self, block: OrdinaryBlock | PoolingBlock, read: Reader, between: Reader) -> None:
        """A block's first convolution, whose outputs `between` reads alone."""
        factor = np.ones_like(between.steps) if self._is_curved else _inverse(between.steps)
        first = Convolution(
            block.first.weights * factor[:, None, None, None], block.first.dilation, bias_of(block.first) * factor
        )
        if isinstance(block, OrdinaryBlock):
            self._convolve([first], read, TO_LEVELS, 0, between)
            return
        record = self._convolve([block.pooled, first], read, TO_LEVELS, 0, between)
        record["pooled"] = padded(block.pooled.outputs)
        record["pooled_activation"] = KINDS.index(block.pooled_norm.activation)
        matrix = pool_matrix(block.pooled_to_bias * factor, block.pooled.outputs, padded(first.outputs))
        record["pool_matrix"] = self._writer.put(matrix)

    def _reader_of(self, block: Block, name: str) -> Reader:
        assert isinstance(block, (OrdinaryBlock, PoolingBlock, BottleneckBlock))
        first = block.narrow if isinstance(block, BottleneckBlock) else block.first
        return self._reader(f"{name}_before", block.before, first.weights.shape[2] == 3)

    def _reader(self, tap: str, norm: Normed, is_framed: bool) -> Reader:
        levels = levels_of(norm.activation, self._largest if is_framed else PLAIN)
        return Reader(norm, levels, steps(self._highest[tap], norm.activation, levels), is_framed)

    def _convolve(self, parts: list[Convolution], read: Reader, kind: int, depth: int, next_: Reader) -> np.void:
        """`parts` read the same; the last one's outputs are `next_`'s to read."""
        side, source = parts[0].weights.shape[2], self._current
        record = self._add(side, padded(parts[-1].outputs), depth if kind != TO_LEVELS else -1, next_)
        record["inputs"], record["source"], record["kind"] = padded(parts[0].inputs), source, kind
        offsets = put_convolutions(self._writer, parts, read.steps, read.levels, self._largest)
        record["weights"], record["scale"], record["bias"] = offsets
        return record

    def _add(self, side: int, outputs: int, depth: int, next_: Reader) -> np.void:
        """A layer's record, but for the convolution itself. `depth` is the stream's that it writes, if any."""
        self._records.append(np.zeros(1, LAYER))
        record = self._records[-1][0]
        record["side"], record["outputs"], record["stream"] = side, outputs, max(depth, 0)
        if depth >= 0:
            self.streams += [0] * (depth + 1 - len(self.streams))
            self.streams[depth] = max(self.streams[depth], outputs)
        # A product writes its first levels while it still reads; the other method has read everything by then.
        self._current = self._buffer((outputs, next_.is_framed), self._current if side == 1 else -1)
        record["target"], record["is_framed"] = self._current, next_.is_framed
        record["activation"] = KINDS.index(next_.activation)
        record["least"], record["most"] = next_.levels
        per_step = _inverse(next_.steps)
        factor = np.ones_like(per_step) if self._is_curved else per_step
        put = partial(self._put, channels=outputs)
        record["next_scale"], record["next_bias"] = put(next_.norm.scale * factor), put(next_.norm.bias * factor)
        record["per_step"] = put(per_step)
        return record

    def _put(self, values: FloatArray, channels: int) -> int:
        return self._writer.put(pad(values, channels))

    def _buffer(self, wanted: Buffer, taken: int) -> int:
        for number, buffer in enumerate(self.buffers):
            if buffer == wanted and number != taken:
                return number
        self.buffers.append(wanted)
        return len(self.buffers) - 1


def _inverse(values: FloatArray) -> FloatArray:
    return np.asarray(1 / values, np.float32)
