"""Packs a network for the kernels: all parameters in one array, and records that say where each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.evaluator import EvaluatorAttributes, as_floats
from nets.katago.model import (
    Activation,
    AttentionBlock,
    FeedForwardBlock,
    FloatArray,
    Model,
    RmsTip,
    Trunk,
    score_outputs,
)
from nets.native.convolutions.layers import MOST_BUFFERS
from nets.native.convolutions.packing import LayersWriter, is_curved, readings
from nets.native.convolutions.tiling import LARGEST, PLACES
from nets.native.network import CONVOLUTIONS, HEADS, NETWORK, ROWS, RUN
from nets.native.order import MOST_STREAMS, BottleneckEnd, Step, steps
from nets.native.outputs import LastLayers
from nets.native.packed import HEAD, Packed, Writer, pad, padded, pool_matrix
from nets.native.simd.activations import CURVES, KINDS
from nets.native.simd.processor import is_available
from nets.native.simd.products import OUTPUTS
from nets.native.transformers.packing import NO_INT8, BlocksWriter, Int8Parts, MatricesWriter, placed, spread


@np.errstate(over="ignore", invalid="ignore")  # absurd weights: outputs that are not finite are refused
def pack(
    model: Model,
    highest: Mapping[str, FloatArray],
    largest: int = LARGEST,
    in_int8: Int8Parts = NO_INT8,
    in_bf16: bool = False,
) -> Packed:
    """Write a prepared network for the kernels.

    `highest` has the tops of the ranges of activations that convolutions read, [channels] by the names of their taps;
    `largest` is the most points of a side of Winograd's tiles. `in_int8` says what has 8 bits,
    `in_bf16` whether convolutions are in bf16, which only tile registers multiply.
    """
    writer, trunk = Writer(), model.trunk
    order = list(steps(trunk.blocks))
    has_curves = is_curved([step for step in order if not step.in_rows])
    network, matrices = _stem(writer, trunk), MatricesWriter(writer)
    layers = LayersWriter(writer, highest, has_curves, largest, in_bf16)
    blocks = BlocksWriter(writer, matrices, in_int8)
    runs = []
    for in_rows, run in groupby(order, lambda step: step.in_rows):
        kind, to = (ROWS, blocks) if in_rows else (CONVOLUTIONS, layers)
        first = len(to.records)
        to.put(list(run))
        runs.append((kind, first, len(to.records)))
    heads = pack_heads(model, writer, matrices)
    network["points"] = largest + 2
    network["ones"] = writer.put(np.ones(OUTPUTS, np.float32))
    parameters = writer.content()
    network["parameters"] = parameters.ctypes.data
    return Packed(
        attributes=EvaluatorAttributes(
            model.name,
            "int16",
            "native",
            model.policy.channels > 1,
            None,
            model.pass_alive_under_suicide,
            model.only_safe_area,
        ),
        metadata=trunk.metadata,
        parameters=parameters,
        network=network,
        runs=np.array(runs, RUN),
        layers=np.concatenate(layers.records) if layers.records else None,
        blocks=np.concatenate(blocks.records) if blocks.records else None,
        matrices=np.concatenate(matrices.records),
        heads=heads,
        largest=largest,
        curves=CURVES if has_curves else None,
        channels=padded(trunk.channels),
        streams=_widths(trunk, order),
        buffers=tuple(layers.buffers),
        policies=min(2, model.policy.channels),
        planes=trunk.stem.inputs,
        global_features=len(trunk.stem_global),
        last_layers=last_layers(model),
        work=trunk.work,
    )


def _stem(writer: Writer, trunk: Trunk) -> NDArray[np.void]:
    """Make a NETWORK record with what write_stem reads."""
    channels = padded(trunk.channels)
    weights = np.zeros((trunk.stem.inputs, *trunk.stem.weights.shape[2:], channels), np.float32)
    weights[..., : trunk.channels] = trunk.stem.weights.transpose(1, 2, 3, 0)[:, :, ::-1]
    by_feature = np.zeros((len(trunk.stem_global), channels), np.float32)
    by_feature[:, : trunk.channels] = trunk.stem_global
    network = np.zeros(1, NETWORK)
    record = network[0]
    record["channels"], record["stem_reach"] = channels, trunk.stem.weights.shape[2] // 2
    record["stem"], record["stem_bias"] = writer.put(weights), writer.put(pad(trunk.stem.biases, channels))
    record["stem_global"] = writer.put(by_feature)
    return network


def _widths(trunk: Trunk, order: Sequence[Step]) -> tuple[int, ...]:
    widths = {0: padded(trunk.channels)}
    for _, stream, part in order:
        if isinstance(part, BottleneckEnd) and part.is_narrow:
            widths[stream + 1] = max(widths.get(stream + 1, 0), padded(part.convolution.outputs))
    return tuple(widths.values())


def pack_heads(model: Model, writer: Writer, matrices: MatricesWriter) -> NDArray[np.void]:
    """Make the HEADS record of a network, with what the kernel reads."""
    trunk, policy, value = model.trunk, model.policy, model.value
    tip, stream = trunk.tip, placed([trunk.channels])
    result = np.zeros(1, HEADS)
    heads = result[0]
    if isinstance(tip, RmsTip):
        heads["tip"], heads["epsilon"], gamma, beta = 2 if tip.spatial else 1, tip.epsilon, tip.gamma, tip.beta
    else:
        gamma, beta = tip.scale, tip.bias
    heads["share"] = 1 / trunk.channels
    heads["gamma"], heads["beta"] = (writer.put(spread(each, stream)) for each in (gamma, beta))
    heads["tip_activation"] = KINDS.index(tip.activation)
    norms = policy.pooled_norm, policy.first_norm, value.norm
    parts = [
        each.followed_by(norm) for each, norm in zip((policy.pooled, policy.first, value.first), norms, strict=True)
    ]
    widths = [padded(each.outputs) for each in parts]
    outputs = placed([each.outputs for each in parts], lanes=OUTPUTS)
    matrix = np.concatenate([each.weights[:, :, 0, 0].T for each in parts], axis=1)
    heads["matrix"] = matrices.put(matrix, stream, outputs)
    heads["bias"] = writer.put(spread(np.concatenate([each.biases for each in parts]), outputs))
    for name, width, norm in zip(("pooled", "policy", "value"), widths, norms, strict=True):
        heads[f"{name}_blocks"], heads[f"{name}_activation"] = width // OUTPUTS, KINDS.index(norm.activation)
    pools = pool_matrix(policy.pooled_to_bias * policy.first_norm.scale, policy.pooled.outputs, widths[1])
    heads["pool_matrix"] = writer.put(pools.reshape(3, -1, OUTPUTS, widths[1]).transpose(1, 0, 2, 3))
    # The two further channels of versions 16 and 17 predict values of moves, not moves.
    heads["policy"] = writer.put(np.stack([pad(row, widths[1]) for row in policy.second.weights[:2, :, 0, 0]]))
    heads["ownership"] = writer.put(pad(value.ownership.weights[0, :, 0, 0], widths[2]))
    return result


def last_layers(model: Model) -> LastLayers:
    """Return the layers of the heads that the big kernel does not compute, for boards of any size."""
    policy, value, score = model.policy, model.value, score_outputs(model)
    used, pooled = min(2, policy.channels), policy.pooled.outputs
    first = policy.pass_first[:, :used] if policy.pass_second is None else policy.pass_first
    second = first[:0] if policy.pass_second is None else policy.pass_second[:, :used]
    by_block = pool_matrix(first, pooled, first.shape[1]).reshape(3, -1, OUTPUTS, first.shape[1])
    outputs = np.concatenate([value.value, score.weights], axis=1)
    most = max(matrix.shape[1] for matrix in (first, value.hidden, outputs))
    return LastLayers(
        version=model.version,
        pass_first=as_floats(by_block.transpose(1, 0, 2, 3).reshape(3 * padded(pooled), -1)),
        pass_bias=np.zeros(0, np.float32) if policy.pass_bias is None else as_floats(policy.pass_bias),
        pass_activation=KINDS.index(policy.pass_activation or Activation.IDENTITY),
        pass_second=as_floats(second),
        hidden=pool_matrix(value.hidden, value.first.outputs, value.hidden.shape[1]),
        hidden_bias=as_floats(value.hidden_bias),
        hidden_activation=KINDS.index(value.hidden_activation),
        outputs=as_floats(outputs),
        outputs_bias=as_floats(np.concatenate([value.value_bias, score.bias])),
        factors=as_floats(score.factors),
        has_root=int(score.has_root),
        sums=np.zeros((2, most), np.float32),
    )


# --- What the kernels cannot run -------------------------------------------------------------------------------------

MOST_BYTES = 1 << 30
"""The most memory that a network's integer weights may take."""
DEEP = f"int16 is only for bottlenecks nested at most {MOST_STREAMS - 1} deep"


