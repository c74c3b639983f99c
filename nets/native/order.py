"""The blocks of a trunk in the order in which the kernels run them, bottlenecks with all that is in them.

Two kinds of kernels share the residual streams. Convolutions read levels that the layer before them wrote, attention
and feed-forward read the stream row by row. The ends of a bottleneck are computed as the block beside them inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nets.katago.model import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
)

MOST_STREAMS = 4
"""The most residual streams: the trunk's, that of bottlenecks in it, and so on."""

OF_ROWS = AttentionBlock, FeedForwardBlock
"""The blocks that are computed row by row."""


class BottleneckEnd(NamedTuple):
    """One end of a bottleneck: a norm with its activation, and a convolution that reads it."""

    is_narrow: bool
    """Whether it begins the bottleneck; the other end widens its result and adds it to the stream around it."""
    norm: Normed
    convolution: Convolution
    in_rows: bool
    """Whether it is computed row by row."""


class Step(NamedTuple):
    """One thing that the kernels run."""

    label: str
    """The name of the block in the graph's taps (nets/graph/layers.py); the ends of a bottleneck share its name."""
    stream: int
    """The number of the residual stream that it reads: 0 is the trunk's, 1 that of a bottleneck in it, and so on."""
    part: OrdinaryBlock | PoolingBlock | AttentionBlock | FeedForwardBlock | BottleneckEnd

    @property
    def in_rows(self) -> bool:
        """Whether it is computed row by row, and not as convolutions of boards."""
        return self.part.in_rows if isinstance(self.part, BottleneckEnd) else isinstance(self.part, OF_ROWS)


def steps(blocks: Sequence[Block], stream: int = 0, prefix: str = "block") -> Iterator[Step]:
    """Yield what the kernels run for these blocks."""
    for number, block in enumerate(blocks):
        label = f"{prefix}{number}"
        if isinstance(block, BottleneckBlock):
            yield Step(label, stream, _end(block, is_narrow=True))
            yield from steps(block.blocks, stream + 1, f"{label}_")
            yield Step(label, stream + 1, _end(block, is_narrow=False))
        else:
            yield Step(label, stream, block)


def _end(block: BottleneckBlock, is_narrow: bool) -> BottleneckEnd:
    if is_narrow:
        norm, convolution, beside = block.before, block.narrow, block.blocks[0]
    else:
        norm, convolution, beside = block.after, block.widen, block.blocks[-1]
    in_rows = _end(beside, is_narrow).in_rows if isinstance(beside, BottleneckBlock) else isinstance(beside, OF_ROWS)
    return BottleneckEnd(is_narrow, norm, convolution, in_rows and convolution.weights.shape[2:] == (1, 1))
