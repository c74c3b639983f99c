"""Writes residual blocks of convolutions, on boards [N, C, H, W]."""

from __future__ import annotations

from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.katago.model import OrdinaryBlock, PoolingBlock


def write_ordinary(graph: Graph, block: OrdinaryBlock, x: str, label: str) -> str:
    """Write a block that reads the board `x`, and return the name of its result."""
    hidden = graph.taps[f"{label}_before"] = graph.normed(x, block.before, f"{label}_before")
    hidden = graph.convolve(hidden, block.first, block.between, f"{label}_first")
    hidden = graph.taps[f"{label}_between"] = graph.activate(hidden, block.between.activation)
    added = graph.convolve(hidden, block.second, label=f"{label}_second")
    return graph.add("Add", added, x, label=label)


def write_pooling(graph: Graph, board: Board, block: PoolingBlock, x: str, label: str) -> str:
    """Write a block that reads the board `x` and pools it, and return the name of its result."""
    hidden = graph.taps[f"{label}_before"] = graph.normed(x, block.before, f"{label}_before")
    pooled = graph.convolve(hidden, block.pooled, block.pooled_norm, f"{label}_pooled")
    pooled = graph.activate(pooled, block.pooled_norm.activation)
    pooled = board.pool(pooled, label)
    bias = graph.dense(pooled, block.pooled_to_bias * block.between.scale, label=f"{label}_bias")
    hidden = graph.convolve(hidden, block.first, block.between, f"{label}_first")
    hidden = graph.add("Add", hidden, graph.per_channel(bias), label=f"{label}_add")
    hidden = graph.taps[f"{label}_between"] = graph.activate(hidden, block.between.activation)
    added = graph.convolve(hidden, block.second, label=f"{label}_second")
    return graph.add("Add", added, x, label=label)
