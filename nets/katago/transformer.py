"""The trunk's transformer blocks, on tokens [N, H*W, C]: a token is a point, row by row from the top left."""

from __future__ import annotations

import numpy as np

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
    # [N, kv heads, groups, points, size] against [N, kv heads, 1, size, points]
    queries = graph.add("Reshape", queries, graph.integers(0, -1, kv_heads, groups, size))
    queries = graph.add("Transpose", queries, perm=[0, 2, 3, 1, 4])
    keys = graph.add("Reshape", keys, graph.integers(0, -1, kv_heads, 1, size))
    keys = graph.add("Transpose", keys, perm=[0, 2, 3, 4, 1])
    values = graph.add("Reshape", values, graph.integers(0, -1, kv_heads, 1, value_size))
    values = graph.add("Transpose", values, perm=[0, 2, 3, 1, 4])
    shares = graph.add("Softmax", graph.add("MatMul", queries, keys, label=f"{label}_scores"), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", shares, values, label=f"{label}_mix"), perm=[0, 3, 1, 2, 4])
    mixed = graph.add("Reshape", mixed, graph.integers(0, -1, heads * value_size))
    output = graph.add("MatMul", mixed, graph.weights(block.output, f"{label}_output"), label=f"{label}_output")
    return graph.add("Add", output, x, label=label)


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
    """Cosine and sine [H*W, queries + keys] of the angle by which each point turns each channel."""
    assert block.rope is not None
    frequencies = np.broadcast_to(block.rope.frequencies, (block.kv_heads, block.query_dimension // 2, 2))
    frequencies = np.repeat(frequencies, 2, axis=1)  # both channels of a pair turn together
    queries = np.repeat(frequencies, block.heads // block.kv_heads, axis=0)
    columns = np.concatenate([queries.reshape(-1, 2), frequencies.reshape(-1, 2)])
    steps = np.arange(MAX_SIZE, dtype=np.float32)
    zero, height, width = graph.integers(0), *graph.add_many("Split", 2, board.size)
    by_x = graph.weights(steps[:, None] * columns[:, 0], f"{label}_angle_x")
    by_y = graph.weights((steps[:, None] * columns[:, 1])[:, None], f"{label}_angle_y")
    by_x = graph.add("Slice", by_x, zero, width, zero)
    by_y = graph.add("Slice", by_y, zero, height, zero)
    angle = graph.add("Reshape", graph.add("Add", by_y, by_x), graph.integers(-1, len(columns)), label=f"{label}_angle")
    return graph.add("Cos", angle), graph.add("Sin", angle)
