"""The reasons why our own kernels cannot run a network, in words for users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from go_rules.points import MAX_SIZE
from nets.katago.model import AttentionBlock, FeedForwardBlock, Model
from nets.native.convolutions.layers import MOST_BUFFERS
from nets.native.convolutions.packing import Reading, readings
from nets.native.convolutions.tiling import PLACES
from nets.native.order import MOST_STREAMS, End, Step, steps
from nets.native.parameters import HEAD, padded
from nets.native.simd.processor import is_available

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
    if reason := _reason_in_stem_and_heads(model):
        return reason
    if len({padded(each.outputs) for layer in layers for each in layer.parts}) * 3 > MOST_BUFFERS:
        return "int16 is only for networks with few different numbers of channels"
    size = weight_bytes(model)
    return f"int16 would take {size >> 20} MiB; {MOST_BYTES >> 20} are allowed" if size > MOST_BYTES else ""


def _reason_in_stem_and_heads(model: Model) -> str:
    """The reason in its stem or heads; empty if there is none."""
    trunk, policy, value = model.trunk, model.policy, model.value
    stem = trunk.stem.weights.shape[2:]
    heads = (policy.first, policy.pooled, policy.second, value.first, value.ownership)
    if stem[0] != stem[1] or trunk.stem.dilation != (1, 1) or any(each.weights.shape[2:] != (1, 1) for each in heads):
        return "int16 is only for square kernels, and 1x1 in the heads"
    return ""


def weight_bytes(model: Model) -> int:
    """Count the bytes of the integer weights in a trunk that can be packed, and of its rows on the largest board."""
    order = list(steps(model.trunk.blocks))
    in_layers, in_rows = ([step for step in order if step.in_rows is each] for each in (False, True))
    return _layers_size(readings(in_layers)) + _rows_size(in_rows)


def _layers_size(layers: Iterable[Reading]) -> int:
    return sum(
        padded(each.inputs) * padded(each.outputs) * 2 * (PLACES if each.weights.shape[2] == 3 else 1)
        for layer in layers
        for each in layer.parts
    )


def _rows_size(order: Sequence[Step]) -> int:
    """Bytes of the integer weights of transformer blocks, and of what their rows take on the largest board."""
    size = widest = 0
    for _, _, part in order:
        if isinstance(part, AttentionBlock):
            query, value = (-(-each // HEAD) * HEAD for each in (part.query_dimension, part.value_dimension))
            outputs, mixed = (part.heads + part.kv_heads) * query + part.kv_heads * value, part.heads * value
            size += 2 * len(part.norm) * (outputs + mixed)
            widest = max(widest, outputs + mixed)
        elif isinstance(part, FeedForwardBlock):
            size += 6 * len(part.norm) * padded(len(part.second))
        elif isinstance(part, End):
            size += 2 * padded(part.convolution.inputs) * padded(part.convolution.outputs)
    return size + 4 * MAX_SIZE**2 * widest
