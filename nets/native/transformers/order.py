"""A transformer's blocks in the order in which the kernels run them, bottlenecks with all that is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nets.katago.model import AttentionBlock, Block, BottleneckBlock, Convolution, FeedForwardBlock, Normed
from nets.native.transformers.blocks import NARROW, WIDEN


class End(NamedTuple):
    """One end of a bottleneck: a norm with its activation, and a 1x1 convolution that reads it."""

    kind: int
    """NARROW or WIDEN."""
    norm: Normed
    convolution: Convolution


class Step(NamedTuple):
    """One thing that the kernels run."""

    label: str
    """The name of the block in the graph's taps (nets/conversion/trunk.py); the ends of a bottleneck share its name."""
    stream: int
    """The number of the residual stream that it reads: 0 is the trunk's, 1 that of a bottleneck in it, and so on."""
    part: AttentionBlock | FeedForwardBlock | End


def steps(blocks: Sequence[Block], stream: int = 0, prefix: str = "block") -> Iterator[Step]:
    """Yield what the kernels run for these blocks, which the kernels must know (nets/native/unsupported.py)."""
    for number, block in enumerate(blocks):
        label = f"{prefix}{number}"
        if isinstance(block, BottleneckBlock):
            yield Step(label, stream, End(NARROW, block.before, block.narrow))
            yield from steps(block.blocks, stream + 1, f"{label}_")
            yield Step(label, stream + 1, End(WIDEN, block.after, block.widen))
        else:
            assert isinstance(block, (AttentionBlock, FeedForwardBlock))
            yield Step(label, stream, block)
