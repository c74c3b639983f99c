"""The trunk's transformer blocks, on tokens [N, H*W, C]: a token is a point, row by row from the top left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_SIZE
from nets.katago.board import Board
from nets.katago.graph import Graph
from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray


def write_attention(graph: Graph, board: Board, block: AttentionBlock, x: str, label: str) -> str:
    heads, kv_heads, groups = block.heads, block.kv_heads, block.heads // block.kv_heads
    size, value_size = block.query_dimension, block.value_dimension
    normed = rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    query = block.query / np.sqrt(size)  # the scale of the scores, taken here once
    if block.rope is None:
        parts = [query, block.key, block.value]
    else:
        parts = [query, block.key, turned(query), turned(block.key), block.value]
    both = query.shape[1] + block.key.shape[1]
    widths = [both] * (1 if block.rope is None else 2) + [block.value.shape[1]]
    joined = graph.add("MatMul", normed, graph.weights(np.concatenate(parts, axis=1), f"{label}_qkv"), label=label)
    queries_keys, *rest, values = graph.add_many("Split", len(widths), joined, graph.integers(*widths), axis=2)
    if block.rope is not None:
        cosine, sine = _rotation(graph, board, block, label)
        queries_keys = graph.add(
            "Add", graph.add("Mul", queries_keys, cosine), graph.add("Mul", rest[0], sine), label=f"{label}_rope"
        )
    queries, keys = graph.add_many("Split", 2, queries_keys, graph.integers(query.shape[1], block.key.shape[1]), axis=2)
    keys = _for_each_query(graph, keys, kv_heads, groups, size)
    values = _for_each_query(graph, values, kv_heads, groups, value_size)
    mixed = graph.add(
        "MultiHeadAttention",
        queries,
        keys,
        values,
        label=f"{label}_mix",
        domain="com.microsoft",
        num_heads=heads,
        scale=1.0,
    )
    output = graph.add("MatMul", mixed, graph.weights(block.output, f"{label}_output"), label=f"{label}_output")
    return graph.add("Add", output, x, label=label)


def _for_each_query(graph: Graph, x: str, kv_heads: int, groups: int, size: int) -> str:
    """[N, H*W, kv_heads * size] with each head repeated `groups` times."""
    if groups == 1:
        return x
    split = graph.add("Reshape", x, graph.integers(0, -1, kv_heads, 1, size))
    repeated = graph.add("Concat", *[split] * groups, axis=3)
    return graph.add("Reshape", repeated, graph.integers(0, -1, kv_heads * groups * size))


def write_feed_forward(graph: Graph, block: FeedForwardBlock, x: str, label: str) -> str:
    normed = rms_norm(graph, x, block.norm, block.epsilon, f"{label}_norm")
    if block.gate is None:
        hidden = graph.add("MatMul", normed, graph.weights(block.first, f"{label}_first"), label=f"{label}_first")
        gate = None
    else:
        joined = graph.weights(np.concatenate([block.first, block.gate], axis=1), f"{label}_first")
        hidden, gate = graph.add_many("Split", 2, graph.add("MatMul", normed, joined, label=f"{label}_first"), axis=2)
    hidden = graph.add("Mul", hidden, graph.add("Sigmoid", hidden))
    if gate is not None:
        hidden = graph.add("Mul", hidden, gate)
    output = graph.add("MatMul", hidden, graph.weights(block.second, f"{label}_second"), label=f"{label}_second")
    return graph.add("Add", output, x, label=label)


def rms_norm(graph: Graph, x: str, weight: FloatArray, epsilon: float, label: str) -> str:
    """x / sqrt(mean of squares over the last axis + epsilon) * weight, in the form onnxruntime fuses into one node."""
    square = graph.add("Pow", x, graph.scalar(2.0), label=label)
    mean = graph.add("ReduceMean", square, axes=[-1], keepdims=1, label=label)
    root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(epsilon)), label=label)
    return graph.add("Mul", graph.add("Div", x, root), graph.weights(weight, f"{label}_weight"), label=label)


def turned(matrix: FloatArray) -> FloatArray:
    """The matrix whose outputs are those of `matrix`, each interleaved pair (a, b) turned by 90 degrees: (-b, a)."""
    result = np.empty_like(matrix)
    result[:, 0::2] = -matrix[:, 1::2]
    result[:, 1::2] = matrix[:, 0::2]
    return result


def _rotation(graph: Graph, board: Board, block: AttentionBlock, label: str) -> tuple[str, str]:
    """Cosine and sine [H*W, queries + keys] of the angle by which each point turns each channel.

    The angle is a sum of one that depends on x and one that depends on y: theirs are tabulated, and combined by the
    addition theorems. Blocks with the same frequencies share the result.
    """
    assert block.rope is not None
    frequencies = np.broadcast_to(block.rope.frequencies, (block.kv_heads, block.query_dimension // 2, 2))
    frequencies = np.repeat(frequencies, 2, axis=1)  # both channels of a pair turn together
    queries = np.repeat(frequencies, block.heads // block.kv_heads, axis=0)
    columns = np.concatenate([queries.reshape(-1, 2), frequencies.reshape(-1, 2)]).astype(np.float64)
    key = columns.tobytes()
    if key not in board.rotations:
        board.rotations[key] = _write_rotation(graph, board, columns, label)
    return board.rotations[key]


def _write_rotation(graph: Graph, board: Board, columns: NDArray[np.float64], label: str) -> tuple[str, str]:
    zero, height, width = graph.integers(0), *graph.add_many("Split", 2, board.size)
    steps = np.arange(MAX_SIZE)[:, None]

    def table(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], axis: int, side: str) -> str:
        values = function(steps * columns[:, axis])
        values = values[None] if axis == 0 else values[:, None]
        whole = graph.weights(values, f"{label}_rotation")
        return graph.add("Slice", whole, zero, side, graph.integers(1 - axis))

    (cos_x, sin_x), (cos_y, sin_y) = (
        [table(function, axis, side) for function in (np.cos, np.sin)] for axis, side in ((0, width), (1, height))
    )
    cosine = graph.add("Sub", graph.add("Mul", cos_y, cos_x), graph.add("Mul", sin_y, sin_x))
    sine = graph.add("Add", graph.add("Mul", sin_y, cos_x), graph.add("Mul", cos_y, sin_x))
    shape = graph.integers(-1, len(columns))
    return graph.add("Reshape", cosine, shape, label=label), graph.add("Reshape", sine, shape, label=label)
