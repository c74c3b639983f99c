"""Writes a KataGo network as an ONNX model that runs on every board size and returns finished `Evaluation`s.

Inputs: `spatial` [N, 22, H, W] and `global` [N, 19], the V7 features whatever the network's own input version; where
the network has them also `optimism` [N, 1] and `meta` [N, 192]. Outputs: `policy`, `value`, `score` and `ownership`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from onnx import ModelProto, helper

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES, EvaluatorError
from nets.graph.check import FORMAT, FORMAT_KEY, NAME_KEY, PASS_ALIVE_KEY, PRECISION_KEY, SAFE_AREA_KEY
from nets.graph.graph import IR_VERSION, OPSET, BoardValues, Graph
from nets.graph.layers import TrunkWriter, write_policy, write_value
from nets.graph.prepare import prepared, quietly
from nets.katago.model import MetadataEncoder, Model
from nets.katago.reader import ModelFormatError, decompress, parse_model

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
