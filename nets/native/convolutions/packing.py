"""Packs blocks of convolutions as layers, each a convolution and what reads it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, Convolution, FloatArray, Normed, OrdinaryBlock, PoolingBlock
from nets.native.convolutions.layers import LAYER
from nets.native.convolutions.tiling import places, reach, weight_matrix
from nets.native.convolutions.transforms import TO_LEVELS, TO_NEW_STREAM, TO_STREAM
from nets.native.order import BottleneckEnd, Step
from nets.native.packed import LARGEST_WEIGHT, Writer, pad, padded, pool_matrix
from nets.native.simd.activations import KINDS, LOWEST
from nets.native.simd.products import OUTPUTS

# --- Levels ----------------------------------------------------------------------------------------------------------
# Winograd's method transforms its inputs in 16 bits, so these have few levels. The inputs of a 1×1 convolution have as
# many as suits the weights best, so that sums fit into 32 bits.

NARROWEST = 1e-2
"""Least range of a channel, as a share of the widest one's: a channel that never fired may do so one day."""
LOWER_SHARE = 0.31
"""How many levels below 0 an activation has for each level above, if it is seldom and little below 0."""
MOST_INPUT = 32767
"""The largest input of a product: at no place may it outgrow 16 bits, so that Winograd's transform is exact."""
MOST_PLAIN = 4095
"""The highest level of activations that no transform reads."""
PLAIN = 0
"""The side of the largest tile for 1×1 convolutions, which have no tiles."""

Steps = FloatArray
"""[channels]: what a level of each is worth."""


class Levels(NamedTuple):
    """The least and the greatest level."""

    least: int
    most: int


ENDLESS = 1 << 62
"""Further than any number in bf16 goes."""


def levels_of(activation: Activation, largest: int) -> Levels:
    """Return the levels for a reader by Winograd's method in tiles of at most `largest` points, or for a plain one."""
    share = {Activation.RELU: 0.0, Activation.IDENTITY: 1.0}.get(activation, LOWER_SHARE)
    if largest == PLAIN:
        return Levels(-MOST_PLAIN if share > 0 else 0, MOST_PLAIN)
    over, under = reach(largest)
    most = int(MOST_INPUT / max((over + share * under).max(), (under + share * over).max()))
    return Levels(-int(share * most), most)


