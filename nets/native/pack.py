"""Packs a network for the kernels: all parameters in one array, and records that say where each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray, Model, Trunk
from nets.native.convolutions.packing import LayersWriter, is_curved
from nets.native.convolutions.tiling import LARGEST
from nets.native.network import CONVOLUTIONS, ROWS, RUN
from nets.native.order import End, Step, runs, steps
from nets.native.pack_heads import pack_heads, small_layers
from nets.native.packed import Packed
from nets.native.parameters import Writer, pad, padded
from nets.native.simd.activations import CURVES
from nets.native.simd.products import OUTPUTS
from nets.native.stem import NETWORK
from nets.native.transformers.packing import NO_INT8, BlocksWriter, Int8Parts, MatricesWriter


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
    parts = runs(order)
    records = np.zeros(len(parts), RUN)
    for record, run in zip(records, parts, strict=True):
        kind, to = (ROWS, blocks) if run[0].in_rows else (CONVOLUTIONS, layers)
        record["kind"], record["first"] = kind, len(to.records)
        to.put(run)
        record["end"] = len(to.records)
    heads = pack_heads(model, writer, matrices)
    network["points"] = largest + 2
    network["ones"] = writer.put(np.ones(OUTPUTS, np.float32))
    parameters = writer.content()
    network["parameters"] = parameters.ctypes.data
    return Packed(
        name=model.name,
        has_optimism=model.policy.channels > 1,
        pass_alive_under_suicide=model.pass_alive_under_suicide,
        only_safe_area=model.only_safe_area,
        metadata=trunk.metadata,
        parameters=parameters,
        network=network,
        runs=records,
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
        small=small_layers(model),
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
        if isinstance(part, End) and part.is_narrow:
            widths[stream + 1] = max(widths.get(stream + 1, 0), padded(part.convolution.outputs))
    return tuple(widths.values())
