"""Packs blocks of convolutions as layers, each a convolution and what reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, Convolution, FloatArray, Normed, OrdinaryBlock, PoolingBlock
from nets.native.convolutions.finish import TO_LEVELS, TO_NEW_STREAM, TO_STREAM
from nets.native.convolutions.layers import LAYER
from nets.native.convolutions.levels import PLAIN, Levels, Steps, levels_of, numbers_of, steps
from nets.native.convolutions.weights import put_bf16_convolutions, put_convolutions
from nets.native.order import End, Step
from nets.native.parameters import Writer, pad, padded, pool_matrix
from nets.native.simd.activations import KINDS

Buffer = tuple[int, bool]
"""A buffer for levels: its channels, and whether it has a frame of zeros."""


class Reading(NamedTuple):
    """What convolutions do that read the same: a norm and an activation before them, and where their outputs go."""

    tap: str
    """The name of what they read in the graph's taps (nets/conversion/trunk.py)."""
    norm: Normed
    parts: tuple[Convolution, ...]
    """What the last one writes goes on; the one before it, if any, is pooled."""
    kind: int
    """TO_LEVELS, TO_STREAM or TO_NEW_STREAM."""
    stream: int
    """Which one is written, if any."""
    pooling: PoolingBlock | None = None
    """The block whose pooled convolution is among them."""


def readings(run: Sequence[Step]) -> Iterator[Reading]:
    """Yield the convolutions of a run's steps, in order."""
    for label, stream, part in run:
        if isinstance(part, End):
            tap = f"{label}_before" if part.is_narrow else f"{label}_after"
            kind, written = (TO_NEW_STREAM, stream + 1) if part.is_narrow else (TO_STREAM, stream - 1)
            yield Reading(tap, part.norm, (part.convolution,), kind, written)
            continue
        assert isinstance(part, (OrdinaryBlock, PoolingBlock))
        if isinstance(part, PoolingBlock):
            yield Reading(f"{label}_before", part.before, (part.pooled, part.first), TO_LEVELS, 0, part)
        else:
            yield Reading(f"{label}_before", part.before, (part.first,), TO_LEVELS, 0)
        yield Reading(f"{label}_between", part.between, (part.second,), TO_STREAM, stream)


@dataclass(frozen=True)
class _Reader:
    """A norm and an activation before a convolution."""

    norm: Normed
    levels: Levels
    steps: Steps
    is_framed: bool


