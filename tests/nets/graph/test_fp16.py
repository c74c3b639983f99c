"""Networks in fp16: what is narrowed, and that the outputs stay near those of fp32.

Processors compute 16-bit operators in 32 bits and round between them, so this tests the graph, not a GPU's arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest, EvaluatorError
from nets.features import scratch_for
from nets.graph.convert import convert, narrow, reason_against_fp16, to_half
from nets.graph.evaluator import OnnxEvaluator
from nets.loss import LIMITS, compare, few_recorded
from nets.open import NetworkFile
from tests.nets.random_networks import content_of

NETWORKS = ("g170-b6c96-s175395328-d26788732", "b7c96h3tfrs-test5-cnorm", "b7c96h6kv3qk32v16tflrs-fson-bnh")


pytestmark = pytest.mark.usefixtures("own_cache")


def plain_onnx(kind: str) -> bytes:
    return convert(content_of(8, [{"kind": kind}]), "random", "")


@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks(name: str, shared: Callable[[str], Path]) -> None:
    plain = NetworkFile(shared(f"nets/{name}.bin.gz")).onnx()
    reference, candidate = OnnxEvaluator(plain, name), OnnxEvaluator(to_half(plain, name), name)
    assert candidate.attributes.precision == "fp16"
    few = [(spatial[::2], global_[::2]) for spatial, global_ in few_recorded(scratch_for(reference))]
    loss, _ = compare(reference, candidate, few)
    for limit in ("winrate_mean", "winrate_p99", "lead_mean", "policy_kl"):  # of so few positions, no share of moves
        assert getattr(loss, limit) <= getattr(LIMITS, limit) / 2, limit


def test_what_is_narrowed() -> None:
    plain = plain_onnx("gpool_block")
    before, after = ModelProto.FromString(plain), ModelProto.FromString(to_half(plain, "x"))
    types = {tensor.name: tensor.data_type for tensor in after.graph.initializer}
    convolutions = [node for node in after.graph.node if node.op_type == "Conv"]
    assert convolutions
    assert all(types[name] == TensorProto.FLOAT16 for node in convolutions for name in node.input[1:])
    assert all(
        types.get(name) != TensorProto.FLOAT16
        for node in after.graph.node
        if node.op_type in ("Gemm", "GlobalAveragePool", "Softmax")
        for name in node.input
    )
    for values in ("input", "output"):
        assert getattr(after.graph, values) == getattr(before.graph, values)
    used = {name for node in after.graph.node for name in node.input}
    assert all(tensor.name in used for tensor in after.graph.initializer)


def test_squares_stay_wide() -> None:
    """A sum of squares of ordinary activations exceeds what 16 bits hold."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["y"]),
            helper.make_node("Mul", ["y", "y"], ["square"]),
            helper.make_node("Mul", ["y", "w"], ["z"]),
        ],
        "g", [], [], [numpy_helper.from_array(np.ones((2, 2), np.float32), "w")],
    )  # fmt: skip
    narrow(graph, "x")
    inputs = {node.output[0]: list(node.input) for node in graph.node}
    assert inputs["square"] == ["y:fp32", "y:fp32"]
    assert inputs["z"] == ["y", "w:fp16"]


def test_weights_beyond_16_bits(model: ModelProto) -> None:
    convolution = next(node for node in model.graph.node if node.op_type == "Conv")
    weights = next(tensor for tensor in model.graph.initializer if tensor.name == convolution.input[1])
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) + 1e5, weights.name))
    with pytest.raises(EvaluatorError, match="x: has weights too large for fp16"):
        to_half(model.SerializeToString(), "x")


def test_reasons_against_it() -> None:
    plain = plain_onnx("ordinary_block")
    reference = OnnxEvaluator(plain, "x")

    class Failing(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            raise EvaluatorError("an output is not finite")

    assert reason_against_fp16(reference, OnnxEvaluator(to_half(plain, "x"), "x")) == ""
    assert "where" in reason_against_fp16(reference, ConstantEvaluator())
    assert reason_against_fp16(reference, Failing()) == "it fails (an output is not finite)"
