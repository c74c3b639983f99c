"""Packs transformer blocks, and matrices that read rows of activations."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray
from nets.native.order import BottleneckEnd, Step
from nets.native.packed import HEAD, LARGEST_WEIGHT, Writer, padded
from nets.native.simd.activations import KINDS
from nets.native.simd.products import OUTPUTS
from nets.native.transformers.blocks import ATTENTION, BLOCK, FEED_FORWARD, NARROW, WIDEN
from nets.native.transformers.products import ATTENDS_INT8
from nets.native.transformers.rows import BYTE_ZERO, MATRIX, SHORT_LEVELS


class Int8Matrix(NamedTuple):
    """A matrix with weights of 8 bits, for activations of 8 bits."""

    factors: FloatArray
    """[inputs]: the factors of activations before they are rounded."""
    weights: NDArray[np.int8]
    """[inputs, outputs]"""
    scale: FloatArray
    """[outputs]: what a weight of 1 is worth."""


class Int8Parts(NamedTuple):
    """What transformer blocks compute with 8 bits."""

    matrices: Mapping[str, Int8Matrix]
    """By the names of block and matrix."""
    scores: Collection[str]
    """The attention blocks whose queries and keys have 8 bits, see attention.py."""
    mixes: Collection[str]
    """The attention blocks whose shares and values have 8 bits."""


NO_INT8 = Int8Parts(MappingProxyType({}), (), ())


class Places(NamedTuple):
    """Says where a matrix's inputs or outputs lie in the kernels' rows."""

    at: NDArray[np.int64]
    """The place of each input or output."""
    total: int
    """The number of places, a multiple of 32."""


def placed(counts: list[int], lanes: int = HEAD) -> Places:
    """Place parts of `counts` numbers one after another, each at a multiple of `lanes`."""
    at, start = [], 0
    for count in counts:
        at.append(start + np.arange(count))
        start += -(-count // lanes) * lanes
    return Places(np.concatenate(at), padded(start))


def placed_hidden(block: AttentionBlock | FeedForwardBlock) -> Places:
    """Place what a block's second matrix reads."""
    if isinstance(block, AttentionBlock):
        return placed([block.value_dimension] * block.heads)
    return placed([len(block.second)])


def spread(values: FloatArray, places: Places) -> FloatArray:
    """Put values where `places` says, with zeros in between."""
    result = np.zeros(places.total, np.float32)
    result[places.at] = values
    return result


_Parts = dict[str, tuple[FloatArray, Places, Places]]
"""Matrices [inputs, outputs], by the names of their fields in BLOCK, and where their inputs and outputs lie."""


class BlocksWriter:
    """Writes the BLOCK records of runs of transformer blocks."""

    def __init__(self, writer: Writer, matrices: MatricesWriter, in_int8: Int8Parts) -> None:
        """Write parameters to `writer`."""
        self._writer, self._matrices, self._in_int8 = writer, matrices, in_int8
        self.records: list[NDArray[np.void]] = []

    def put(self, run: Sequence[Step]) -> None:
        """Append the records of a run."""
        for label, stream, part in run:
            self.records.append(np.zeros(1, BLOCK))
            record: np.void = self.records[-1][0]
            record["stream"] = stream
            if isinstance(part, BottleneckEnd):
                parts = _end(record, part, self._writer)
            elif isinstance(part, AttentionBlock):
                record["scores_int8"] = ATTENDS_INT8 and label in self._in_int8.scores
                record["mixes_int8"] = ATTENDS_INT8 and label in self._in_int8.mixes
                record["rotation"] = self._writer.put(_rotation(part))
                parts = _attention(record, part)
            else:
                assert isinstance(part, FeedForwardBlock)
                parts = _feed_forward(record, part)
            for name, (matrix, inputs, outputs) in parts.items():
                key = end_name(label, part) if isinstance(part, BottleneckEnd) else f"{label}_{name}"
                in_int8 = self._in_int8.matrices.get(key)
                record[name] = self._matrices.put(matrix, inputs, outputs, in_int8)


def end_name(label: str, end: BottleneckEnd) -> str:
    """Return the name of an end's matrix among those of 8 bits."""
    return f"{label}_narrow" if end.is_narrow else f"{label}_widen"


def _end(record: np.void, end: BottleneckEnd, writer: Writer) -> _Parts:
    record["kind"] = NARROW if end.is_narrow else WIDEN
    record["activation"] = KINDS.index(end.norm.activation)
    inputs, outputs = placed([end.convolution.inputs]), placed([end.convolution.outputs])
    record["gamma"], record["beta"] = (writer.put(spread(each, inputs)) for each in (end.norm.scale, end.norm.bias))
    return {"first": (end.convolution.weights[:, :, 0, 0].T, inputs, outputs)}


