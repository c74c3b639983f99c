"""Writes transformer blocks, on tokens [N, H*W, C]: a token is a point, row by row from the top left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.conversion.board import Board
from nets.conversion.graph import Graph
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray

NORMED, HIDDEN = "_normed", "_hidden"
"""End the names of the taps of a block's norm and of what its last matrix reads."""


def write_attention(graph: Graph, board: Board, block: AttentionBlock, x: str, label: str) -> str:
    """Write a block that reads the tokens `x`, and return the name of its result."""
    normed = graph.taps[f"{label}{NORMED}"] = _rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    query = block.query / np.float32(np.sqrt(block.query_dimension))  # the scale of the scores, taken here once
    queries, keys, values = (
        _product(graph, normed, matrix, f"{label}_{name}")
        for matrix, name in ((query, "queries"), (block.key, "keys"), (block.value, "values"))
    )
    groups = block.heads // block.kv_heads
    if block.rope is not None:
        frequencies = np.broadcast_to(block.rope.frequencies, (block.kv_heads, block.query_dimension // 2, 2))
        queries = _turned(graph, board, np.repeat(frequencies, groups, axis=0), queries, f"{label}_queries")
        keys = _turned(graph, board, frequencies, keys, f"{label}_keys")
    mixed = graph.add(
        "MultiHeadAttention",
        queries,
        _for_each_query(graph, keys, block, block.query_dimension),
        _for_each_query(graph, values, block, block.value_dimension),
        label=f"{label}_mix",
        domain="com.microsoft",
        num_heads=block.heads,
        scale=1.0,
    )
    graph.taps[f"{label}{HIDDEN}"] = mixed
    return graph.add("Add", _product(graph, mixed, block.output, f"{label}_output"), x, label=label)


def _for_each_query(graph: Graph, x: str, block: AttentionBlock, size: int) -> str:
    """[N, H*W, kv_heads * size] with each head repeated for all query heads that it serves."""
    groups = block.heads // block.kv_heads
    if groups == 1:
        return x
    split = graph.add("Reshape", x, graph.integers(0, -1, block.kv_heads, 1, size))
    repeated = graph.add("Concat", *[split] * groups, axis=3)
    return graph.add("Reshape", repeated, graph.integers(0, -1, block.heads * size))


def write_feed_forward(graph: Graph, block: FeedForwardBlock, x: str, label: str) -> str:
    """Write a block that reads the tokens `x`, and return the name of its result."""
    normed = graph.taps[f"{label}{NORMED}"] = _rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    matrices = [block.first] if block.gate is None else [block.first, block.gate]
    hidden, *gate = (_product(graph, normed, matrix, f"{label}_first") for matrix in matrices)
    hidden = graph.add("Mul", hidden, graph.add("Sigmoid", hidden))
    if gate:
        hidden = graph.add("Mul", hidden, gate[0], label=f"{label}_gate")
    graph.taps[f"{label}{HIDDEN}"] = hidden
    return graph.add("Add", _product(graph, hidden, block.second, f"{label}_second"), x, label=label)


def _product(graph: Graph, x: str, matrix: FloatArray, label: str) -> str:
    return graph.add("MatMul", x, graph.weights(matrix, f"{label}_weights"), label=label)


def _rms_norm(graph: Graph, x: str, weight: FloatArray, epsilon: float, label: str) -> str:
    """x / sqrt(mean of squares over the last axis + epsilon) * weight, as onnxruntime fuses it into one node."""
    square = graph.add("Pow", x, graph.scalar(2.0), label=label)
    mean = graph.add("ReduceMean", square, axes=[-1], keepdims=1, label=label)
    root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(epsilon)), label=label)
    return graph.add("Mul", graph.add("Div", x, root), graph.weights(weight, f"{label}_weight"), label=label)


def _turned(graph: Graph, board: Board, frequencies: FloatArray, x: str, label: str) -> str:
    """Tokens whose interleaved pairs of channels are turned by their point's angles; `frequencies` [heads, pairs, 2].

    onnxruntime's operator has one table of angles for all heads, so it is told that there is one head.
    """
    cosine, sine = _rotation(graph, board, frequencies.reshape(-1, 2).astype(np.float64), label)
    first = graph.integers(0)
    return graph.add("RotaryEmbedding", x, first, cosine, sine, label=label, domain="com.microsoft", interleaved=1)


def _rotation(graph: Graph, board: Board, pairs: NDArray[np.float64], label: str) -> tuple[str, str]:
    """Cosine and sine [H*W, pairs] of the angle by which each point turns each pair of channels; `pairs` [pairs, 2]
    are frequencies.

    The angle is a sum of one that depends on x and one that depends on y: theirs are tabulated, and combined by the
    addition theorems. Blocks with the same frequencies share the result.
    """
    key = pairs.tobytes()
    if key not in board.rotations:
        board.rotations[key] = _write_rotation(graph, board, pairs, label)
    return board.rotations[key]


def _write_rotation(graph: Graph, board: Board, pairs: NDArray[np.float64], label: str) -> tuple[str, str]:
    zero, height, width = graph.integers(0), *graph.add_many("Split", 2, board.size)
    steps = np.arange(MAX_SIZE)[:, None]

    def table(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], axis: int, side: str) -> str:
        values = function(steps * pairs[:, axis])
        values = values[None] if axis == 0 else values[:, None]
        whole = graph.weights(values, f"{label}_rotation")
        return graph.add("Slice", whole, zero, side, graph.integers(1 - axis))

    (cos_x, sin_x), (cos_y, sin_y) = (
        [table(function, axis, side) for function in (np.cos, np.sin)] for axis, side in ((0, width), (1, height))
    )
    cosine = graph.add("Sub", graph.add("Mul", cos_y, cos_x), graph.add("Mul", sin_y, sin_x))
    sine = graph.add("Add", graph.add("Mul", sin_y, cos_x), graph.add("Mul", cos_y, sin_x))
    shape = graph.integers(-1, len(pairs))
    return graph.add("Reshape", cosine, shape, label=label), graph.add("Reshape", sine, shape, label=label)
