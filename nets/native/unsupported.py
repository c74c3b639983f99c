"""The reasons why our own kernels cannot run a network, in words for users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from go_rules.points import MAX_SIZE
from nets.katago.model import (
    Activation,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    Model,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
)
from nets.native.convolutions.parameters import HEAD, padded
from nets.native.convolutions.tiling import PLACES
from nets.native.convolutions.trunk import MOST_BUFFERS, MOST_STREAMS
from nets.native.simd.processor import is_available

MOST_BYTES = 1 << 30
"""The most memory that a network's integer weights may take."""
DEEP = f"int16 is only for blocks in at most {MOST_STREAMS - 1} others"


def unsupported_reason(model: Model) -> str:
    """Return the reason why this network cannot run in int16 on this processor; empty if it can."""
    return unknown_to_kernels(model) if is_available() else "int16 needs a processor with AVX2, or a 64-bit ARM one"


def unknown_to_kernels(model: Model) -> str:
    """Return which part of a prepared network the kernels cannot run, whatever the processor; empty if none."""
    trunk = model.trunk
    if is_transformer(model):
        if _depth(trunk.blocks) >= MOST_STREAMS:
            return DEEP
        return _reason_in_stem_and_heads(model) or _reason_in_size(_matrix_sizes(trunk.blocks))
    if not isinstance(trunk.tip, Normed) or not _are_convolutional(trunk.blocks):
        return "int16 is only for networks of convolution blocks, or of transformer blocks"
    if _depth(trunk.blocks) >= MOST_STREAMS:
        return DEEP
    layers = list(_layers(trunk.blocks))
    for parts in layers:
        sides = {each.weights.shape[2:] for each in parts}
        if len(sides) > 1 or not sides <= {(3, 3), (1, 1)} or any(each.dilation != (1, 1) for each in parts):
            return "int16 is only for convolutions of 3x3 or 1x1 points side by side"
    if reason := _reason_in_stem_and_heads(model):
        return reason
    if len({padded(each.outputs) for parts in layers for each in parts}) * 3 > MOST_BUFFERS:
        return "int16 is only for networks with few different numbers of channels"
    return _reason_in_size(weight_bytes(model))


def _reason_in_stem_and_heads(model: Model) -> str:
    """The reason in its stem or heads; empty if there is none."""
    trunk, policy, value = model.trunk, model.policy, model.value
    stem = trunk.stem.weights.shape[2:]
    heads = (policy.first, policy.pooled, policy.second, value.first, value.ownership)
    if stem[0] != stem[1] or trunk.stem.dilation != (1, 1) or any(each.weights.shape[2:] != (1, 1) for each in heads):
        return "int16 is only for square kernels, and 1x1 in the heads"
    return ""


def _reason_in_size(size: int) -> str:
    return f"int16 would take {size >> 20} MiB; {MOST_BYTES >> 20} are allowed" if size > MOST_BYTES else ""


def is_transformer(model: Model) -> bool:
    """Tell whether all residual blocks are attention and feed-forward blocks, or bottlenecks of such blocks."""
    return _are_of_rows(model.trunk.blocks)


def _are_of_rows(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and all(
        isinstance(block, (AttentionBlock, FeedForwardBlock))
        or (
            isinstance(block, BottleneckBlock)
            and block.narrow.weights.shape[2:] == block.widen.weights.shape[2:] == (1, 1)
            and _are_of_rows(block.blocks)
        )
        for block in blocks
    )


def weight_bytes(model: Model) -> int:
    """Count the bytes of the integer weights in the trunk of a network that can be packed."""
    return sum(
        padded(each.inputs) * padded(each.outputs) * 2 * (PLACES if each.weights.shape[2] == 3 else 1)
        for parts in _layers(model.trunk.blocks)
        for each in parts
    )


def is_curved(model: Model) -> bool:
    """Tell whether a kernel computes any activation other than ReLU."""
    trunk, policy, value = model.trunk, model.policy, model.value
    norms = [policy.pooled_norm, policy.first_norm, value.norm, *_norms(trunk.blocks)]
    norms += [trunk.tip] if isinstance(trunk.tip, Normed) else []
    return any(norm.activation is not Activation.RELU for norm in norms)


def _matrix_sizes(blocks: Sequence[Block]) -> int:
    """Bytes of the integer weights of transformer blocks, and of what their rows take on the largest board."""
    size = widest = 0
    for block in blocks:
        if isinstance(block, AttentionBlock):
            query, value = (-(-each // HEAD) * HEAD for each in (block.query_dimension, block.value_dimension))
            outputs, mixed = (block.heads + block.kv_heads) * query + block.kv_heads * value, block.heads * value
            size += 2 * len(block.norm) * (outputs + mixed)
            widest = max(widest, outputs + mixed)
        elif isinstance(block, FeedForwardBlock):
            size += 6 * len(block.norm) * padded(len(block.second))
        elif isinstance(block, BottleneckBlock):
            size += 4 * padded(block.narrow.inputs) * padded(block.narrow.outputs) + _matrix_sizes(block.blocks)
    return size + 4 * MAX_SIZE**2 * widest


def _are_convolutional(blocks: Sequence[Block]) -> bool:
    return bool(blocks) and all(
        isinstance(block, (OrdinaryBlock, PoolingBlock))
        or (isinstance(block, BottleneckBlock) and _are_convolutional(block.blocks))
        for block in blocks
    )


def _depth(blocks: Sequence[Block]) -> int:
    return max((1 + _depth(block.blocks) for block in blocks if isinstance(block, BottleneckBlock)), default=0)


def _layers(blocks: Sequence[Block]) -> Iterator[tuple[Convolution, ...]]:
    """Convolutions, together where they read the same."""
    for block in blocks:
        if isinstance(block, BottleneckBlock):
            yield (block.narrow,)
            yield from _layers(block.blocks)
            yield (block.widen,)
        elif isinstance(block, (OrdinaryBlock, PoolingBlock)):
            yield (block.first, block.pooled) if isinstance(block, PoolingBlock) else (block.first,)
            yield (block.second,)


def _norms(blocks: Sequence[Block]) -> Iterator[Normed]:
    for block in blocks:
        if isinstance(block, BottleneckBlock):
            yield block.before
            yield from _norms(block.blocks)
            yield block.after
        elif isinstance(block, (OrdinaryBlock, PoolingBlock)):
            yield block.before
            yield block.between
            if isinstance(block, PoolingBlock):
                yield block.pooled_norm
