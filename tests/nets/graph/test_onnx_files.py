"""ONNX files from strangers: refused in one line before onnxruntime sees them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

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


def external(model: ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"


def external_attribute(model: ModelProto) -> None:
    tensor = numpy_helper.from_array(np.zeros(1, np.float32), "t")
    tensor.data_location = TensorProto.EXTERNAL
    model.graph.node.append(helper.make_node("Constant", [], ["unused"], value=tensor))


def sparse(model: ModelProto) -> None:
    values, indices = (
        numpy_helper.from_array(np.ones(1, np.float32), "s"),
        numpy_helper.from_array(np.zeros(1, np.int64)),
    )
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [10**12]))


def sparse_attribute(model: ModelProto) -> None:
    attribute = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)
    model.graph.node.append(helper.make_node("Constant", [], ["unused"]))
    model.graph.node[-1].attribute.append(attribute)


def operator(name: str, domain: str = "") -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.graph.node.append(helper.make_node(name, ["global"], ["unused"], domain=domain))

    return change


def nested_graph(model: ModelProto) -> None:
    inner = helper.make_graph([], "inner", [], [])
    model.graph.node.append(helper.make_node("Identity", ["global"], ["unused"], body=inner))


def oversized_tensor(model: ModelProto) -> None:
    model.graph.initializer.append(
        TensorProto(name="big", data_type=TensorProto.FLOAT, dims=[1 << 40], raw_data=b"1234")
    )


def negative_tensor(model: ModelProto) -> None:
    model.graph.initializer.append(
        TensorProto(name="big", data_type=TensorProto.FLOAT, dims=[-1, -1], raw_data=b"1234")
    )


def string_tensor(model: ModelProto) -> None:
    model.graph.initializer.append(helper.make_tensor("text", TensorProto.STRING, [1], [b"x"]))


def not_finite(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.array([np.nan], np.float32), "bad"))


def renamed_input(model: ModelProto) -> None:
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == "global":
                node.input[index] = "scalars"
    model.graph.input[1].name = "scalars"


def missing_output(model: ModelProto) -> None:
    del model.graph.output[-1]


def extra_output(model: ModelProto) -> None:
    model.graph.output.append(helper.make_tensor_value_info("secret", TensorProto.FLOAT, [1]))


def wrong_planes(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 23


def fixed_board(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 19


def fewer_dimensions(model: ModelProto) -> None:
    del model.graph.input[0].type.tensor_type.shape.dim[3]


def symbolic_planes(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "C"


def unknown_numbers(model: ModelProto) -> None:
    model.graph.input[1].type.tensor_type.shape.dim[1].ClearField("dim_value")


def same_input_twice(model: ModelProto) -> None:
    again = copy.deepcopy(model.graph.input[0])
    for _ in range(2):
        again.type.tensor_type.shape.dim.add().dim_param = "Z"
    model.graph.input.insert(0, again)


def same_output_twice(model: ModelProto) -> None:
    model.graph.output.append(copy.deepcopy(model.graph.output[0]))


def tensor(kind: int, **fields: Any) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.graph.initializer.append(TensorProto(name="odd", data_type=kind, dims=[1], **fields))

    change.__name__ = f"{TensorProto.DataType.Name(kind)} in {'+'.join(fields)}"
    return change


def wrong_type(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16


def no_metadata(model: ModelProto) -> None:
    del model.metadata_props[:]


def in_int8(model: ModelProto) -> None:
    """As `nobi quantize` of earlier versions wrote them."""
    next(entry for entry in model.metadata_props if entry.key == "nobi.precision").value = "int8"


def opset(version: int, domain: str = "") -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.opset_import.append(helper.make_opsetid(domain, version))

    return change


def function(model: ModelProto) -> None:
    model.functions.append(
        helper.make_function("com.microsoft", "Evil", ["x"], ["y"], [], [helper.make_opsetid("", 17)])
    )


def dangling(model: ModelProto) -> None:
    model.graph.node[3].input[0] = "nowhere"


def made_twice(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Identity", ["global"], ["policy"]))


def policy_of_another_size(model: ModelProto) -> None:
    model.graph.node[-4].input[0] = "global"


def added(*nodes: tuple[str, list[str], dict[str, Any]], **tensors: Any) -> Callable[[ModelProto], None]:
    """Appends nodes that make u0, u1, ..., and tensors by name."""

    def change(model: ModelProto) -> None:
        for name, values in tensors.items():
            model.graph.initializer.append(numpy_helper.from_array(np.array(values), name))
        for number, (op, inputs, attributes) in enumerate(nodes):
            model.graph.node.append(helper.make_node(op, inputs, [f"u{number}"], name=f"bad{number}", **attributes))

    change.__name__ = "+".join(op for op, _, _ in nodes[:3])
    return change


def doubled(times: int) -> Callable[[ModelProto], None]:
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


def convolution(side: int = 3, **attributes: Any) -> Callable[[ModelProto], None]:
    return added(("Conv", ["spatial", "w"], attributes), w=np.zeros((1, 22, side, side), np.float32))


def untyped_graph(model: ModelProto) -> None:
    attribute = AttributeProto(name="body", g=helper.make_graph([], "inner", [], []))
    model.graph.node[0].attribute.append(attribute)


def two_opsets(model: ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("ai.onnx", 13))


def no_opset(model: ModelProto) -> None:
    del model.opset_import[0]


def many_nodes(model: ModelProto) -> None:
    for i in range(20_001):
        model.graph.node.append(helper.make_node("Identity", ["global"], [f"u{i}"]))


def sequence(model: ModelProto) -> None:
    model.graph.value_info.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, [1]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (external, "outside the file"),
        (external_attribute, "outside the file"),
        (sparse, "sparse"),
        (sparse_attribute, "sparse"),
        (operator("Loop"), "Loop"),
        (operator("If"), "If"),
        (operator("ConstantOfShape"), "ConstantOfShape"),
        (operator("Tile"), "Tile"),
        (operator("RandomNormal"), "RandomNormal"),
        (operator("Relu", "evil.domain"), "Relu"),
        (operator("Bad\nname"), r"Bad\nname"),
        (nested_graph, "nested"),
        (oversized_tensor, "announces"),
        (negative_tensor, "impossible"),
        (string_tensor, "type"),
        (not_finite, "not finite"),
        (renamed_input, "global"),
        (missing_output, "ownership"),
        (extra_output, "secret"),
        (wrong_planes, "spatial"),
        (fixed_board, "spatial"),
        (fewer_dimensions, "dimensions"),
        (symbolic_planes, "spatial has a dimension of no fixed size where 22 is needed"),
        (unknown_numbers, "global has a dimension of no fixed size where 19 is needed"),
        (same_input_twice, "two inputs"),
        (same_output_twice, "two outputs"),
        (tensor(TensorProto.FLOAT, int64_data=[1]), "of another type"),
        (tensor(TensorProto.INT64, float_data=[1.0]), "of another type"),
        (tensor(TensorProto.FLOAT, uint64_data=[1]), "of another type"),
        (tensor(TensorProto.FLOAT, raw_data=b"1234", float_data=[1.0]), "of another type"),
        (tensor(TensorProto.FLOAT, float_data=[1.0, 2.0]), "announces 1 numbers and holds 2"),
        (tensor(TensorProto.DOUBLE, double_data=[1e300]), "tensor odd is not finite"),
        (wrong_type, "32-bit"),
        (no_metadata, "nobi.format"),
        (in_int8, "it is in int8, which is gone"),
        (opset(99), "operator set 99"),
        (opset(1, "evil.domain"), "evil.domain"),
        (function, "functions"),
        (dangling, "nothing makes the input nowhere"),
        (made_twice, "an output too many"),
        (policy_of_another_size, "policy has the shape"),
        (doubled(40), "too much memory"),
        (PER_POSITION, "too much memory"),
        (wide_pool, "too much memory"),
        (much_work, "too many multiplications"),
        (untyped_graph, "nested"),
        (two_opsets, "not clearly"),
        (no_opset, "which operator sets"),
        (many_nodes, "more than 20000 nodes"),
        (sequence, "no tensor"),
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
        (operator("MaxPool"), "MaxPool is not supported"),
        (added(("Conv", ["spatial", "w"], {"group": 0}), w=np.zeros((1, 22, 3, 3), np.float32)), "weights do not fit"),
        (added(("Conv", ["spatial", "w"], {}), w=np.zeros((1, 21, 3, 3), np.float32)), "weights do not fit"),
        (added(("Conv", ["spatial", "w"], {"auto_pad": "SAME_UPPER"}), w=np.zeros((1, 22, 3, 3), np.float32)), "auto"),
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
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_refusals_say_why(model: ModelProto, change: Callable[[ModelProto], None], reason: str) -> None:
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
    ids=lambda change: change.__name__,
)
def test_numbers_in_the_field_of_their_type(model: ModelProto, change: Callable[[ModelProto], None]) -> None:
    change(model)
    assert check_onnx(model.SerializeToString(), "file").name == "random"


def test_non_finite_outputs_are_refused(model: ModelProto) -> None:
    """A finite weight may still overflow on the way."""
    for tensor in model.graph.initializer:
        if tensor.name.startswith("policy_second_weights"):
            weights = numpy_helper.to_array(tensor)
            tensor.CopyFrom(numpy_helper.from_array(np.full_like(weights, 3e38), tensor.name))
        if tensor.name.startswith("policy_first_bias"):
            tensor.CopyFrom(numpy_helper.from_array(np.full_like(numpy_helper.to_array(tensor), 1e30), tensor.name))
    evaluator = OnnxEvaluator(model.SerializeToString(), "file")
    with pytest.raises(EvaluatorError, match="not finite"):
        evaluator.evaluate(EvaluationRequest(np.ones((2, 22, 5, 5), np.float32), np.zeros((2, 19), np.float32)))
