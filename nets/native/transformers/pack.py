"""Packs a transformer for the kernels: all parameters in one array, and records that say where each is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray, Model, RmsTip
from nets.native.convolutions.pack import pack_stem, small_layers
from nets.native.convolutions.parameters import HEAD, LARGEST_WEIGHT, Writer, bias_of, pad, padded, pool_matrix
from nets.native.outputs import SmallLayers
from nets.native.simd.activations import KINDS
from nets.native.simd.products import OUTPUTS
from nets.native.transformers.blocks import ATTENTION, BLOCK, FEED_FORWARD
from nets.native.transformers.heads import HEADS
from nets.native.transformers.order import End, steps
from nets.native.transformers.rows import BYTE_ZERO, MATRIX, SHORT_LEVELS


class Bytes(NamedTuple):
    """A matrix with weights of 8 bits, for activations of 8 bits."""

    factors: FloatArray
    """[inputs]: the factors of activations before they are rounded."""
    weights: NDArray[np.int8]
    """[inputs, outputs]"""
    scale: FloatArray
    """[outputs]: what a weight of 1 is worth."""


@dataclass(frozen=True)
class PackedTokens:
    """A transformer as the kernels read it."""

    parameters: NDArray[np.uint8]
    """All parameters; the array begins at a multiple of 64 bytes."""
    network: NDArray[np.void]
    """One NETWORK record, of which the stem's part is used."""
    blocks: NDArray[np.void]
    """BLOCK records of the trunk, in order."""
    matrices: NDArray[np.void]
    """MATRIX records of all blocks."""
    heads: NDArray[np.void]
    """One HEADS record."""
    channels: int
    """Channels of the trunk's stream, a multiple of 32."""
    streams: list[int]
    """Channels of the widest stream of each number, see BLOCK."""
    policies: int
    planes: int
    global_features: int
    small: SmallLayers


@np.errstate(over="ignore", invalid="ignore")  # absurd weights: outputs that are not finite are refused
def pack_tokens(model: Model, in_bytes: Mapping[str, Bytes]) -> PackedTokens:
    """Write a transformer for the kernels. `in_bytes` has the matrices of 8 bits, by the names of block and matrix."""
    writer, trunk, matrices = Writer(), model.trunk, _Matrices()
    order = list(steps(trunk.blocks))
    blocks = np.zeros(len(order), BLOCK)
    for record, (label, number, part) in zip(blocks, order, strict=True):
        record["stream"] = number
        if isinstance(part, End):
            parts = _end(record, part, writer)
        elif isinstance(part, AttentionBlock):
            record["rotation"] = writer.put(_rotation(part))
            parts = _attention(record, part)
        else:
            parts = _feed_forward(record, part)
        for name, (matrix, inputs, outputs) in parts.items():
            record[name] = matrices.put(writer, matrix, inputs, outputs, in_bytes.get(f"{label}_{name}"))
    heads = _heads(model, writer, matrices)
    network, records = pack_stem(writer, trunk), matrices.records()
    parameters = writer.content()
    network["parameters"] = parameters.ctypes.data
    return PackedTokens(
        parameters=parameters,
        network=network,
        blocks=blocks,
        matrices=records,
        heads=heads,
        channels=padded(trunk.channels),
        streams=_widths(blocks, records),
        policies=min(2, model.policy.channels),
        planes=trunk.stem.inputs,
        global_features=len(trunk.stem_global),
        small=small_layers(model),
    )


class _Places(NamedTuple):
    """The places of a matrix's inputs or outputs in the kernels' rows."""

    at: NDArray[np.int64]
    """The place of each input or output."""
    total: int
    """The number of places, a multiple of 32."""


