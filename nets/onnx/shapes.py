"""The shapes of what an ONNX operator puts out, from the shapes of its inputs.

There are rules for the operators that our own writers use (nets/conversion and nets/precision), and for no other. Files
may be hostile: an input or attribute that breaks the operator's specification raises ShapeError, and so does a shape
that depends on more than shapes and small constants. (https://onnx.ai/onnx/operators, and for com.microsoft
onnxruntime's docs/ContribOperators.md.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets.onnx.layers import LAYERS
from nets.onnx.values import (
    BOOL,
    INT32,
    INT64,
    MAX_RANK,
    NUMBERS,
    REALS,
    Inputs,
    Node,
    Result,
    Rule,
    ShapeError,
    Value,
    axes_of,
    computed,
    expect,
    given,
    integers_of,
    one,
    optional,
)


def infer(node: Node, inputs: Inputs) -> Result:
    """Return the outputs of `node` for these inputs, where None is an input left out. Raises ShapeError."""
    try:
        with np.errstate(all="ignore"):
            result = RULES[node.op](node, inputs)
    except (IndexError, KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        # An input or attribute that is missing, or of the wrong kind; shapes that do not go together.
        raise ShapeError(str(error) if isinstance(error, ShapeError) else "its inputs do not fit it") from None
    for value in result.outputs:
        if len(value.shape) > MAX_RANK or any(size < 1 for size in value.shape):
            raise ShapeError(f"its output would have the shape {list(value.shape[:MAX_RANK])}")
    return result


# --- Number by number ------------------------------------------------------------------------------------------

_UNARY_KNOWN: dict[str, Callable[[NDArray[Any]], Any]] = {
    "Sqrt": np.sqrt,
    "Identity": np.asarray,
}


def _unary(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    return computed(x.shape, x.kind, _UNARY_KNOWN.get(node.op), x)


def _along_axis(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    node.axis(-1, len(x.shape))
    return one(x.shape, x.kind)


def _cast(node: Node, inputs: Inputs) -> Result:
    x, to = given(inputs, 0), node.integer("to", 0)
    expect(to in NUMBERS, "it casts to an unsupported type")
    return computed(x.shape, to, np.asarray, x)


def _divide(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """As ONNX divides integers: towards 0."""
    quotient = np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b) if a.dtype.kind in "iu" else a / b
    return np.asarray(quotient, a.dtype)


_BINARY_KNOWN: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _divide,
    "Less": np.less,
    "Where": np.where,
    "Min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
}


def _broadcast(node: Node, inputs: Inputs) -> Result:
    values = [given(inputs, index) for index in range(len(inputs))]
    expect(len(values) >= 1, "it has no input")
    kind = BOOL if node.op == "Less" else values[-1].kind
    if node.op == "Div" and kind not in REALS:
        # The processor itself stops a program that divides integers by 0.
        expect(min(integers_of(values[1])) > 0, "it divides by an integer below 1")
    shape = np.broadcast_shapes(*(value.shape for value in values))
    return computed(shape, kind, _BINARY_KNOWN.get(node.op), *values)


# --- Shapes ------------------------------------------------------------------------------------------------------


def _shape(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    end = node.attributes.get("end")
    sizes = np.array(x.shape[slice(node.integer("start", 0), end)], np.int64)
    return Result((Value(sizes.shape, INT64, sizes),))


def _concat(node: Node, inputs: Inputs) -> Result:
    values = [given(inputs, index) for index in range(len(inputs))]
    first = values[0]
    axis = node.axis(len(first.shape), len(first.shape))
    outside = {value.shape[:axis] + value.shape[axis + 1 :] for value in values}
    expect(len(outside) == 1 and all(len(v.shape) == len(first.shape) for v in values), "its inputs do not fit")
    total = sum(value.shape[axis] for value in values)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return computed(shape, first.kind, lambda *parts: np.concatenate(parts, axis=axis), *values)


def _split(node: Node, inputs: Inputs) -> Result:
    x, sizes_given = given(inputs, 0), optional(inputs, 1)
    axis, parts = node.axis(0, len(x.shape)), len(node.outputs)
    even = [x.shape[axis] // parts] * parts
    sizes = even if sizes_given is None else integers_of(sizes_given)
    expect(len(sizes) == parts and min(sizes) >= 1 and sum(sizes) == x.shape[axis], "its parts do not add up")
    ends = np.cumsum(sizes)
    known = [None] * parts if x.known is None else np.split(x.known, ends[:-1], axis=axis)
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
    return Result(tuple(Value(shape, x.kind, part) for shape, part in zip(shapes, known, strict=True)))


def _slice(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    starts, ends = integers_of(given(inputs, 1)), integers_of(given(inputs, 2))
    axes = axes_of(node, inputs, 3, len(x.shape)) or list(range(len(starts)))
    steps = [1] * len(starts) if optional(inputs, 4) is None else integers_of(given(inputs, 4))
    expect(len(starts) == len(ends) == len(axes) == len(steps) and 0 not in steps, "its parts do not fit")
    cuts = [slice(None)] * len(x.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cuts[axis] = slice(start, end, step)
    shape = [len(range(*cut.indices(size))) for cut, size in zip(cuts, x.shape, strict=True)]
    return computed(shape, x.kind, lambda numbers: numbers[tuple(cuts)], x)


def _gather(node: Node, inputs: Inputs) -> Result:
    x, places = given(inputs, 0), given(inputs, 1)
    axis = node.axis(0, len(x.shape))
    expect(places.kind in (INT32, INT64), "its places are no integers")
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    return computed(shape, x.kind, partial(np.take, axis=axis), x, places)


def _flatten(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    axis = node.integer("axis", 1)
    expect(-len(x.shape) <= axis <= len(x.shape), "its axis is out of range")
    axis = axis + len(x.shape) if axis < 0 else axis
    return one((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])), x.kind)


def _reshape(node: Node, inputs: Inputs) -> Result:
    x, wanted = given(inputs, 0), integers_of(given(inputs, 1))
    expect(len(wanted) <= MAX_RANK and min(wanted, default=1) >= -1, "it reshapes to an impossible shape")
    if not node.integer("allowzero", 0):
        wanted = [x.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    total = math.prod(x.shape)
    expect(wanted.count(-1) <= 1 and 0 not in wanted, "it reshapes to an impossible shape")
    if -1 in wanted:
        wanted[wanted.index(-1)] = total // -math.prod(wanted)
    expect(math.prod(wanted) == total, "it reshapes to another number of numbers")
    return computed(wanted, x.kind, np.asarray, x)


def _transpose(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    order = node.integers("perm") or list(range(len(x.shape)))[::-1]
    expect(sorted(order) == list(range(len(x.shape))), "its order is none")
    return computed([x.shape[axis] for axis in order], x.kind, partial(np.transpose, axes=order), x)


def _unsqueeze(node: Node, inputs: Inputs) -> Result:
    x = given(inputs, 0)
    rank = len(x.shape) + len(integers_of(given(inputs, 1)))
    axes = axes_of(node, inputs, 1, rank) or []
    sizes = iter(x.shape)
    shape = [1 if axis in axes else next(sizes) for axis in range(rank)]
    return computed(shape, x.kind, np.asarray, x)


_FUNCTIONS: dict[Rule, str] = {
    _unary: "Sqrt Tanh Sigmoid Softplus Relu Identity",
    _along_axis: "Softmax",
    _cast: "Cast",
    _broadcast: "Add Sub Mul Div Pow Min Where Less",
    _shape: "Shape",
    _concat: "Concat",
    _split: "Split",
    _slice: "Slice",
    _gather: "Gather",
    _flatten: "Flatten",
    _reshape: "Reshape",
    _transpose: "Transpose",
    _unsqueeze: "Unsqueeze",
}
RULES: dict[str, Rule] = {
    name: rule for rule, names in (*_FUNCTIONS.items(), *LAYERS.items()) for name in names.split()
}
"""The rule for each operator. `Constant` needs none."""