class LayersWriter:
    """Writes the layers of runs of convolution blocks."""

    def __init__(
        self, writer: Writer, highest: Mapping[str, FloatArray], is_curved: bool, largest: int, in_bf16: bool
    ) -> None:
        """Write parameters to `writer`. `highest` are the highest values of activations, [channels] by the names of
        their taps. If not `is_curved`, ReLU is the only activation. `largest` is the side of the largest tiles; there
        are none if `in_bf16`."""
        self._writer, self._highest, self._is_curved, self._largest = writer, highest, is_curved, largest
        self._in_bf16 = in_bf16
        self._current = -1
        self.records: list[NDArray[np.void]] = []
        """LAYER records of all runs."""
        self.buffers: list[Buffer] = []
        """Of levels."""

    def put(self, run: Sequence[Step]) -> None:
        """Append the records of a run; its first one rounds the stream that the first step reads."""
        each = list(readings(run))
        readers = [self._reader(reading) for reading in each]
        self._current = -1
        record = self._add(0, padded(readers[0].norm.channels), run[0].stream, readers[0])
        for reading, read, next_ in zip_longest(each, readers, readers[1:]):
            parts = reading.parts
            if reading.kind == TO_LEVELS:
                assert next_ is not None
                parts = self._in_steps(parts, next_)
            side, source = parts[0].weights.shape[2], self._current
            record = self._add(side, padded(parts[-1].outputs), reading.stream, next_)
            record["inputs"], record["source"] = padded(parts[0].inputs), source
            record["kind"] = reading.kind
            if self._in_bf16:
                offsets = put_bf16_convolutions(self._writer, parts)
            else:
                offsets = put_convolutions(self._writer, parts, read.steps, read.levels, self._largest)
            record["weights"], record["scale"], record["bias"] = offsets
            if next_ is None:
                record["next_scale"] = record["next_bias"] = record["per_step"] = record["scale"]  # of no levels
            elif reading.pooling is not None:
                self._pool(record, reading.pooling, next_)

    def _in_steps(self, parts: tuple[Convolution, ...], next_: _Reader) -> tuple[Convolution, ...]:
        """Have the last of `parts` write what `next_` reads alone, in its steps where no activation is in between."""
        factor = self._factor(next_)
        last = parts[-1]
        return *parts[:-1], Convolution(last.weights * factor[:, None, None, None], (1, 1), last.biases * factor)

    def _pool(self, record: np.void, block: PoolingBlock, next_: _Reader) -> None:
        record["pooled"] = padded(block.pooled.outputs)
        record["pooled_activation"] = KINDS.index(block.pooled_norm.activation)
        matrix = block.pooled_to_bias * self._factor(next_)
        record["pool_matrix"] = self._writer.put(pool_matrix(matrix, block.pooled.outputs, padded(block.first.outputs)))

    def _reader(self, reading: Reading) -> _Reader:
        norm, is_framed = reading.norm, reading.parts[0].weights.shape[2] == 3
        if self._in_bf16:
            ones = np.ones(norm.channels, np.float32)
            return _Reader(norm, numbers_of(norm.activation), ones, is_framed)
        levels = levels_of(norm.activation, self._largest if is_framed else PLAIN)
        return _Reader(norm, levels, steps(self._highest[reading.tap], norm.activation, levels), is_framed)

    def _add(self, side: int, outputs: int, stream: int, next_: _Reader | None) -> np.void:
        """A layer's record, but for the convolution itself."""
        self.records.append(np.zeros(1, LAYER))
        record: np.void = self.records[-1][0]
        record["in_bf16"] = self._in_bf16
        record["side"], record["outputs"], record["stream"] = side, outputs, stream
        is_framed = next_ is not None and next_.is_framed
        # A product writes its first levels while it still reads; Winograd's method has read everything by then.
        still_read = side == 1 or (side == 3 and self._in_bf16)
        self._current = self._buffer((outputs, is_framed), self._current if still_read else -1)
        record["target"], record["is_framed"] = self._current, is_framed
        if next_ is None:  # the levels are zeros that nothing reads: to write none would cost all other layers a branch
            return record
        record["activation"] = KINDS.index(next_.norm.activation)
        record["least"], record["most"] = next_.levels
        factor = self._factor(next_)
        for name, values in (
            ("next_scale", next_.norm.scale * factor),
            ("next_bias", next_.norm.bias * factor),
            ("per_step", _inverse(next_.steps)),
        ):
            record[name] = self._writer.put(pad(values, outputs))
        return record

    def _factor(self, reader: _Reader) -> FloatArray:
        """What makes steps of values before the activation; ones where the activation comes first."""
        return np.ones_like(reader.steps) if self._is_curved else _inverse(reader.steps)

    def _buffer(self, wanted: Buffer, taken: int) -> int:
        for number, buffer in enumerate(self.buffers):
            if buffer == wanted and number != taken:
                return number
        self.buffers.append(wanted)
        return len(self.buffers) - 1


def is_curved(run: Sequence[Step]) -> bool:
    """Tell whether a run of convolution blocks has any activation other than ReLU."""
    norms = [reading.norm for reading in readings(run)]
    norms += [reading.pooling.pooled_norm for reading in readings(run) if reading.pooling is not None]
    return any(norm.activation is not Activation.RELU for norm in norms)


def _inverse(values: FloatArray) -> FloatArray:
    return np.asarray(1 / values, np.float32)