def placed(counts: list[int], lanes: int = HEAD) -> _Places:
    """Place parts of `counts` numbers one after another, each at a multiple of `lanes`."""
    at, start = [], 0
    for count in counts:
        at.append(start + np.arange(count))
        start += -(-count // lanes) * lanes
    return _Places(np.concatenate(at), padded(start))


def placed_hidden(block: AttentionBlock | FeedForwardBlock) -> _Places:
    """Place what a block's second matrix reads."""
    if isinstance(block, AttentionBlock):
        return placed([block.value_dimension] * block.heads)
    return placed([len(block.second)])


_Parts = dict[str, tuple[FloatArray, _Places, _Places]]
"""Matrices [inputs, outputs], by the names of their fields in BLOCK, and where their inputs and outputs lie."""


def _widths(blocks: NDArray[np.void], matrices: NDArray[np.void]) -> list[int]:
    widths = matrices["inputs"][blocks["first"]]
    return [int(widths[blocks["stream"] == number].max()) for number in range(int(blocks["stream"].max()) + 1)]


def _end(record: np.void, end: End, writer: Writer) -> _Parts:
    record["kind"], record["activation"] = end.kind, KINDS.index(end.norm.activation)
    inputs, outputs = placed([end.convolution.inputs]), placed([end.convolution.outputs])
    record["gamma"], record["beta"] = (writer.put(_spread(each, inputs)) for each in (end.norm.scale, end.norm.bias))
    return {"first": (end.convolution.weights[:, :, 0, 0].T, inputs, outputs)}


def _attention(record: np.void, block: AttentionBlock) -> _Parts:
    size, value_size = block.query_dimension, block.value_dimension
    record["kind"], record["heads"], record["kv_heads"] = ATTENTION, block.heads, block.kv_heads
    record["size"], record["value_size"] = (-(-each // HEAD) * HEAD for each in (size, value_size))
    record["octaves"] = math.log2(math.e) / math.sqrt(size)
    stream = _normed_stream(record, block)
    norm, pairs = block.norm[:, None], np.concatenate([block.query, block.key], axis=1)
    return {
        "first": (norm * pairs, stream, placed([size] * (block.heads + block.kv_heads))),
        "values": (norm * block.value, stream, placed([value_size] * block.kv_heads)),
        "second": (block.output, placed_hidden(block), stream),
    }


def _normed_stream(record: np.void, block: AttentionBlock | FeedForwardBlock) -> _Places:
    record["share"], record["epsilon"] = 1 / len(block.norm), block.epsilon
    return placed([len(block.norm)])


def _rotation(block: AttentionBlock) -> FloatArray:
    """[kv heads, 2 (by x, by y), 2 (cosine, sine), MAX_SIZE, size], see write_rotated."""
    size = -(-block.query_dimension // HEAD) * HEAD
    frequencies = np.zeros((block.kv_heads, size // 2, 2))
    if block.rope is not None:
        frequencies[:, : block.query_dimension // 2] = block.rope.frequencies
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
        read = _Places(np.concatenate([first, first + HEAD]), 2 * hidden.total)
        matrix = np.concatenate([block.first, block.gate], axis=1)
    return {"first": (block.norm[:, None] * matrix, stream, read), "second": (block.second, hidden, stream)}


class _Matrices:
    """Collects MATRIX records."""

    def __init__(self) -> None:
        self._records: list[NDArray[np.void]] = []

    def records(self) -> NDArray[np.void]:
        return np.concatenate(self._records)

    def put(
        self, writer: Writer, matrix: FloatArray, inputs: _Places, outputs: _Places, in_bytes: Bytes | None = None
    ) -> int:
        """Write a matrix [inputs, outputs], with 8-bit weights if `in_bytes` is given, and return its number."""
        factors, integers, scale = in_bytes or (np.ones(len(matrix), np.float32), *_rounded(matrix))
        group = 2 if in_bytes is None else 4
        record = np.zeros(1, MATRIX)
        record["inputs"], record["outputs"], record["in_bytes"] = inputs.total, outputs.total, in_bytes is not None
        weights = np.zeros((inputs.total, outputs.total), integers.dtype)
        weights[np.ix_(inputs.at, outputs.at)] = integers
        blocks = weights.reshape(inputs.total // group, group, -1, OUTPUTS).transpose(2, 0, 3, 1)
        record["weights"] = writer.put(blocks)
        record["factors"] = writer.put(_spread(factors, inputs))
        scales = _spread(scale, outputs)
        record["scale"] = writer.put(scales)
        shift = BYTE_ZERO * weights.sum(axis=0, dtype=np.int64) * scales if in_bytes is not None else 0 * scales
        record["shift"] = writer.put(shift.astype(np.float32))
        self._records.append(record)
        return len(self._records) - 1


def _spread(values: FloatArray, places: _Places) -> FloatArray:
    result = np.zeros(places.total, np.float32)
    result[places.at] = values
    return result


def _rounded(matrix: FloatArray) -> tuple[NDArray[np.int16], FloatArray]:
    """Integers [inputs, outputs], as fine as sums in 32 bits allow, and what 1 is worth [outputs]."""
    # Rounding moves each product by up to half of the highest level.
    largest_sum = 2**31 - SHORT_LEVELS * len(matrix)
    most = SHORT_LEVELS * np.abs(matrix).sum(axis=0)
    scale = np.maximum(most / largest_sum, np.abs(matrix).max(axis=0) / LARGEST_WEIGHT)
    scale = np.maximum(scale, 1e-30).astype(np.float32)
    return np.rint(matrix / scale).astype(np.int16), scale


def _heads(model: Model, writer: Writer, matrices: _Matrices) -> NDArray[np.void]:
    trunk, policy, value = model.trunk, model.policy, model.value
    tip, stream = trunk.tip, placed([trunk.channels])
    result = np.zeros(1, HEADS)
    heads = result[0]
    if isinstance(tip, RmsTip):
        heads["tip"], heads["epsilon"], gamma, beta = 2 if tip.spatial else 1, tip.epsilon, tip.gamma, tip.beta
    else:
        gamma, beta = tip.scale, tip.bias
    heads["share"] = 1 / trunk.channels
    heads["gamma"], heads["beta"] = (writer.put(_spread(each, stream)) for each in (gamma, beta))
    heads["tip_activation"] = KINDS.index(tip.activation)
    norms = policy.pooled_norm, policy.first_norm, value.norm
    parts = [
        each.followed_by(norm) for each, norm in zip((policy.pooled, policy.first, value.first), norms, strict=True)
    ]
    widths = [padded(each.outputs) for each in parts]
    outputs = placed([each.outputs for each in parts], lanes=OUTPUTS)
    matrix = np.concatenate([each.weights[:, :, 0, 0].T for each in parts], axis=1)
    heads["matrix"] = matrices.put(writer, matrix, stream, outputs)
    heads["bias"] = writer.put(_spread(np.concatenate([bias_of(each) for each in parts]), outputs))
    for name, width, norm in zip(("pooled", "policy", "value"), widths, norms, strict=True):
        heads[f"{name}_blocks"], heads[f"{name}_activation"] = width // OUTPUTS, KINDS.index(norm.activation)
    pools = pool_matrix(policy.pooled_to_bias * policy.first_norm.scale, policy.pooled.outputs, widths[1])
    heads["pool_matrix"] = writer.put(pools.reshape(3, -1, OUTPUTS, widths[1]).transpose(1, 0, 2, 3))
    heads["policy"] = writer.put(np.stack([pad(row, widths[1]) for row in policy.second.weights[:2, :, 0, 0]]))
    heads["ownership"] = writer.put(pad(value.ownership.weights[0, :, 0, 0], widths[2]))
    return result
