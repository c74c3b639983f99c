"""Writes the trunk for processors in fp32: boards as rows [H*W, N, C], 3×3 convolutions by Winograd's method."""

from __future__ import annotations

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.conversion.winograd import KERNEL, Tiles
from nets.katago.model import (
    Block,
    BottleneckBlock,
    Convolution,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
    Trunk,
)


class RowsTrunk:
    """Writes the trunk of a convolutional network with tiles of m×m points."""

    def __init__(self, m: int) -> None:
        self._m = m

    def __call__(self, graph: Graph, board: Board, trunk: Trunk, spatial: str, features: str) -> str:
        self._graph, self._board = graph, board
        self._tiles = Tiles(graph, board.size, self._m)
        assert isinstance(trunk.tip, Normed)
        stem = self._to_rows(graph.convolve(spatial, trunk.stem, label="stem"), trunk.channels)
        x = self._blocks(graph.add("Add", stem, features, label="stem"), trunk.blocks, "block")
        return self._to_planes(self._normed(x, trunk.tip, "tip"), trunk.channels)

    def _blocks(self, x: str, blocks: tuple[Block, ...], prefix: str) -> str:
        for number, block in enumerate(blocks):
            x = self._graph.add("Add", self._block(x, block, f"{prefix}{number}"), x, label=f"{prefix}{number}")
        return x

    def _block(self, x: str, block: Block, label: str) -> str:
        """What the block adds to the stream."""
        graph = self._graph
        assert isinstance(block, (OrdinaryBlock, PoolingBlock, BottleneckBlock))
        hidden = self._normed(x, block.before, f"{label}_before")
        if isinstance(block, BottleneckBlock):
            hidden = self._convolve(hidden, block.narrow, f"{label}_narrow")
            hidden = self._blocks(hidden, block.blocks, f"{label}_")
            hidden = self._normed(hidden, block.after, f"{label}_after")
            return self._convolve(hidden, block.widen, f"{label}_widen")
        if isinstance(block, PoolingBlock):
            pooled = self._convolve(hidden, block.pooled, f"{label}_pooled")
            bias = self._pool(self._normed(pooled, block.pooled_norm, f"{label}_pooled"), label)
            bias = graph.dense(bias, block.pooled_to_bias, block.first.bias, label=f"{label}_bias")
            hidden = self._convolve(hidden, _without_bias(block.first), f"{label}_first")
            hidden = graph.add("Add", hidden, bias, label=f"{label}_add")
        else:
            hidden = self._convolve(hidden, block.first, f"{label}_first")
        return self._convolve(self._normed(hidden, block.between, label), block.second, f"{label}_second")

    def _convolve(self, x: str, convolution: Convolution, label: str) -> str:
        graph, weights = self._graph, convolution.weights
        if weights.shape[2:] == (1, 1):
            y = graph.add("MatMul", x, graph.weights(weights[:, :, 0, 0].T, f"{label}_weights"), label=label)
        elif weights.shape[2:] == (KERNEL, KERNEL) and convolution.dilation == (1, 1):
            y = self._tiles.convolve(x, weights, label)
        else:
            y = graph.convolve(self._to_planes(x, convolution.inputs), _without_bias(convolution), label=label)
            y = self._to_rows(y, convolution.outputs)
        if convolution.bias is None or not convolution.bias.any():
            return y
        return graph.add("Add", y, graph.weights(convolution.bias, f"{label}_bias"), label=label)

    def _normed(self, x: str, norm: Normed, label: str) -> str:
        graph = self._graph
        if not norm.is_identity:
            x = graph.add("Mul", x, graph.weights(norm.scale, f"{label}_scale"), label=label)
            x = graph.add("Add", x, graph.weights(norm.bias, f"{label}_shift"), label=label)
        return graph.activate(x, norm.activation, label)

    def _pool(self, x: str, label: str) -> str:
        """[H*W, N, C] to [N, 3C]: mean, mean times `linear`, maximum."""
        graph = self._graph
        mean = graph.add("ReduceMean", x, axes=[0], keepdims=0, label=label)
        maximum = graph.add("ReduceMax", x, axes=[0], keepdims=0, label=label)
        scaled = graph.add("Mul", mean, self._board.linear)
        return graph.add("Concat", mean, scaled, maximum, axis=1, label=f"{label}_pool")

    def _to_rows(self, x: str, channels: int) -> str:
        """[N, C, H, W] to [H*W, N, C]."""
        flat = self._graph.add("Reshape", x, self._graph.integers(0, channels, -1))
        return self._graph.add("Transpose", flat, perm=[2, 0, 1], label="rows")

    def _to_planes(self, x: str, channels: int) -> str:
        """[H*W, N, C] to [N, C, H, W]."""
        turned = self._graph.add("Transpose", x, perm=[1, 2, 0])
        shape = self._graph.add("Concat", self._graph.integers(0, channels), self._board.size, axis=0)
        return self._graph.add("Reshape", turned, shape, label="planes")


def _without_bias(convolution: Convolution) -> Convolution:
    return Convolution(convolution.weights, convolution.dilation)
