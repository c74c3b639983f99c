"""Operators whose inputs decide whether they read or write out of bounds: attention, rotations, sizes of boards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.evaluator import OnnxEvaluator
from tests.nets.graph.test_onnx_files import ONE_BY_ONE, added, refusal


def heads(count: int) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        added(ONE_BY_ONE, axes=np.array([1], np.int64))(model)
        node = helper.make_node("MultiHeadAttention", ["u0"] * 3, ["mixed"], domain="com.microsoft", num_heads=count)
        model.graph.node.append(node)

    return change


@pytest.mark.parametrize("count", [0, -1, 2, 1 << 40])
def test_impossible_heads(model: ModelProto, count: int) -> None:
    heads(count)(model)
    assert "heads do not fit" in refusal(model.SerializeToString())


def test_possible_heads(model: ModelProto) -> None:
    heads(19)(model)
    OnnxEvaluator(model.SerializeToString(), "file")


def turning(first: int = 0, rows: int = 3, **attributes: int) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        tables = {"cosine": np.ones((rows, 2), np.float32), "sine": np.zeros((rows, 2), np.float32)}
        inputs = {"tokens": np.ones((1, 3, 4), np.float32), "first": np.array([first], np.int64), **tables}
        for name, values in inputs.items():
            model.graph.initializer.append(numpy_helper.from_array(values, name))
        node = helper.make_node("RotaryEmbedding", list(inputs), ["turned"], domain="com.microsoft", **attributes)
        model.graph.node.append(node)

    return change


@pytest.mark.parametrize("change", [turning(first=1), turning(rows=2), turning(num_heads=2), turning(scale=1)])
def test_rotations_that_read_elsewhere(model: ModelProto, change: Callable[[ModelProto], None]) -> None:
    change(model)
    assert "RotaryEmbedding" in refusal(model.SerializeToString())


def test_possible_rotations(model: ModelProto) -> None:
    turning(interleaved=1)(model)
    OnnxEvaluator(model.SerializeToString(), "file")


def test_what_is_large_on_small_boards_only(model: ModelProto) -> None:
    """The largest board shows nothing amiss; the first evaluation on another is refused before it begins."""
    added(
        ("Shape", ["spatial"], {"start": 2, "end": 3}),
        ("Slice", ["long", "zero", "all", "zero", "u0"], {}),
        ("Unsqueeze", ["u1", "one"], {}),
        ("Mul", ["u1", "u2"], {}),
        all=np.array([80_000], np.int64),
        one=np.array([1], np.int64),
        zero=np.array([0], np.int64),
        long=np.zeros(80_000, np.float32),
    )(model)
    evaluator = OnnxEvaluator(model.SerializeToString(), "file")
    evaluator.evaluate(EvaluationRequest(np.zeros((1, 22, 25, 25), np.float32), np.zeros((1, 19), np.float32)))
    with pytest.raises(EvaluatorError, match=r"^file: not a usable network: Mul bad3 needs too much memory .* 9x9$"):
        evaluator.evaluate(EvaluationRequest(np.zeros((1, 22, 9, 9), np.float32), np.zeros((1, 19), np.float32)))
