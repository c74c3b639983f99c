"""How large a network's graph gets, found out before onnxruntime computes anything.

A file of a few kilobytes can multiply its input until no memory is left. So the shapes of all values are worked out for
one position and for as many as an engine ever asks for at once: what is small enough for both is small enough in
between, since no operator's output grows faster than the square of the number of positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, numpy_helper

from nets.evaluator import SCORE_COLUMNS
from nobi_machine.text import shown

MOST_POSITIONS = 1024
LARGEST = 1 << 25
"""Numbers that one value may have, for each position. (KataGo's largest networks: about 6 million.)"""
MOST_ALIVE = 1 << 28
"""Numbers that are needed at the same time, for each position."""
MOST_MADE = 1 << 32
"""Numbers of all values together, for each position: what is alive at a time depends on onnxruntime's order, too."""
MOST_WORK = 1 << 40
"""Multiplications for each position."""


class GraphSizes:
    """The graph of a model whose operators and tensors were checked, without its weights."""

    def __init__(self, model: ModelProto) -> None:
        """Raises ShapeError."""
        self._constants = {tensor.name: _constant(tensor) for tensor in model.graph.initializer}
        self._inputs = [
            (value.name, [each.dim_value for each in value.type.tensor_type.shape.dim]) for value in model.graph.input
        ]
        """Names and sizes, 0 for those that vary."""
        self._outputs = [output.name for output in model.graph.output]
        self._nodes: list[Operator] = []
        for node in model.graph.node:
            if node.op_type == "Constant":
                self._constants[node.output[0]] = _constant_of(node)
            else:
                self._nodes.append(_node(node))
        last = {name: number for number, node in enumerate(self._nodes) for name in (*node.outputs, *node.inputs)}
        made = {name for node in self._nodes for name in node.outputs}
        self._released: list[list[str]] = [[] for _ in self._nodes]
        """By node: what is not needed after it."""
        for name in made:
            self._released[last[name]].append(name)
        self._checked: set[tuple[int, int]] = set()

    def check(self, height: int, width: int) -> None:
        """Refuse a graph that doesn't fit together or grows too large on such a board. Raises ShapeError, one line."""
        if (height, width) not in self._checked:
            for count in (1, MOST_POSITIONS):
                self._check(count, height, width)
            self._checked.add((height, width))

    def _check(self, count: int, height: int, width: int) -> None:
        values = dict(self._constants)
        for name, sizes in self._inputs:
            if name not in values:
                board = {0: count, 2: height, 3: width}
                values[name] = Value(tuple(size or board[axis] for axis, size in enumerate(sizes)), FLOAT)
        alive = made = work = 0
        for number, node in enumerate(self._nodes):
            try:
                result = infer(node, [values[name] if name else None for name in node.inputs])
            except KeyError as missing:
                raise ShapeError(f"nothing makes the input {shown(missing.args[0])} of {node.label}") from None
            except ShapeError as error:
                raise ShapeError(f"{node.label}: {error}") from None
            if len(node.outputs) > len(result.outputs) or any(name in values for name in node.outputs):
                raise ShapeError(f"{node.label} has an output too many")
            values.update(zip(node.outputs, result.outputs, strict=False))
            sizes = [math.prod(value.shape) for value in result.outputs]
            alive += sum(sizes)
            made += sum(sizes)
            work += result.work
            too_large = max(*sizes, result.buffer) > count * LARGEST
            if too_large or alive + result.buffer > count * MOST_ALIVE or made > count * MOST_MADE:
                raise ShapeError(f"{node.label} needs too much memory on a board of {width}x{height}")
            if work > count * MOST_WORK:
                raise ShapeError(f"it needs too many multiplications on a board of {width}x{height}")
            alive -= sum(math.prod(values[name].shape) for name in self._released[number])
        self._check_outputs(values, count, height * width)

    def _check_outputs(self, values: dict[str, Value], count: int, area: int) -> None:
        wanted = {"policy": area + 1, "value": 3, "score": SCORE_COLUMNS, "ownership": area}
        for name in self._outputs:
            if name not in values:
                raise ShapeError(f"nothing makes the output {shown(name)}")
            shape = values[name].shape
            if name in wanted and shape != (count, wanted[name]):
                raise ShapeError(f"{name} has the shape {list(shape)} where {[count, wanted[name]]} is needed")


def _constant(tensor: TensorProto) -> Value:
    shape = tuple(tensor.dims)
    if tensor.data_type not in INTEGERS or math.prod(shape) > MOST_KNOWN:
        return Value(shape, tensor.data_type)
    return Value(shape, tensor.data_type, numpy_helper.to_array(tensor))


def _constant_of(node: NodeProto) -> Value:
    if len(node.output) != 1 or len(node.attribute) != 1 or node.attribute[0].name != "value":
        raise ShapeError(f"the constant {shown(node.name)} is no tensor")
    return _constant(node.attribute[0].t)


def _node(node: NodeProto) -> Operator:
    label = f"{shown(node.op_type)} {shown(node.name)}".strip()
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in attributes or attribute.type not in _ATTRIBUTES:
            raise ShapeError(f"{label} has an attribute that is not supported")
        attributes[attribute.name] = _ATTRIBUTES[attribute.type](attribute)
    return Operator(node.op_type, label, tuple(node.input), tuple(node.output), attributes)


_ATTRIBUTES = {
    AttributeProto.INT: lambda attribute: attribute.i,
    AttributeProto.FLOAT: lambda attribute: attribute.f,
    AttributeProto.STRING: lambda attribute: attribute.s,
    AttributeProto.INTS: lambda attribute: list(attribute.ints),
    AttributeProto.FLOATS: lambda attribute: list(attribute.floats),
}


# --- The shapes that operators make ----------------------------------------------------------------------------------
# There are rules for the operators that our own writers use (layers.py, convert.py), and for no other.
# Files may be hostile: an input or attribute that breaks the operator's specification raises ShapeError, and so does a
# shape that depends on more than shapes and small constants. onnx's own inference does not do for that: a shape that
# is joined to itself 20 times costs it 20 seconds and a gigabyte, and a Split into fewer parts than it has outputs ends
# the process. (https://onnx.ai/onnx/operators, and for com.microsoft onnxruntime's docs/ContribOperators.md.)

MAX_RANK = 8
MOST_KNOWN = 1 << 14
"""A tensor's numbers are looked at if there are no more than this."""
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
REALS = {FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
INTEGERS = {INT32, INT64}
NUMBERS = REALS | INTEGERS | {TensorProto.BOOL}
"""The types of tensors that networks may have."""


class ShapeError(ValueError):
    """A node breaks its operator's rules; the text says how, without the node's name."""


class Value(NamedTuple):
    """What is known of a tensor before anything is computed."""

    shape: tuple[int, ...]
    kind: int
    """The type of its numbers, one of NUMBERS."""
    known: NDArray[Any] | None = None
    """The numbers themselves, where they are few integers that follow from constants and shapes."""


@dataclass(frozen=True)
class Operator:
    """A node's operator and attributes, without tensors."""

    op: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    """Of the types that ONNX's schema names, except those of com.microsoft."""


class Result(NamedTuple):
    """The outputs of a node, and the work and memory to compute them."""

    outputs: tuple[Value, ...]
    work: int = 0
    """Multiplications, counted for operators with more than one per number."""
    buffer: int = 0
    """Numbers held in memory besides inputs and outputs."""


Rule = Callable[..., Result]
"""Called with a node and its inputs, where None is one left out."""


def infer(node: Operator, inputs: Sequence[Value | None]) -> Result:
    """Return the outputs of `node` for these inputs, where None is an input left out. Raises ShapeError."""
    try:
        result = RULES[node.op](node, *inputs)
    except (IndexError, KeyError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        # An input or attribute that is missing, or of the wrong kind; shapes that do not go together.
        raise ShapeError(str(error) if isinstance(error, ShapeError) else "its inputs do not fit it") from None
    for value in result.outputs:
        if len(value.shape) > MAX_RANK or any(size < 1 for size in value.shape):
            raise ShapeError(f"its output would have the shape {list(value.shape[:MAX_RANK])}")
    return result


def _expect(condition: bool, complaint: str) -> None:
    if not condition:
        raise ShapeError(complaint)


def _one(shape: Sequence[int], kind: int, work: int = 0, buffer: int = 0) -> Result:
    """One output, whose numbers are not known."""
    return Result((Value(tuple(shape), kind),), work, buffer)


def _moved(shape: Sequence[int], function: Callable[..., Any], *inputs: Value) -> Result:
    """One output of the first input's type, whose numbers are those of the inputs in other places."""
    known = None
    if all(value.known is not None for value in inputs) and math.prod(shape) <= MOST_KNOWN:
        known = np.asarray(function(*(value.known for value in inputs))).reshape(shape)
    return Result((Value(tuple(shape), inputs[0].kind, known),))


def _integers(value: Value) -> list[int]:
    if value.known is None:
        raise ShapeError("a shape or place depends on what is computed")
    return [int(number) for number in value.known.reshape(-1)]


def _axis(axis: int, rank: int) -> int:
    """The axis, counted from 0."""
    _expect(-rank <= axis < rank, f"axis {axis} of {rank} dimensions is out of range")
    return axis % rank


def _axes(node: Operator, value: Value | None, rank: int) -> list[int]:
    """The axes, which are an attribute or, in newer operator sets, an input; empty if they are left out."""
    axes = node.attributes.get("axes", []) if value is None else _integers(value)
    axes = [_axis(axis, rank) for axis in axes]
    _expect(len(set(axes)) == len(axes), "an axis is named twice")
    return axes


# --- Number by number --------------------------------------------------------------------------------------------


def _unary(_: Operator, x: Value) -> Result:
    return _one(x.shape, x.kind)


def _identity(_: Operator, x: Value) -> Result:
    return Result((x,))


def _softmax(node: Operator, x: Value) -> Result:
    _axis(node.attributes.get("axis", -1), len(x.shape))
    return _one(x.shape, x.kind)


def _cast(node: Operator, x: Value) -> Result:
    _expect(node.attributes["to"] in NUMBERS, "it casts to an unsupported type")
    return _one(x.shape, node.attributes["to"])


def _broadcast(node: Operator, *values: Value) -> Result:
    # The processor itself stops a program that divides integers by 0.
    _expect(node.op != "Div" or all(value.kind in REALS for value in values), "it divides integers")
    return _one(np.broadcast_shapes(*(value.shape for value in values)), values[0].kind)


# --- Shapes ------------------------------------------------------------------------------------------------------


def _shape(node: Operator, x: Value) -> Result:
    sizes = np.array(x.shape[slice(node.attributes.get("start", 0), node.attributes.get("end"))], np.int64)
    return Result((Value(sizes.shape, INT64, sizes),))


def _concat(node: Operator, *values: Value) -> Result:
    first = values[0].shape
    axis = _axis(node.attributes["axis"], len(first))
    fit = {(len(value.shape), *value.shape[:axis], *value.shape[axis + 1 :]) for value in values}
    _expect(len(fit) == 1, "its inputs do not fit")
    total = sum(value.shape[axis] for value in values)
    return _moved((*first[:axis], total, *first[axis + 1 :]), lambda *parts: np.concatenate(parts, axis), *values)


def _split(node: Operator, x: Value, parts: Value | None = None) -> Result:
    axis, count = _axis(node.attributes.get("axis", 0), len(x.shape)), len(node.outputs)
    sizes = [x.shape[axis] // count] * count if parts is None else _integers(parts)
    _expect(len(sizes) == count and min(sizes) >= 1 and sum(sizes) == x.shape[axis], "its parts do not add up")
    known = [None] * count if x.known is None else np.split(x.known, np.cumsum(sizes)[:-1], axis)
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
    return Result(tuple(Value(shape, x.kind, part) for shape, part in zip(shapes, known, strict=True)))


def _slice(
    node: Operator, x: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None
) -> Result:
    bounds = [_integers(each) for each in (starts, ends)]
    places = _axes(node, axes, len(x.shape)) or list(range(len(bounds[0])))
    strides = [1] * len(places) if steps is None else _integers(steps)
    _expect(0 not in strides, "its parts do not fit")
    cuts = [slice(None)] * len(x.shape)
    for axis, *cut in zip(places, *bounds, strides, strict=True):
        cuts[axis] = slice(*cut)
    shape = [len(range(*cut.indices(size))) for cut, size in zip(cuts, x.shape, strict=True)]
    return _moved(shape, lambda numbers: numbers[tuple(cuts)], x)


def _gather(node: Operator, x: Value, places: Value) -> Result:
    axis = _axis(node.attributes.get("axis", 0), len(x.shape))
    _expect(places.kind in INTEGERS, "its places are no integers")
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    return _moved(shape, partial(np.take, axis=axis), x, places)


def _flatten(node: Operator, x: Value) -> Result:
    axis, rank = node.attributes.get("axis", 1), len(x.shape)
    _expect(-rank <= axis <= rank, "its axis is out of range")
    axis += rank if axis < 0 else 0
    return _one((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])), x.kind)


def _reshape(node: Operator, x: Value, shape: Value) -> Result:
    wanted, total = _integers(shape), math.prod(x.shape)
    if not node.attributes.get("allowzero", 0):
        wanted = [x.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    is_possible = len(wanted) <= MAX_RANK and min(wanted, default=1) >= -1 and wanted.count(-1) <= 1
    _expect(is_possible and 0 not in wanted, "it makes an impossible shape")
    if -1 in wanted:
        wanted[wanted.index(-1)] = total // -math.prod(wanted)
    _expect(math.prod(wanted) == total, "it reshapes to another number of numbers")
    return _moved(wanted, np.asarray, x)


def _transpose(node: Operator, x: Value) -> Result:
    order = node.attributes.get("perm") or list(range(len(x.shape)))[::-1]
    _expect(sorted(order) == list(range(len(x.shape))), "its order is none")
    return _one([x.shape[axis] for axis in order], x.kind)


def _unsqueeze(node: Operator, x: Value, axes: Value) -> Result:
    rank = len(x.shape) + len(_integers(axes))
    _expect(rank <= MAX_RANK, "it makes an impossible shape")
    places, sizes = _axes(node, axes, rank), iter(x.shape)
    return _moved([1 if axis in places else next(sizes) for axis in range(rank)], np.asarray, x)


# --- Products ----------------------------------------------------------------------------------------------------


def _matmul(_: Operator, a: Value, b: Value) -> Result:
    _expect(bool(a.shape and b.shape), "it multiplies single numbers")
    rows = (1, *a.shape) if len(a.shape) == 1 else a.shape
    columns = (*b.shape, 1) if len(b.shape) == 1 else b.shape
    _expect(rows[-1] == columns[-2], f"it multiplies {rows[-1]} columns by {columns[-2]} rows")
    both = (*np.broadcast_shapes(rows[:-2], columns[:-2]), rows[-2], columns[-1])
    shape = both[:-2] + both[-2:-1] * (len(a.shape) > 1) + both[-1:] * (len(b.shape) > 1)
    return _one(shape, a.kind, work=math.prod(both) * rows[-1], buffer=math.prod(both))


def _gemm(node: Operator, a: Value, b: Value, added: Value | None = None) -> Result:
    _expect(len(a.shape) == len(b.shape) == 2, "it multiplies no matrices")
    _expect(not node.attributes.get("transA") and not node.attributes.get("transB"), "it turns its matrices")
    shape = (a.shape[0], b.shape[1])
    _expect(added is None or np.broadcast_shapes(added.shape, shape) == shape, "what it adds does not fit")
    return _matmul(node, a, b)


def _convolve(node: Operator, x: Value, weights: Value, added: Value | None = None) -> Result:
    get = node.attributes.get
    count, channels, *sides = x.shape
    outputs, inner, *kernel = weights.shape
    dilations, pads = get("dilations", [1, 1]), get("pads", [0, 0, 0, 0])
    _expect(len(sides) == len(kernel) == len(dilations) == 2 and len(pads) == 4, "it is not 2D")
    _expect(get("group", 1) == 1 and inner == channels, "its weights do not fit its input")
    _expect(get("kernel_shape", kernel) == kernel, "its kernel is not that of its weights")
    _expect(added is None or added.shape == (outputs,), "what it adds does not fit")
    _expect(get("auto_pad", b"NOTSET") == b"NOTSET", "automatic padding is not supported")
    _expect(get("strides", [1, 1]) == [1, 1], "strides are not supported")
    _expect(min(*dilations, *kernel) >= 1 and min(pads) >= 0, "a size in it is too small")
    reach = [dilations[i] * (kernel[i] - 1) + 1 for i in range(2)]
    _expect(all(pads[i] < reach[i] and pads[i + 2] < reach[i] for i in range(2)), "it pads more than its kernel")
    height, width = (sides[i] + pads[i] + pads[i + 2] - reach[i] + 1 for i in range(2))
    buffer = count * height * width * inner * math.prod(kernel)
    return _one((count, outputs, height, width), x.kind, work=buffer * outputs, buffer=buffer)


def _attend(node: Operator, query: Value, key: Value, value: Value, *others: Value | None) -> Result:
    heads = node.attributes.get("num_heads", 0)
    _expect(not any(others), "it has more than queries, keys and values")
    (count, tokens, size), (_, seen, value_size) = query.shape, value.shape
    _expect(isinstance(heads, int) and heads >= 1 and size % heads == value_size % heads == 0, "its heads do not fit")
    _expect(key.shape == (count, seen, size) and value.shape[0] == count, "its keys do not fit its queries")
    pairs = count * tokens * seen
    return _one((count, tokens, value_size), query.kind, work=pairs * (size + value_size), buffer=2 * pairs * heads)


def _rotate(node: Operator, x: Value, first: Value, *tables: Value) -> Result:
    """All channels as one head, and tokens in the order of the tables' rows: the forms whose reads are in bounds."""
    _expect(set(node.attributes) <= {"interleaved"}, "it has attributes that are not supported")
    _expect(first.shape == (1,) and _integers(first) == [0], "its tokens do not begin at the tables' beginning")
    _expect(len(x.shape) == 3 and x.shape[2] % 2 == 0, "it is not of tokens with pairs of channels")
    fit = [table.shape[0] >= x.shape[1] and table.shape[1:] == (x.shape[2] // 2,) for table in tables]
    _expect(fit == [True, True], "its tables do not fit its tokens")
    return _one(x.shape, x.kind)


# --- Over the board or an axis -----------------------------------------------------------------------------------


def _pool(_: Operator, x: Value) -> Result:
    _expect(len(x.shape) == 4, "it is not of boards")
    return _one((*x.shape[:2], 1, 1), x.kind)


def _reduce(node: Operator, x: Value, axes: Value | None = None) -> Result:
    get = node.attributes.get
    over = _axes(node, axes, len(x.shape)) or ([] if get("noop_with_empty_axes") else list(range(len(x.shape))))
    return _one([1 if i in over else n for i, n in enumerate(x.shape) if get("keepdims", 1) or i not in over], x.kind)


def _batch_norm(node: Operator, x: Value, *parameters: Value) -> Result:
    _expect(not node.attributes.get("training_mode"), "it trains")
    _expect([each.shape for each in parameters] == [(x.shape[1],)] * 4, "its parameters do not fit")
    return _one(x.shape, x.kind)


_FUNCTIONS: dict[Rule, str] = {
    _unary: "Sqrt Tanh Sigmoid Softplus Relu",
    _identity: "Identity",
    _softmax: "Softmax",
    _cast: "Cast",
    _broadcast: "Add Sub Mul Div Pow",
    _shape: "Shape",
    _concat: "Concat",
    _split: "Split",
    _slice: "Slice",
    _gather: "Gather",
    _flatten: "Flatten",
    _reshape: "Reshape",
    _transpose: "Transpose",
    _unsqueeze: "Unsqueeze",
    _matmul: "MatMul",
    _gemm: "Gemm",
    _convolve: "Conv",
    _attend: "MultiHeadAttention",
    _rotate: "RotaryEmbedding",
    _pool: "GlobalAveragePool GlobalMaxPool",
    _reduce: "ReduceMean ReduceProd",
    _batch_norm: "BatchNormalization",
}
RULES: dict[str, Rule] = {name: rule for rule, names in _FUNCTIONS.items() for name in names.split()}
"""The rule for each operator. `Constant` needs none."""