def at_places(levels: Levels, largest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how far above and below 0 Winograd's transform takes such levels at each place: two [places]."""
    over, under = reach(largest)
    return over * levels.most - under * levels.least, under * levels.most - over * levels.least


def steps(highest: FloatArray, activation: Activation, levels: Levels) -> Steps:
    """Return the steps for the highest values [channels] that must stay distinct.

    The least value that the activation can have gets a level even if it was not seen."""
    least = max(NARROWEST * float(highest.max()), 1e-6)
    result = np.maximum(highest, least) / levels.most
    if -math.inf < LOWEST[activation] < 0:
        result = np.maximum(result, LOWEST[activation] / levels.least)
    return np.asarray(result, np.float32)


# --- Weights ---------------------------------------------------------------------------------------------------------
# The weights that read an activation absorb its steps. They are as fine as sums in 32 bits allow, however unlikely the
# inputs: no sum can overflow.


Numbers = tuple[NDArray[np.int16], FloatArray]
"""What kernels read of a convolution: numbers of 16 bits [places, outputs, inputs], and what 1 is worth [outputs]."""


def put_convolutions(
    writer: Writer, parts: Sequence[Convolution], numbers: Callable[[Convolution], Numbers]
) -> tuple[int, int, int]:
    """Write convolutions that read the same as one; return the offsets of weights, scales and biases.

    Each is padded to blocks of 32 outputs.
    """
    weights, scales, biases = [], [], []
    inputs = padded(parts[0].inputs)
    for part in parts:
        rows, scale = numbers(part)
        outputs = padded(part.outputs)
        block = np.zeros((len(rows), outputs, inputs), np.int16)
        block[:, : part.outputs, : part.inputs] = rows
        weights.append(block)
        scales.append(pad(scale, outputs))
        biases.append(pad(part.biases, outputs))
    together = np.concatenate(weights, axis=1) if len(weights) > 1 else weights[0]
    pairs = together.view(np.int32).reshape(len(together), -1, OUTPUTS, inputs // 2)
    offset = writer.put(pairs.transpose(1, 0, 3, 2))
    return offset, writer.put(np.concatenate(scales)), writer.put(np.concatenate(biases))


def integers(part: Convolution, read: Steps, levels: Levels, largest: int) -> Numbers:
    """Return the integers of a convolution of 3×3, for tiles of at most `largest` points, or of 1×1."""
    return _winograd(part, read, levels, largest) if part.weights.shape[2] == 3 else _plain(part, read, levels)


def bf16_numbers(part: Convolution) -> Numbers:
    """Return the numbers in bf16 of a convolution of 3×3 or 1×1, whose places are those of its kernel."""
    weights = as_bf16(part.weights.transpose(2, 3, 0, 1)).view(np.int16)
    return weights.reshape(-1, part.outputs, part.inputs), np.ones(part.outputs, np.float32)


def as_bf16(values: FloatArray) -> NDArray[np.uint16]:
    """Round floats to bf16, to the nearest, halfway to the even one."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _winograd(part: Convolution, read: Steps, levels: Levels, largest: int) -> Numbers:
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


def _plain(part: Convolution, read: Steps, levels: Levels) -> Numbers:
    """[1, outputs, inputs] and what 1 is worth, [outputs]."""
    weights = part.weights[:, :, 0, 0] * read
    return _rounded(weights[None], max(levels.most, -levels.least) * np.abs(weights).sum(axis=1))


def _rounded(weights: FloatArray, most: FloatArray) -> Numbers:
    """Integers [places, outputs, inputs] and what 1 is worth [outputs], where sums of products of the weights come to
    at most `most` [outputs]."""
    # Rounding moves each product by up to half of the largest input, 2^15; twice that is kept free.
    largest_sum = 2**31 - 2**15 * weights.shape[-1]
    scale = np.maximum(most / largest_sum, np.abs(weights).max(axis=(0, 2)) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30)
    return np.rint(weights / scale[:, None]).astype(np.int16), scale.astype(np.float32)


# --- Layers ----------------------------------------------------------------------------------------------------------

Buffer = tuple[int, bool]
"""A buffer for levels: its channels, and whether it has a frame of zeros."""


class Reading(NamedTuple):
    """What convolutions do that read the same: a norm and an activation before them, and where their outputs go."""

    tap: str
    """The name of what they read in the graph's taps (nets/graph/layers.py)."""
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
        if isinstance(part, BottleneckEnd):
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
class _Preactivation:
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
                assert next_ is not None  # alone reads what the last of the parts writes: in its steps, without curves
                factor, last = self._factor(next_), parts[-1]
                last = Convolution(last.weights * factor[:, None, None, None], (1, 1), last.biases * factor)
                parts = (*parts[:-1], last)
            side, source = parts[0].weights.shape[2], self._current
            record = self._add(side, padded(parts[-1].outputs), reading.stream, next_)
            record["inputs"], record["source"] = padded(parts[0].inputs), source
            record["kind"] = reading.kind
            numbers = partial(integers, read=read.steps, levels=read.levels, largest=self._largest)
            offsets = put_convolutions(self._writer, parts, bf16_numbers if self._in_bf16 else numbers)
            record["weights"], record["scale"], record["bias"] = offsets
            if next_ is None:
                record["next_scale"] = record["next_bias"] = record["per_step"] = record["scale"]  # of no levels
            elif reading.pooling is not None:
                self._pool(record, reading.pooling, next_)

    def _pool(self, record: np.void, block: PoolingBlock, next_: _Preactivation) -> None:
        record["pooled"] = padded(block.pooled.outputs)
        record["pooled_activation"] = KINDS.index(block.pooled_norm.activation)
        matrix = block.pooled_to_bias * self._factor(next_)
        record["pool_matrix"] = self._writer.put(pool_matrix(matrix, block.pooled.outputs, padded(block.first.outputs)))

    def _reader(self, reading: Reading) -> _Preactivation:
        norm, is_framed = reading.norm, reading.parts[0].weights.shape[2] == 3
        if self._in_bf16:
            levels = Levels(0 if norm.activation is Activation.RELU else -ENDLESS, ENDLESS)
            return _Preactivation(norm, levels, np.ones(norm.channels, np.float32), is_framed)
        levels = levels_of(norm.activation, self._largest if is_framed else PLAIN)
        return _Preactivation(norm, levels, steps(self._highest[reading.tap], norm.activation, levels), is_framed)

    def _add(self, side: int, outputs: int, stream: int, next_: _Preactivation | None) -> np.void:
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

    def _factor(self, reader: _Preactivation) -> FloatArray:
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
