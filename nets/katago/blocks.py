"""The trunk's residual blocks of convolutions, on boards [N, C, H, W]."""

from __future__ import annotations

from nets.katago.board import Board
from nets.katago.graph import Graph
from nets.katago.model import OrdinaryBlock, PoolingBlock


def write_ordinary(graph: Graph, block: OrdinaryBlock, x: str, label: str) -> str:
    hidden = graph.normed(x, block.before, f"{label}_before")
    hidden = graph.convolve(hidden, block.first, block.between, f"{label}_first")
    hidden = graph.activate(hidden, block.between.activation)
    return graph.add("Add", graph.convolve(hidden, block.second, label=f"{label}_second"), x, label=label)


def write_pooling(graph: Graph, board: Board, block: PoolingBlock, x: str, label: str) -> str:
    hidden = graph.normed(x, block.before, f"{label}_before")
    pooled = graph.convolve(hidden, block.pooled, block.pooled_norm, f"{label}_pooled")
    pooled = board.pool(graph.activate(pooled, block.pooled_norm.activation), label)
    bias = graph.dense(pooled, block.pooled_to_bias * block.between.scale, label=f"{label}_bias")
    hidden = graph.convolve(hidden, block.first, block.between, f"{label}_first")
    hidden = graph.add("Add", hidden, graph.per_channel(bias), label=f"{label}_add")
    hidden = graph.activate(hidden, block.between.activation)
    return graph.add("Add", graph.convolve(hidden, block.second, label=f"{label}_second"), x, label=label)
