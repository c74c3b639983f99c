"""Rewrites a network into an equal one that is simpler to compute: with V7 inputs, few norms, and no idle units."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.katago.model import (
    Activation,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
)

# Absurd weights may become infinite in what follows: without a word here, for the model is refused when it is opened.
quietly = np.errstate(over="ignore", invalid="ignore")


@quietly
def prepared(model: Model) -> Model:
    """Return an equal network that reads V7 features and has as few norms, and hidden units, as possible."""
    return fold_norms(without_idle_units(with_v7_inputs(model)))


# --- Norms -----------------------------------------------------------------------------------------------------------
# A norm behind a convolution merges into it. A residual block's first norm has no convolution before it, only the
# residual stream; but with s > 0
#
#     relu(s * x + b) = s * relu(x + b / s),
#
# so the stream can carry the shift b / s of its next reader, added by the convolution that wrote last to it, and the
# reader's convolutions take the factor s into their weights. Only the activation is left. Zero padding stays right, for
# what is padded is the activation's output.

SMALLEST_SCALE = 0.01
LARGEST_SHIFT = 100.0
"""Norms beyond these limits stay: a shift much larger than the values it shifts would cost digits."""

ConvolutionBlock = OrdinaryBlock | PoolingBlock | BottleneckBlock


def fold_norms(model: Model) -> Model:
    """Return an equal network with as few norms as possible.

    Transformer blocks read the stream as it is, so nothing is shifted in a stream that has any. Where a network is not
    all of convolutions, only norms inside its blocks of convolutions are folded.
    """
    trunk = model.trunk
    if not is_convolutional(model):
        blocks = tuple(_folded_inside(block) for block in trunk.blocks)
        return dataclasses.replace(model, trunk=dataclasses.replace(trunk, blocks=blocks))
    assert isinstance(trunk.tip, Normed)
    stem, blocks, tip, factor = _fold_stream(trunk.stem, trunk.blocks, trunk.tip)
    policy, value = model.policy, model.value
    return dataclasses.replace(
        model,
        trunk=dataclasses.replace(trunk, stem=stem, blocks=blocks, tip=tip),
        policy=dataclasses.replace(
            policy, first=_reading(policy.first, factor), pooled=_reading(policy.pooled, factor)
        ),
        value=dataclasses.replace(value, first=_reading(value.first, factor)),
    )


def is_convolutional(model: Model) -> bool:
    """Return whether a network is all of convolutions and batch norms.

    That means its residual blocks, those inside bottlenecks too, and the norm at the trunk's end.
    """
    return isinstance(model.trunk.tip, Normed) and _are_convolutional(model.trunk.blocks)


def _are_convolutional(blocks: Sequence[Block]) -> bool:
    return all(
        isinstance(block, (OrdinaryBlock, PoolingBlock))
        or (isinstance(block, BottleneckBlock) and _are_convolutional(block.blocks))
        for block in blocks
    )


def _folded_inside(block: Block) -> Block:
    """The block with the norms folded that nothing outside it reads, and with its first norm as it is."""
    if _are_convolutional([block]):
        assert isinstance(block, (OrdinaryBlock, PoolingBlock, BottleneckBlock))
        return _fold_block(block, np.ones_like(block.before.scale))
    if isinstance(block, BottleneckBlock):
        return dataclasses.replace(block, blocks=tuple(_folded_inside(each) for each in block.blocks))
    return block


def _fold_stream(
    source: Convolution, blocks: Sequence[Block], tip: Normed
) -> tuple[Convolution, tuple[Block, ...], Normed, FloatArray]:
    """Fold what reads and writes one residual stream: written first by `source`, read last by `tip`. The last result
    is the factor that whoever reads the tip has to apply."""
    carried = np.zeros(source.outputs, np.float32)
    writers: list[Convolution] = []
    folded: list[Block] = []
    writer = source
    for block in blocks:
        assert isinstance(block, (OrdinaryBlock, PoolingBlock, BottleneckBlock))
        before, factor, shift = _fold_reader(block.before, carried)
        writers.append(_writing(writer, shift - carried))
        carried = shift
        writer = block.widen if isinstance(block, BottleneckBlock) else block.second
        folded.append(_fold_block(dataclasses.replace(block, before=before), factor))
    tip, factor, shift = _fold_reader(tip, carried)
    writers.append(_writing(writer, shift - carried))
    source, *lasts = writers
    return source, tuple(_with_last(block, last) for block, last in zip(folded, lasts, strict=True)), tip, factor


def _fold_reader(norm: Normed, carried: FloatArray) -> tuple[Normed, FloatArray, FloatArray]:
    """What is left of a norm that reads the stream, the factor that goes into the weights behind it, and the shift
    that the stream has to carry for it."""
    ones = np.ones_like(norm.scale)
    is_foldable = norm.scale >= SMALLEST_SCALE if norm.activation is Activation.RELU else norm.scale == 1
    if bool(is_foldable.all()) and bool((np.abs(norm.bias) <= LARGEST_SHIFT * norm.scale).all()):
        return Normed(ones, np.zeros_like(ones), norm.activation), norm.scale, norm.bias / norm.scale
    return dataclasses.replace(norm, bias=norm.bias - norm.scale * carried), ones, carried


def _fold_block(block: ConvolutionBlock, factor: FloatArray) -> Block:
    """Merge a block's inner norms into its convolutions, the first of which takes `factor` on its inputs."""
    if isinstance(block, BottleneckBlock):
        narrow, inner, after, widening = _fold_stream(_reading(block.narrow, factor), block.blocks, block.after)
        return dataclasses.replace(
            block, narrow=narrow, blocks=inner, after=after, widen=_reading(block.widen, widening)
        )
    between = block.between
    first = _reading(block.first, factor).followed_by(between)
    if isinstance(block, OrdinaryBlock):
        return dataclasses.replace(block, first=first, between=between.without_norm())
    return dataclasses.replace(
        block,
        first=first,
        pooled=_reading(block.pooled, factor).followed_by(block.pooled_norm),
        pooled_norm=block.pooled_norm.without_norm(),
        pooled_to_bias=block.pooled_to_bias * between.scale,
        between=between.without_norm(),
    )


