"""Writes a KataGo network as an ONNX model that runs on every board size and returns finished `Evaluation`s.

Inputs: `spatial` [N, 22, H, W] and `global` [N, 19], the V7 features whatever the network's own input version; where
the network has them also `optimism` [N, 1] and `meta` [N, 192]. Outputs: `policy`, `value`, `score` and `ownership`.

For GPUs there is a version in fp16, whose inputs and outputs stay fp32. What is narrow enough for 16 bits is decided by
operator: convolutions and matrix products of boards are computed in fp16, and so is what takes their results point by
point, attention included; pooling, norms by the root mean square and the heads' small matrices are not, since they add
up hundreds of numbers or square them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES, Evaluator, EvaluatorError
from nets.features import scratch_for
from nets.graph.check import FORMAT, FORMAT_KEY, NAME_KEY, PASS_ALIVE_KEY, PRECISION_KEY, SAFE_AREA_KEY, check_onnx
from nets.graph.graph import IR_VERSION, OPSET, BoardValues, Graph
from nets.graph.layers import TrunkWriter, write_policy, write_value
from nets.graph.prepare import prepared, quietly
from nets.katago.model import MetadataEncoder, Model
from nets.katago.reader import ModelFormatError, decompress, parse_model
from nets.loss import compare, few_recorded, reason_against

TAP = "tap:"
"""The names of outputs that are taps begin so."""


@quietly
def to_onnx(
    model: Model,
    source_sha256: str = "",
    with_taps: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> ModelProto:
    """Write a `prepared` model as ONNX. `source_sha256` of the file it came from is kept in the metadata, and so are
    `facts` about it, fit for JSON. `with_taps`: the graph's taps are outputs too, [N, C, H, W] or [N, H*W, C]."""
    graph = Graph()
    spatial = graph.input("spatial", ["N", SPATIAL_PLANES, "H", "W"])
    global_ = graph.input("global", ["N", GLOBAL_FEATURES])
    board = BoardValues(graph, spatial)
    features = graph.dense(global_, model.trunk.stem_global, label="stem_global")
    if model.trunk.metadata is not None:
        features = graph.add("Add", features, _metadata(graph, model.trunk.metadata))
    trunk = TrunkWriter(graph, board, model.trunk.channels).write(model.trunk, spatial, features)
    policy = write_policy(graph, board, model.policy, trunk)
    value, score, ownership = write_value(graph, board, model, trunk, global_)
    graph.output("policy", policy, ["N", "moves"])
    graph.output("value", value, ["N", 3])
    graph.output("score", score, ["N", SCORE_COLUMNS])
    graph.output("ownership", ownership, ["N", "points"])
    for label, tapped in graph.taps.items() if with_taps else ():
        graph.output(f"{TAP}{label}", tapped, None)
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "network", graph.inputs, graph.outputs, graph.initializers),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)],
        ir_version=IR_VERSION,
        producer_name="nobi",
    )
    helper.set_model_props(
        proto,
        {
            FORMAT_KEY: FORMAT,
            NAME_KEY: model.name,
            PRECISION_KEY: "fp32",
            "nobi.source": json.dumps({"katago_version": model.version, "sha256": source_sha256, **(facts or {})}),
            PASS_ALIVE_KEY: str(int(model.pass_alive_under_suicide)),
            SAFE_AREA_KEY: str(int(model.only_safe_area)),
        },
    )
    return proto


def _metadata(graph: Graph, encoder: MetadataEncoder) -> str:
    meta = graph.input("meta", ["N", encoder.inputs])
    hidden = graph.activate(graph.dense(meta, encoder.first, encoder.first_bias, "meta"), encoder.first_activation)
    hidden = graph.activate(graph.dense(hidden, encoder.second, encoder.second_bias, "meta"), encoder.second_activation)
    return graph.dense(hidden, encoder.third, label="meta")