def _attention(record: np.void, block: AttentionBlock) -> _Parts:
    size, value_size = block.query_dimension, block.value_dimension
    record["kind"], record["heads"], record["kv_heads"] = ATTENTION, block.heads, block.kv_heads
    record["size"], record["value_size"] = (-(-each // HEAD) * HEAD for each in (size, value_size))
    record["octaves"] = math.log2(math.e) / math.sqrt(size)
    stream = _normed_stream(record, block)
    read = placed([size] * (block.heads + block.kv_heads) + [value_size] * block.kv_heads)
    matrix = block.norm[:, None] * np.concatenate([block.query, block.key, block.value], axis=1)
    return {"first": (matrix, stream, read), "second": (block.output, placed_hidden(block), stream)}


def _normed_stream(record: np.void, block: AttentionBlock | FeedForwardBlock) -> Places:
    record["share"], record["epsilon"] = 1 / len(block.norm), block.epsilon
    return placed([len(block.norm)])


def _rotation(block: AttentionBlock) -> FloatArray:
    """[kv heads, 2 (by x, by y), 2 (cosine, sine), MAX_SIZE, size], see rotate."""
    size = -(-block.query_dimension // HEAD) * HEAD
    frequencies = np.zeros((block.kv_heads, size // 2, 2))
    if block.rope is not None:
        frequencies[:, : block.query_dimension // 2] = block.rope
    angles = np.arange(MAX_SIZE)[:, None] * frequencies.transpose(0, 2, 1)[:, :, None]
    both = np.repeat(np.stack([np.cos(angles), np.sin(angles)], axis=2), 2, axis=-1)
    both[:, :, 1, :, ::2] *= -1
    return both.astype(np.float32)


def _feed_forward(record: np.void, block: FeedForwardBlock) -> _Parts:
    record["kind"], stream = FEED_FORWARD, _normed_stream(record, block)
    hidden = placed_hidden(block)
    read, matrix = hidden, block.first
    if block.gate is not None:
        record["gated"] = 1
        first = hidden.at // HEAD * OUTPUTS + hidden.at % HEAD
        read = Places(np.concatenate([first, first + HEAD]), 2 * hidden.total)
        matrix = np.concatenate([block.first, block.gate], axis=1)
    return {"first": (block.norm[:, None] * matrix, stream, read), "second": (block.second, hidden, stream)}


class MatricesWriter:
    """Writes matrices with their MATRIX records, and numbers them."""

    def __init__(self, writer: Writer) -> None:
        """Write parameters to `writer`."""
        self._writer = writer
        self.records: list[NDArray[np.void]] = []

    def put(self, matrix: FloatArray, inputs: Places, outputs: Places, in_int8: Int8Matrix | None = None) -> int:
        """Write a matrix [inputs, outputs], with 8-bit weights if `in_int8` is given, and return its number."""
        factors, integers, scale = in_int8 or (np.ones(len(matrix), np.float32), *_rounded(matrix))
        group = 2 if in_int8 is None else 4
        record = np.zeros(1, MATRIX)
        record["inputs"], record["outputs"], record["in_int8"] = inputs.total, outputs.total, in_int8 is not None
        weights = np.zeros((inputs.total, outputs.total), integers.dtype)
        weights[np.ix_(inputs.at, outputs.at)] = integers
        blocks = weights.reshape(inputs.total // group, group, -1, OUTPUTS).transpose(2, 0, 3, 1)
        record["weights"] = self._writer.put(blocks)
        record["factors"] = self._writer.put(spread(factors, inputs))
        scales = spread(scale, outputs)
        record["scale"] = self._writer.put(scales)
        shift = BYTE_ZERO * weights.sum(axis=0, dtype=np.int64) * scales if in_int8 is not None else 0 * scales
        record["shift"] = self._writer.put(shift.astype(np.float32))
        self.records.append(record)
        return len(self.records) - 1


def _rounded(matrix: FloatArray) -> tuple[NDArray[np.int16], FloatArray]:
    """Integers [inputs, outputs], as fine as sums in 32 bits allow, and what 1 is worth [outputs]."""
    # Rounding moves each product by up to half of the highest level; twice that is kept free.
    largest_sum = 2**31 - SHORT_LEVELS * len(matrix)
    most = SHORT_LEVELS * np.abs(matrix).sum(axis=0)
    scale = np.maximum(most / largest_sum, np.abs(matrix).max(axis=0) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30).astype(np.float32)
    return np.rint(matrix / scale).astype(np.int16), scale
