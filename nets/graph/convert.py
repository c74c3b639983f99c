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
from collections.abc import Iterable, Mapping
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
    Narrowing(model.graph, source).run()
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


class Narrowing:
    """Changes a graph to fp16 wherever that is safe, in one pass over its nodes in their order."""

    def __init__(self, graph: GraphProto, source: str) -> None:
        self._graph = graph
        self._source = source
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        self._half: set[str] = set()
        """Values that are computed in fp16."""
        self._casts: dict[tuple[str, int], str] = {}
        self._nodes: list[NodeProto] = []
        self._added: list[TensorProto] = []

    def run(self) -> None:
        """Change the graph in place. Raises EvaluatorError if a weight is too large for fp16."""
        for node in self._graph.node:
            inputs = self._real_inputs(node)
            if node.op_type in PRODUCTS or (inputs and self._passes(node)):
                self._rename(node, inputs, TensorProto.FLOAT16)
                self._half.update(node.output)
            else:
                self._rename(node, range(len(node.input)), TensorProto.FLOAT)
            self._nodes.append(node)
        used = {name for node in self._nodes for name in node.input}
        weights = [tensor for tensor in (*self._graph.initializer, *self._added) if tensor.name in used]
        del self._graph.node[:], self._graph.initializer[:], self._graph.value_info[:]
        self._graph.node.extend(self._nodes)
        self._graph.initializer.extend(weights)

    def _real_inputs(self, node: NodeProto) -> Iterable[int]:
        """Positions of the inputs that are real numbers, in a node that could be computed in fp16."""
        if node.op_type in PASSING_FIRST:
            return range(1)
        return range(len(node.input)) if node.op_type in PRODUCTS | PASSING_ALL else range(0)

    def _passes(self, node: NodeProto) -> bool:
        is_square = len(node.input) == 2 and node.input[0] == node.input[1]
        return not is_square and any(node.input[i] in self._half for i in self._real_inputs(node))

    def _rename(self, node: NodeProto, positions: Iterable[int], kind: int) -> None:
        for i in positions:
            name = node.input[i]
            if name and (name in self._half) != (kind == TensorProto.FLOAT16):
                node.input[i] = self._converted(name, kind)

    def _converted(self, name: str, kind: int) -> str:
        key = (name, kind)
        if key not in self._casts:
            new = self._casts[key] = f"{name}:{'fp16' if kind == TensorProto.FLOAT16 else 'fp32'}"
            if name in self._weights:
                self._added.append(self._rounded(self._weights[name], new))
            else:
                self._nodes.append(helper.make_node("Cast", [name], [new], name=new, to=kind))
        return self._casts[key]

    def _rounded(self, tensor: TensorProto, name: str) -> TensorProto:
        values = numpy_helper.to_array(tensor)
        if np.abs(values).max(initial=0.0) > LARGEST:
            raise EvaluatorError(f"{self._source}: has weights too large for fp16")
        return numpy_helper.from_array(values.astype(np.float16), name)
