"""The shapes that the layers of an ONNX graph put out: products, convolutions, attention, norms and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from nets.onnx.values import (
    Inputs,
    Node,
    Result,
    Rule,
    axes_of,
    computed,
    expect,
    given,
    integers_of,
    one,
    optional,
)

# --- Products ----------------------------------------------------------------------------------------------------


def _product(a: Sequence[int], b: Sequence[int], kind: int) -> Result:
    expect(len(a) >= 1 and len(b) >= 1, "it multiplies single numbers")
    rows, columns = (1, *a) if len(a) == 1 else tuple(a), (*b, 1) if len(b) == 1 else tuple(b)
    expect(rows[-1] == columns[-2], f"it multiplies {rows[-1]} columns by {columns[-2]} rows")
    both = (*np.broadcast_shapes(rows[:-2], columns[:-2]), rows[-2], columns[-1])
    work = math.prod(both) * rows[-1]
    shape = both[:-2] + (() if len(a) == 1 else both[-2:-1]) + (() if len(b) == 1 else both[-1:])
    return one(shape, kind, work=work, buffer=math.prod(both))


def _matmul(node: Node, inputs: Inputs) -> Result:
    a, b = given(inputs, 0), given(inputs, 1)
    return _product(a.shape, b.shape, a.kind)


def _gemm(node: Node, inputs: Inputs) -> Result:
    a, b, added = given(inputs, 0), given(inputs, 1), optional(inputs, 2)
    expect(len(a.shape) == len(b.shape) == 2, "it multiplies no matrices")
    expect(node.integer("transA", 0) == node.integer("transB", 0) == 0, "it turns its matrices")
    result = _product(a.shape, b.shape, a.kind)
    shape = result.outputs[0].shape
    expect(added is None or np.broadcast_shapes(added.shape, shape) == shape, "what it adds does not fit")
    return result


def _window(node: Node, sides: Sequence[int], kernel: Sequence[int]) -> list[int]:
    """The height and width of the board that a kernel makes of one of `sides`."""
    expect(node.attributes.get("auto_pad", b"NOTSET") == b"NOTSET", "automatic padding is not supported")
    expect(node.integers("strides") in (None, [1, 1]), "strides are not supported")
    dilations = node.integers("dilations") or [1, 1]
    pads = node.integers("pads") or [0, 0, 0, 0]
    expect(len(kernel) == len(sides) == len(dilations) == 2 and len(pads) == 4, "it is not 2D")
    expect(min(*dilations, *kernel) >= 1 and min(pads) >= 0, "a size in it is too small")
    reach = [dilations[i] * (kernel[i] - 1) + 1 for i in range(2)]
    expect(all(pads[i] < reach[i] and pads[i + 2] < reach[i] for i in range(2)), "it pads more than its kernel")
    return [sides[i] + pads[i] + pads[i + 2] - reach[i] + 1 for i in range(2)]


def _convolve(node: Node, inputs: Inputs) -> Result:
    x, weights, added = given(inputs, 0), given(inputs, 1), optional(inputs, 2)
    expect(len(x.shape) == len(weights.shape) == 4, "it is not 2D")
    count, channels, *sides = x.shape
    outputs, inner, *kernel = weights.shape
    expect(node.integer("group", 1) == 1 and inner == channels, "its weights do not fit its input")
    expect(node.integers("kernel_shape") in (None, kernel), "its kernel is not that of its weights")
    expect(added is None or added.shape == (outputs,), "what it adds does not fit")
    height, width = _window(node, sides, kernel)
    buffer = count * height * width * inner * math.prod(kernel)
    return one((count, outputs, height, width), x.kind, work=buffer * outputs, buffer=buffer)


def _attend(node: Node, inputs: Inputs) -> Result:
    expect(len(inputs) >= 3 and not any(inputs[3:]), "it has more than queries, keys and values")
    query, key, value = (given(inputs, index) for index in range(3))
    heads = node.integer("num_heads", 0)
    expect(len(query.shape) == len(key.shape) == len(value.shape) == 3, "it is not of tokens")
    (count, tokens, size), (_, others, value_size) = query.shape, value.shape
    expect(heads >= 1 and size % heads == 0 and value_size % heads == 0, "its heads do not fit")
    expect(key.shape == (count, others, size) and value.shape[0] == count, "its keys do not fit its queries")
    pairs = count * tokens * others
    return one((count, tokens, value_size), query.kind, work=pairs * (size + value_size), buffer=2 * pairs * heads)


def _rotate(node: Node, inputs: Inputs) -> Result:
    """All channels as one head, and tokens in the order of the tables' rows: the forms whose reads are in bounds."""
    x, first, *tables = (given(inputs, index) for index in range(4))
    expect(set(node.attributes) <= {"interleaved"}, "it has attributes that are not supported")
    expect(first.shape == (1,) and integers_of(first) == [0], "its tokens do not begin at the tables' beginning")
    expect(len(x.shape) == 3 and x.shape[2] % 2 == 0, "it is not of tokens with pairs of channels")
    for table in tables:
        fits = len(table.shape) == 2 and table.shape[0] >= x.shape[1] and table.shape[1] == x.shape[2] // 2
        expect(fits, "its tables do not fit its tokens")
    return one(x.shape, x.kind)


# --- Over the board or an axis -----------------------------------------------------------------------------------


def _pool(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    expect(len(x.shape) == 4, "it is not of boards")
    return one((*x.shape[:2], 1, 1), x.kind)


def _reduce(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    rank = len(x.shape)
    axes = axes_of(node, inputs, 1, rank)
    if not axes:
        axes = [] if node.integer("noop_with_empty_axes", 0) else list(range(rank))
    keeps = node.integer("keepdims", 1) != 0
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if keeps or axis not in axes]
    return computed(shape, x.kind, partial(np.prod, axis=tuple(axes)) if node.op == "ReduceProd" else None, x)


def _batch_norm(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    expect(node.integer("training_mode", 0) == 0, "it trains")
    expect(all(given(inputs, i).shape == (x.shape[1],) for i in range(1, 5)), "its parameters do not fit")
    return one(x.shape, x.kind)


LAYERS: dict[Rule, str] = {
    _batch_norm: "BatchNormalization",
    _matmul: "MatMul",
    _gemm: "Gemm",
    _convolve: "Conv",
    _attend: "MultiHeadAttention",
    _rotate: "RotaryEmbedding",
    _pool: "GlobalAveragePool GlobalMaxPool",
    _reduce: "ReduceMean ReduceMax ReduceProd",
}
"""The operators of each rule."""
