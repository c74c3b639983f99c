"""Writes the trunk as plain layers, on boards [N, C, H, W] and, for transformer blocks, on tokens [N, H*W, C]."""

from __future__ import annotations

from nets.conversion.blocks import write_ordinary, write_pooling
from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.conversion.transformer import write_attention, write_feed_forward
from nets.katago.model import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
    RmsTip,
    Trunk,
)


class TrunkWriter:
    """Writes blocks one after another.

    The layout changes between boards and tokens only where convolutions and transformer blocks follow each other.
    """

    def __init__(self, graph: Graph, board: Board, channels: int) -> None:
        self._graph, self._board, self._channels = graph, board, channels
        self._planes: str | None = None
        self._tokens: str | None = None
        self._count = 0

    def write(self, trunk: Trunk, spatial: str, features: str) -> str:
        """Write a whole trunk; return the name of what the heads read, [N, C, H, W].

        `spatial` is [N, 22, H, W], and `features` [N, C] are added at every point."""
        graph = self._graph
        stem = graph.convolve(spatial, trunk.stem, label="stem")
        self.start(graph.add("Add", stem, graph.per_channel(features), label="stem"))
        self.blocks(trunk.blocks, "block")
        return self._tip(trunk.tip)

    def start(self, planes: str) -> None:
        """Let what is written next read the board `planes` [N, C, H, W]."""
        self._planes, self._tokens = planes, None

    def blocks(self, blocks: tuple[Block, ...], prefix: str) -> None:
        """Write some blocks, which are labelled `prefix` and a number from 0 on."""
        for number, block in enumerate(blocks):
            self._block(block, f"{prefix}{number}")

    def planes(self) -> str:
        """Return the name of what was written last, as a board [N, C, H, W]."""
        if self._planes is None:
            assert self._tokens is not None
            self._planes = self._board.to_planes(self._tokens, self._channels)
        return self._planes

    def tokens(self) -> str:
        """Return the name of what was written last, as tokens [N, H*W, C]."""
        if self._tokens is None:
            assert self._planes is not None
            self._tokens = self._board.to_tokens(self._planes, self._channels)
        return self._tokens

    def _block(self, block: Block, label: str) -> None:
        graph = self._graph
        if isinstance(block, AttentionBlock):
            self._tokens, self._planes = write_attention(graph, self._board, block, self.tokens(), label), None
        elif isinstance(block, FeedForwardBlock):
            self._tokens, self._planes = write_feed_forward(graph, block, self.tokens(), label), None
        elif isinstance(block, OrdinaryBlock):
            self.start(write_ordinary(graph, block, self.planes(), label))
        elif isinstance(block, PoolingBlock):
            self.start(write_pooling(graph, self._board, block, self.planes(), label))
        else:
            self.start(self._bottleneck(block, self.planes(), label))

    def _bottleneck(self, block: BottleneckBlock, x: str, label: str) -> str:
        graph = self._graph
        inner = TrunkWriter(graph, self._board, block.narrow.outputs)
        hidden = graph.taps[f"{label}_before"] = graph.normed(x, block.before, f"{label}_before")
        inner.start(graph.convolve(hidden, block.narrow, label=f"{label}_narrow"))
        inner.blocks(block.blocks, f"{label}_")
        hidden = graph.taps[f"{label}_after"] = graph.normed(inner.planes(), block.after, f"{label}_after")
        return graph.add("Add", graph.convolve(hidden, block.widen, label=f"{label}_widen"), x, label=label)

    def _tip(self, tip: Normed | RmsTip) -> str:
        graph = self._graph
        if isinstance(tip, Normed):
            return graph.normed(self.planes(), tip, "tip")
        x = self.tokens()
        square = graph.add("Mul", x, x)
        axes = [1, 2] if tip.spatial else [2]
        mean = graph.add("ReduceMean", square, axes=axes, keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(tip.epsilon)))
        normed = graph.add("Mul", graph.add("Div", x, root), graph.weights(tip.gamma, "tip_gamma"))
        normed = graph.add("Add", normed, graph.weights(tip.beta, "tip_beta"))
        return self._board.to_planes(graph.activate(normed, tip.activation, "tip"), self._channels)