def unsupported_reason(model: Model) -> str:
    """Return the reason why this network cannot run in int16 on this processor; empty if it can."""
    return unknown_to_kernels(model) if is_available() else "int16 needs a processor with AVX2, or a 64-bit ARM one"


def unknown_to_kernels(model: Model) -> str:
    """Return which part of a prepared network the kernels cannot run, whatever the processor; empty if none."""
    order = list(steps(model.trunk.blocks))
    layers = list(readings([step for step in order if not step.in_rows]))
    if max((step.stream for step in order), default=0) >= MOST_STREAMS:
        return DEEP
    for layer in layers:
        sides = {each.weights.shape[2:] for each in layer.parts}
        if len(sides) > 1 or not sides <= {(3, 3), (1, 1)} or any(each.dilation != (1, 1) for each in layer.parts):
            return "int16 is only for convolutions of 3x3 or 1x1 points side by side"
    stem, policy, value = model.trunk.stem, model.policy, model.value
    heads = (policy.first, policy.pooled, policy.second, value.first, value.ownership)
    height, width = stem.weights.shape[2:]
    if height != width or stem.dilation != (1, 1) or any(each.weights.shape[2:] != (1, 1) for each in heads):
        return "int16 is only for square kernels, and 1x1 in the heads"
    if len({padded(each.outputs) for layer in layers for each in layer.parts}) * 3 > MOST_BUFFERS:
        return "int16 is only for networks with few different numbers of channels"
    size = weight_bytes(model)
    return f"int16 would take {size >> 20} MiB; {MOST_BYTES >> 20} are allowed" if size > MOST_BYTES else ""


def weight_bytes(model: Model) -> int:
    """Count the bytes of the integer weights in a trunk that can be packed, and of its rows on the largest board."""
    order = list(steps(model.trunk.blocks))
    size = sum(
        2 * padded(each.inputs) * padded(each.outputs) * (PLACES if each.weights.shape[2] == 3 else 1)
        for layer in readings([step for step in order if not step.in_rows])
        for each in layer.parts
    )
    widest = 0
    for part in (step.part for step in order if step.in_rows):
        if isinstance(part, AttentionBlock):
            query, value = (-(-each // HEAD) * HEAD for each in (part.query_dimension, part.value_dimension))
            outputs, mixed = (part.heads + part.kv_heads) * query + part.kv_heads * value, part.heads * value
            size += 2 * len(part.norm) * (outputs + mixed)
            widest = max(widest, outputs + mixed)
        elif isinstance(part, FeedForwardBlock):
            size += 6 * len(part.norm) * padded(len(part.second))
        elif isinstance(part, BottleneckEnd):
            size += 2 * padded(part.convolution.inputs) * padded(part.convolution.outputs)
    return size + 4 * MAX_SIZE**2 * widest
