"""How large a network's graph gets, found out before onnxruntime computes anything.

A file of a few kilobytes can multiply its input until no memory is left. So the shapes of all values are worked out for
one position and for as many as an engine ever asks for at once: what is small enough for both is small enough in
between, since no operator's output grows faster than the square of the number of positions.
"""

from __future__ import annotations

import math
from typing import Any

from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, numpy_helper

from nets.evaluator import SCORE_COLUMNS
from nets.onnx.shapes import FLOAT, INTEGERS, MOST_KNOWN, Node, ShapeError, Value, infer
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
        self._inputs = [(value.name, _dimensions(value)) for value in model.graph.input]
        self._outputs = [output.name for output in model.graph.output]
        self._nodes: list[Node] = []
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


def _dimensions(value: Any) -> list[int]:
    """Fixed sizes, 0 for those that vary."""
    return [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]


def _constant(tensor: TensorProto) -> Value:
    shape = tuple(tensor.dims)
    if tensor.data_type not in INTEGERS or math.prod(shape) > MOST_KNOWN:
        return Value(shape, tensor.data_type)
    return Value(shape, tensor.data_type, numpy_helper.to_array(tensor))


def _constant_of(node: NodeProto) -> Value:
    if len(node.output) != 1 or len(node.attribute) != 1 or node.attribute[0].name != "value":
        raise ShapeError(f"the constant {shown(node.name)} is no tensor")
    return _constant(node.attribute[0].t)


def _node(node: NodeProto) -> Node:
    label = f"{shown(node.op_type)} {shown(node.name)}".strip()
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in attributes or attribute.type not in _ATTRIBUTES:
            raise ShapeError(f"{label} has an attribute that is not supported")
        attributes[attribute.name] = _ATTRIBUTES[attribute.type](attribute)
    return Node(node.op_type, label, tuple(node.input), tuple(node.output), attributes)


_ATTRIBUTES = {
    AttributeProto.INT: lambda attribute: attribute.i,
    AttributeProto.FLOAT: lambda attribute: attribute.f,
    AttributeProto.STRING: lambda attribute: attribute.s,
    AttributeProto.INTS: lambda attribute: list(attribute.ints),
    AttributeProto.FLOATS: lambda attribute: list(attribute.floats),
}
