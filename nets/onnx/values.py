"""The types of the shape rules: what is known of a value, a node and its result before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

MAX_RANK = 8
MOST_KNOWN = 1 << 14
"""A tensor's numbers are looked at if there are no more than this."""
FLOAT, INT32, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
REALS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
NUMBERS = REALS | {INT32, INT64, BOOL}
"""The types of tensors that networks may have."""


class ShapeError(ValueError):
    """A node breaks its operator's rules; the text says how, without the node's name."""


class Value(NamedTuple):
    """What is known of a tensor before anything is computed."""

    shape: tuple[int, ...]
    kind: int
    """The type of its numbers, one of NUMBERS."""
    known: NDArray[Any] | None = None
    """The numbers themselves, where they are few and follow from constants and shapes."""


@dataclass(frozen=True)
class Node:
    """A node's operator and attributes, without tensors."""

    op: str
    label: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def integer(self, name: str, default: int) -> int:
        """Return an attribute that is one integer, or `default` without it. Raises ShapeError for anything else."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise ShapeError(f"its {name} is no integer")
        return value

    def integers(self, name: str) -> list[int] | None:
        """Return an attribute that is a list of integers, or None without it. Raises ShapeError for anything else."""
        value = self.attributes.get(name)
        if value is not None and not (isinstance(value, list) and all(isinstance(item, int) for item in value)):
            raise ShapeError(f"its {name} are no integers")
        return value

    def axis(self, default: int, rank: int) -> int:
        """Return the axis, counted from 0, of a tensor with `rank` of them. Raises ShapeError if there is none such."""
        axis = self.integer("axis", default)
        if not -rank <= axis < rank:
            raise ShapeError(f"axis {axis} of {rank} dimensions")
        return axis % rank


@dataclass(frozen=True)
class Result:
    """The outputs of a node, and the work and memory to compute them."""

    outputs: tuple[Value, ...]
    work: int = 0
    """Multiplications, counted for operators with more than one per number."""
    buffer: int = 0
    """Numbers held in memory besides inputs and outputs."""


Inputs = Sequence[Value | None]
Rule = Callable[[Node, Inputs], Result]


def expect(condition: bool, complaint: str) -> None:
    """Raise ShapeError with this complaint unless the condition is true."""
    if not condition:
        raise ShapeError(complaint)


def given(inputs: Inputs, index: int) -> Value:
    """Return an input that a node must have. Raises ShapeError if it is missing."""
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        raise ShapeError(f"input {index} is missing")
    return value


def optional(inputs: Inputs, index: int) -> Value | None:
    """Return an input, or None if it is left out."""
    return inputs[index] if index < len(inputs) else None


def one(shape: Sequence[int], kind: int, work: int = 0, buffer: int = 0) -> Result:
    """Make a result of one output, whose numbers are not known."""
    return Result((Value(tuple(shape), kind),), work, buffer)


def computed(shape: Sequence[int], kind: int, function: Callable[..., Any] | None, *inputs: Value) -> Result:
    """Make a result of one output; its numbers are known if those of all inputs are and there are few."""
    known = [value.known for value in inputs]
    if function is None or any(each is None for each in known) or math.prod(shape) > MOST_KNOWN:
        return one(shape, kind)
    numbers = np.asarray(function(*known), helper.tensor_dtype_to_np_dtype(kind))
    return Result((Value(tuple(shape), kind, numbers.reshape(shape)),))


def integers_of(value: Value) -> list[int]:
    """List the numbers of a tensor of integers. Raises ShapeError where they are not known, or are real numbers."""
    if value.known is None or value.kind in REALS:
        raise ShapeError("a shape or place depends on what is computed")
    return [int(number) for number in value.known.reshape(-1)]


def axes_of(node: Node, inputs: Inputs, index: int, rank: int) -> list[int] | None:
    """Read the axes, which are an attribute or, in newer operator sets, an input; None if they are left out.

    They are counted from 0. Raises ShapeError for one that is named twice or is none of the `rank` axes.
    """
    given = optional(inputs, index)
    axes = node.integers("axes") if given is None else integers_of(given)
    if axes is None:
        return None
    expect(all(-rank <= axis < rank for axis in axes), "an axis is out of range")
    axes = [axis % rank for axis in axes]
    expect(len(set(axes)) == len(axes), "an axis is named twice")
    return axes
