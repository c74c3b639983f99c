"""ONNX files from strangers: refused in one line before onnxruntime sees them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from nets.evaluator import EvaluatorError
from nets.katago.convert import convert
from nets.onnx_evaluator import OnnxEvaluator
from tests.nets.random_networks import RandomNetwork


@pytest.fixture(scope="module")
def original() -> bytes:
    network = RandomNetwork(13, channels=6)
    network.write([{"kind": "ordinary_block"}])
    return convert(network.compressed(), "random", "")


@pytest.fixture
def model(original: bytes) -> ModelProto:
    proto = ModelProto()
    proto.ParseFromString(original)
    return proto


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


def wrong_type(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16


def no_metadata(model: ModelProto) -> None:
    del model.metadata_props[:]


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
        (operator("Bad\nname"), "Badname"),
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
        (wrong_type, "32-bit"),
        (no_metadata, "nobi.format"),
        (opset(99), "operator set 99"),
        (opset(1, "evil.domain"), "evil.domain"),
        (function, "functions"),
        (dangling, "onnxruntime"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_refusals_say_why(model: ModelProto, change: Callable[[ModelProto], None], reason: str) -> None:
    change(model)
    assert reason in refusal(model.SerializeToString())


@pytest.mark.parametrize("content", [b"", b"\0", b"not a model", b"\xff" * 1000, b"\x08\x07"])
def test_other_files(content: bytes) -> None:
    refusal(content)


def test_truncations(original: bytes) -> None:
    for length in range(0, len(original) - 1, 211):
        refusal(original[:length])


def test_mutations(original: bytes) -> None:
    """A changed byte gives a network or a refusal, never a crash."""
    random = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(original)
        for at in random.integers(0, len(data), 3):
            data[at] = random.integers(256)
        with contextlib.suppress(EvaluatorError):
            evaluator = OnnxEvaluator(bytes(data), "file")
            evaluator.evaluate(np.zeros((1, 22, 9, 9), np.float32), np.zeros((1, 19), np.float32))


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
        evaluator.evaluate(np.ones((2, 22, 5, 5), np.float32), np.zeros((2, 19), np.float32))
