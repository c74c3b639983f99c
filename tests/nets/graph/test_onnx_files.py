"""ONNX files from strangers: refused in one line before onnxruntime sees them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, helper, numpy_helper

from nets.evaluator import EvaluationRequest, EvaluatorError
from nets.graph.check import check_onnx
from nets.graph.evaluator import OnnxEvaluator


def refusal(content: bytes) -> str:
    with pytest.raises(EvaluatorError) as caught:
        OnnxEvaluator(content, "some/file.onnx")
    text = str(caught.value)
    assert text.startswith("some/file.onnx: ")
    assert "\n" not in text
    assert len(text) < 400
    return text


Change = Callable[[ModelProto], Any]


def appended(place: str, *values: Any) -> Change:
    """Appends to a list of the model."""
    return lambda model: attrgetter(place)(model).extend(values)


def node(name: str, *attributes: AttributeProto, domain: str = "") -> Change:
    inputs = [] if name == "Constant" else ["global"]
    return appended(
        "graph.node", NodeProto(op_type=name, input=inputs, output=["unused"], domain=domain, attribute=attributes)
    )


def tensor(kind: int, dims: tuple[int, ...] = (1,), **fields: Any) -> Change:
    return appended("graph.initializer", TensorProto(name="odd", data_type=kind, dims=dims, **fields))


def opset(version: int, domain: str = "") -> Change:
    return appended("opset_import", helper.make_opsetid(domain, version))


def side(number: int, axis: int, **field: Any) -> Change:
    """Says something else of a side of an input."""

    def change(model: ModelProto) -> None:
        model.graph.input[number].type.tensor_type.shape.dim[axis].CopyFrom(TensorShapeProto.Dimension(**field))

    return change


def renamed_input(model: ModelProto) -> None:
    for each in model.graph.node:
        for index, name in enumerate(each.input):
            if name == "global":
                each.input[index] = "scalars"
    model.graph.input[1].name = "scalars"


def same_input_twice(model: ModelProto) -> None:
    again = copy.deepcopy(model.graph.input[0])
    for _ in range(2):
        again.type.tensor_type.shape.dim.add().dim_param = "Z"
    model.graph.input.insert(0, again)


def wrong_type(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16


def in_int8(model: ModelProto) -> None:
    """As `nobi quantize` of earlier versions wrote them."""
    next(entry for entry in model.metadata_props if entry.key == "nobi.precision").value = "int8"


def dangling(model: ModelProto) -> None:
    model.graph.node[3].input[0] = "nowhere"


def policy_of_another_size(model: ModelProto) -> None:
    model.graph.node[-4].input[0] = "global"


def added(*nodes: tuple[str, list[str], dict[str, Any]], **tensors: Any) -> Change:
    """Appends nodes that make u0, u1, ..., and tensors by name."""

    def change(model: ModelProto) -> None:
        for name, values in tensors.items():
            model.graph.initializer.append(numpy_helper.from_array(np.array(values), name))
        for number, (op, inputs, attributes) in enumerate(nodes):
            model.graph.node.append(helper.make_node(op, inputs, [f"u{number}"], name=f"bad{number}", **attributes))

    return change


def doubled(times: int) -> Change:
    first = ("Concat", ["global", "global"], {"axis": 1})
    return added(first, *(("Concat", [f"u{i}", f"u{i}"], {"axis": 1}) for i in range(times)))


ONE_BY_ONE: tuple[str, list[str], dict[str, Any]] = ("Unsqueeze", ["global", "axes"], {})
"""[N, 1, 19]"""
PER_POSITION = added(
    ("Reshape", ["spatial", "row"], {}),
    ("Reshape", ["spatial", "column"], {}),
    ("Mul", ["u0", "u1"], {}),
    row=np.array([1, -1]),
    column=np.array([-1, 1]),
)
"""Every position with every other: grows with the square of their number."""


def wide_pool(model: ModelProto) -> None:
    """Three products of every point with every other: 25^16 numbers."""
    nodes: list[tuple[str, list[str], dict[str, Any]]] = []
    x = "spatial"
    for i in range(3):
        base = 3 * i
        nodes += [("Reshape", [x, "row"], {}), ("Reshape", [x, "column"], {})]
        nodes += [("MatMul", [f"u{base}", f"u{base + 1}"], {})]
        x = f"u{base + 2}"
    added(*nodes, row=np.array([0, -1, 1]), column=np.array([0, 1, -1]))(model)


def much_work(model: ModelProto) -> None:
    """A small matrix by itself, again and again."""
    model.graph.initializer.append(numpy_helper.from_array(np.ones((2000, 2000), np.float32), "m"))
    for i in range(200):
        model.graph.node.append(helper.make_node("MatMul", ["m" if i == 0 else f"u{i - 1}", "m"], [f"u{i}"]))


def convolution(side: int = 3, inputs: int = 22, **attributes: Any) -> Change:
    return added(("Conv", ["spatial", "w"], attributes), w=np.zeros((1, inputs, side, side), np.float32))


ELSEWHERE = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
INNER = helper.make_graph([], "inner", [], [])
SPARSE = helper.make_sparse_tensor(
    numpy_helper.from_array(np.ones(1, np.float32), "s"), numpy_helper.from_array(np.zeros(1, np.int64)), [10**12]
)
EVIL = helper.make_function("com.microsoft", "Evil", ["x"], ["y"], [], [helper.make_opsetid("", 17)])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (tensor(TensorProto.FLOAT, external_data=[{"key": "location", "value": "/etc/passwd"}]), "outside the file"),
        (node("Constant", helper.make_attribute("value", ELSEWHERE)), "outside the file"),
        (appended("graph.sparse_initializer", SPARSE), "sparse"),
        (node("Constant", AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)), "sparse"),
        (node("Loop"), "Loop"),
        (node("If"), "If"),
        (node("ConstantOfShape"), "ConstantOfShape"),
        (node("Tile"), "Tile"),
        (node("RandomNormal"), "RandomNormal"),
        (node("Relu", domain="evil.domain"), "Relu"),
        (node("Bad\nname"), r"Bad\nname"),
        (node("Identity", helper.make_attribute("body", INNER)), "nested"),
        (tensor(TensorProto.FLOAT, (1 << 40,), raw_data=b"1234"), "announces"),
        (tensor(TensorProto.FLOAT, (-1, -1), raw_data=b"1234"), "impossible"),
        (tensor(TensorProto.STRING, string_data=[b"x"]), "type"),
        (tensor(TensorProto.FLOAT, float_data=[np.nan]), "not finite"),
        (renamed_input, "global"),
        (lambda model: model.graph.output.pop(), "ownership"),
        (appended("graph.output", helper.make_tensor_value_info("secret", TensorProto.FLOAT, [1])), "secret"),
        (side(0, 1, dim_value=23), "spatial"),
        (side(0, 2, dim_value=19), "spatial"),
        (lambda model: model.graph.input[0].type.tensor_type.shape.dim.pop(), "dimensions"),
        (side(0, 1, dim_param="C"), "spatial has a dimension of no fixed size where 22 is needed"),
        (side(1, 1), "global has a dimension of no fixed size where 19 is needed"),
        (same_input_twice, "two inputs"),
        (lambda model: model.graph.output.append(copy.deepcopy(model.graph.output[0])), "two outputs"),
        (tensor(TensorProto.FLOAT, int64_data=[1]), "of another type"),
        (tensor(TensorProto.INT64, float_data=[1.0]), "of another type"),
        (tensor(TensorProto.FLOAT, uint64_data=[1]), "of another type"),
        (tensor(TensorProto.FLOAT, raw_data=b"1234", float_data=[1.0]), "of another type"),
        (tensor(TensorProto.FLOAT, float_data=[1.0, 2.0]), "announces 1 numbers and holds 2"),
        (tensor(TensorProto.DOUBLE, double_data=[1e300]), "tensor odd is not finite"),
        (wrong_type, "32-bit"),
        (lambda model: model.ClearField("metadata_props"), "nobi.format"),
        (in_int8, "it is in int8, which is gone"),
        (opset(99), "operator set 99"),
        (opset(1, "evil.domain"), "evil.domain"),
        (appended("functions", EVIL), "functions"),
        (dangling, "nothing makes the input nowhere"),
        (appended("graph.node", helper.make_node("Identity", ["global"], ["policy"])), "an output too many"),
        (policy_of_another_size, "policy has the shape"),
        (doubled(40), "too much memory"),
        (PER_POSITION, "too much memory"),
        (wide_pool, "too much memory"),
        (much_work, "too many multiplications"),
        (node("Identity", AttributeProto(name="body", g=INNER)), "nested"),
        (opset(13, "ai.onnx"), "not clearly"),
        (lambda model: model.opset_import.pop(0), "which operator sets"),
        (
            appended("graph.node", *(helper.make_node("Identity", ["global"], [f"u{i}"]) for i in range(20_001))),
            "more than 20000 nodes",
        ),
        (
            appended("graph.value_info", helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [1])),
            "no tensor",
        ),
        (opset(2, "com.microsoft"), "operator set 2"),
        (added(("Div", ["n", "zero"], {}), n=np.array([7]), zero=np.array([0])), "divides integers"),
        (added(("Div", ["n", "minus"], {}), n=np.array([-(2**63)]), minus=np.array([-1])), "divides integers"),
        (added(("Cast", ["global"], {"to": TensorProto.STRING})), "casts"),
        (added(("Cast", ["global"], {"to": 7}), ("Reshape", ["global", "u0"], {})), "depends on what is computed"),
        (added(("Reshape", ["global", "s"], {}), s=np.array([-1, -1])), "impossible shape"),
        (added(("Reshape", ["global", "s"], {}), s=np.array([7, 7])), "another number"),
        (added(("GlobalMaxPool", ["global"], {})), "not of boards"),
        (convolution(pads=[9**9] * 4), "pads more"),
        (convolution(dilations=[0, 1]), "too small"),
        (convolution(strides=[2, 2]), "strides"),
        (convolution(side=99), "shape"),
        (node("MaxPool"), "MaxPool is not supported"),
        (convolution(group=0), "weights do not fit"),
        (convolution(inputs=21), "weights do not fit"),
        (convolution(auto_pad="SAME_UPPER"), "auto"),
        (added(("MatMul", ["global", "global"], {})), "columns"),
        (added(ONE_BY_ONE, ("Gather", ["u0", "f"], {}), axes=np.array([1]), f=np.zeros(1, np.float32)), "integers"),
        (added(("Unsqueeze", ["global", "axes"], {}), axes=np.array([9])), "out of range"),
        (added(("Split", ["global", "parts"], {}), parts=np.array([20])), "add up"),
        (added(("Softmax", ["global"], {"axis": 7})), "axis 7"),
        (added(("Softmax", ["global"], {"axis": 1.5})), "should not have"),
        (added(("Relu", [], {})), "should not have"),
        (added(("Add", ["global", "spatial"], {})), "do not fit"),
        (
            added(("BatchNormalization", ["spatial", *"vvvv"], {"training_mode": 1}), v=np.ones(22, np.float32)),
            "trains",
        ),
        (added(("Slice", ["global", "a", "b"], {}), a=np.array([5]), b=np.array([5])), "shape"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_refusals_say_why(model: ModelProto, change: Change, reason: str) -> None:
    change(model)
    assert reason in refusal(model.SerializeToString())


@pytest.mark.parametrize(
    "change",
    [
        tensor(TensorProto.FLOAT16, int32_data=[1]),
        tensor(TensorProto.INT32, int32_data=[-1]),
        tensor(TensorProto.INT64, int64_data=[1]),
        tensor(TensorProto.DOUBLE, double_data=[1.0]),
    ],
)
def test_numbers_in_the_field_of_their_type(model: ModelProto, change: Change) -> None:
    change(model)
    assert check_onnx(model.SerializeToString(), "file").name == "random"


def test_non_finite_outputs_are_refused(model: ModelProto) -> None:
    """A finite weight may still overflow on the way."""
    for each in model.graph.initializer:
        if each.name.startswith("policy_second_weights"):
            weights = numpy_helper.to_array(each)
            each.CopyFrom(numpy_helper.from_array(np.full_like(weights, 3e38), each.name))
        if each.name.startswith("policy_first_bias"):
            each.CopyFrom(numpy_helper.from_array(np.full_like(numpy_helper.to_array(each), 1e30), each.name))
    evaluator = OnnxEvaluator(model.SerializeToString(), "file")
    with pytest.raises(EvaluatorError, match="not finite"):
        evaluator.evaluate(EvaluationRequest(np.ones((2, 22, 5, 5), np.float32), np.zeros((2, 19), np.float32)))