def load_model(content: bytes, source: str) -> Model:
    """Read the content of a `.bin.gz` or `.txt.gz` file and prepare the network for conversion and for our own kernels.

    `source` is its name in errors. Raises EvaluatorError.
    """
    try:
        return prepared(parse_model(decompress(content)))
    except ModelFormatError as error:
        raise EvaluatorError(f"{source}: not a usable KataGo network: {error}") from None


def convert(content: bytes, source: str, sha256: str) -> bytes:
    """Convert the content of a `.bin.gz` or `.txt.gz` to the ONNX model that runs everywhere. `source` is its name in
    errors, `sha256` its hash for the model's metadata. Raises EvaluatorError."""
    return to_onnx(load_model(content, source), sha256).SerializeToString()


PRODUCTS = {"Conv", "MatMul"}
"""Operators that are always computed in fp16."""
PASSING_ALL = {"Relu", "Add", "Sub", "Mul", "Tanh", "Sigmoid", "Softplus", "BatchNormalization", "MultiHeadAttention"}
"""Operators that are computed in fp16 if one of their inputs is; the others are rounded."""
PASSING_FIRST = {"Reshape", "Transpose", "Unsqueeze", "Flatten", "Split", "Slice", "Gather"}
"""The same for operators of which only the first input has real numbers."""
LARGEST = float(np.finfo(np.float16).max)


def to_half(content: bytes, source: str) -> bytes:
    """Convert an fp32 ONNX model of this project's format to fp16. `source` is its name in errors. Raises
    EvaluatorError."""
    check_onnx(content, source)
    model = ModelProto.FromString(content)
    narrow(model.graph, source)
    for entry in model.metadata_props:
        if entry.key == PRECISION_KEY:
            entry.value = "fp16"
    return model.SerializeToString()


def reason_against_fp16(reference: Evaluator, candidate: Evaluator) -> str:
    """Return why `auto` does not use `candidate`, the fp16 version of `reference`; empty if it may.

    It may if it keeps the limits of loss.py on a few positions of recorded games. Raises EvaluatorError if the
    reference fails.
    """
    positions = few_recorded(scratch_for(reference))
    try:
        loss, _ = compare(reference, candidate, positions)
    except EvaluatorError as error:
        return f"it fails ({error})"
    return reason_against(loss, 0.0)


def narrow(graph: GraphProto, source: str) -> None:
    """Change a graph to fp16 wherever that is safe, in one pass over its nodes in their order.

    Raises EvaluatorError if a weight is too large for fp16."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    half: set[str] = set()  # values that are computed in fp16
    casts: dict[tuple[str, bool], str] = {}
    nodes: list[NodeProto] = []
    added: list[TensorProto] = []

    def converted(name: str, to_half: bool) -> str:
        key = (name, to_half)
        if key not in casts:
            new = casts[key] = f"{name}:{'fp16' if to_half else 'fp32'}"
            if name in weights:
                added.append(_rounded(weights[name], new, source))
            else:
                kind = TensorProto.FLOAT16 if to_half else TensorProto.FLOAT
                nodes.append(helper.make_node("Cast", [name], [new], name=new, to=kind))
        return casts[key]

    for node in graph.node:
        everything = range(len(node.input))
        real = range(1) if node.op_type in PASSING_FIRST else everything  # the inputs that are real numbers
        is_square = len(node.input) == 2 and node.input[0] == node.input[1]
        may_be_half = node.op_type in PASSING_FIRST | PASSING_ALL and not is_square
        is_half = node.op_type in PRODUCTS or (may_be_half and any(node.input[i] in half for i in real))
        for i in real if is_half else everything:
            name = node.input[i]
            if name and (name in half) != is_half:
                node.input[i] = converted(name, is_half)
        if is_half:
            half.update(node.output)
        nodes.append(node)
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in (*graph.initializer, *added) if tensor.name in used]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)


def _rounded(tensor: TensorProto, name: str, source: str) -> TensorProto:
    values = numpy_helper.to_array(tensor)
    if np.abs(values).max(initial=0.0) > LARGEST:
        raise EvaluatorError(f"{source}: has weights too large for fp16")
    return numpy_helper.from_array(values.astype(np.float16), name)