def _with_last(block: Block, last: Convolution) -> Block:
    """The block with the bias of the convolution that writes to the stream."""
    if isinstance(block, BottleneckBlock):
        return dataclasses.replace(block, widen=dataclasses.replace(block.widen, bias=last.bias))
    assert isinstance(block, (OrdinaryBlock, PoolingBlock))
    return dataclasses.replace(block, second=last)


def _reading(convolution: Convolution, factor: FloatArray) -> Convolution:
    """The convolution for inputs that lack `factor`."""
    return dataclasses.replace(convolution, weights=convolution.weights * factor[:, None, None])


def _writing(convolution: Convolution, shift: FloatArray) -> Convolution:
    """The convolution with `shift` added to its output."""
    bias = shift if convolution.bias is None else convolution.bias + shift
    return dataclasses.replace(convolution, bias=bias)


# --- Hidden units ----------------------------------------------------------------------------------------------------
# Some of feed-forward blocks add nothing: training has worn their weights down to zero.


def without_idle_units(model: Model) -> Model:
    """Return an equal network without the hidden units that add 0 whatever they read.

    In b10c384h6nbttflrs 8 % are so, in one block more than a third."""
    blocks = tuple(_thinned(block) for block in model.trunk.blocks)
    return dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, blocks=blocks))


def _thinned(block: Block) -> Block:
    if isinstance(block, BottleneckBlock):
        return dataclasses.replace(block, blocks=tuple(_thinned(each) for each in block.blocks))
    if not isinstance(block, FeedForwardBlock):
        return block
    # Each of these factors of a unit's output may be 0; silu(0) is.
    factors = [block.first.any(axis=0), block.second.any(axis=1)]
    if block.gate is not None:
        factors.append(block.gate.any(axis=0))
    kept = np.logical_and.reduce(factors)
    if not kept.any():
        kept[0] = True  # a block has one unit at least
    gate = None if block.gate is None else block.gate[:, kept]
    return dataclasses.replace(block, first=block.first[:, kept], gate=gate, second=block.second[kept])


# --- Input features --------------------------------------------------------------------------------------------------
# Each older version's inputs are, where they carry information at all, inputs of V7 too, in another place or unit. So
# the first layer's weights move to where V7 has their feature, and the network runs on V7 as it is.

KOMI, KOMI_UNIT = 5, 15.0 / 20.0
"""V7 gives komi in units of 20 points, V3 to V5 in units of 15."""

_SAME_PLANES = tuple(range(SPATIAL_PLANES))
_WITHOUT_LIBERTIES = (0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 20, 21)
_BEFORE_TAX = (*range(10), 12, 13, 14, 18)
PLACES: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    3: (_SAME_PLANES, _BEFORE_TAX),
    4: (_SAME_PLANES, _BEFORE_TAX),
    5: (_SAME_PLANES, _BEFORE_TAX),
    6: (_WITHOUT_LIBERTIES, (*range(10), 12, 13)),
    7: (_SAME_PLANES, (*range(15), 18)),
}
"""By model version: the V7 plane, and the V7 global feature, that each of its inputs is. Versions 3 to 6 were trained
under area scoring without tax, where the area planes of 3 and 4 are V7's; those of 5 are features.py's `only_safe`."""


def with_v7_inputs(model: Model) -> Model:
    """Return an equal network that reads V7 features."""
    if model.version >= 8:
        return model
    weights, matrix = model.trunk.stem.weights, model.trunk.stem_global
    planes, features = PLACES[model.version]
    wide = np.zeros((weights.shape[0], SPATIAL_PLANES, *weights.shape[2:]), np.float32)
    wide[:, planes] = weights
    tall = np.zeros((GLOBAL_FEATURES, matrix.shape[1]), np.float32)
    tall[features, :] = matrix
    if model.version <= 6:
        tall[KOMI] /= KOMI_UNIT
    stem = dataclasses.replace(model.trunk.stem, weights=wide)
    return dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, stem=stem, stem_global=tall))
