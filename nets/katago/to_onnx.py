"""A KataGo network as an ONNX model that runs on every board size and gives finished `Evaluation`s.

Inputs: `spatial` [N, 22, H, W] and `global` [N, 19], the V7 features whatever the network's own input version; where
the network has them also `optimism` [N, 1] and `meta` [N, 192]. Outputs: `policy`, `value`, `score` and `ownership`.
"""

from __future__ import annotations

import dataclasses
import json

from onnx import ModelProto, helper

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from nets.katago.blocks import write_ordinary, write_pooling
from nets.katago.board import Board
from nets.katago.graph import IR_VERSION, OPSET, Graph
from nets.katago.inputs import stem_weights
from nets.katago.model import (
    AttentionBlock,
    Block,
    BottleneckBlock,
    FeedForwardBlock,
    MetadataEncoder,
    Model,
    Normed,
    OrdinaryBlock,
    PoolingBlock,
    RmsTip,
)
from nets.katago.policy_head import write_policy
from nets.katago.transformer import write_attention, write_feed_forward
from nets.katago.value_head import write_value
from nets.onnx_check import FORMAT, FORMAT_KEY, NAME_KEY, PASS_ALIVE_KEY


def to_onnx(model: Model, source_sha256: str = "") -> ModelProto:
    """Write `model` as ONNX. `source_sha256` of the file it came from is kept in the metadata.

    Raises ModelFormatError for a network whose inputs this engine cannot compute."""
    graph = Graph()
    spatial = graph.input("spatial", ["N", SPATIAL_PLANES, "H", "W"])
    global_ = graph.input("global", ["N", GLOBAL_FEATURES])
    board = Board(graph, spatial)
    trunk = _Trunk(graph, board, model.trunk.channels).write(model, spatial, global_)
    policy = write_policy(graph, board, model.policy, trunk)
    value, score, ownership = write_value(graph, board, model, trunk, global_)
    graph.output("policy", policy, ["N", "moves"])
    graph.output("value", value, ["N", 3])
    graph.output("score", score, ["N", SCORE_COLUMNS])
    graph.output("ownership", ownership, ["N", "points"])
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "network", graph.inputs, graph.outputs, graph.initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="nobi",
    )
    helper.set_model_props(
        proto,
        {
            FORMAT_KEY: FORMAT,
            NAME_KEY: model.name,
            "nobi.source": json.dumps({"katago_version": model.version, "sha256": source_sha256}),
            PASS_ALIVE_KEY: str(int(model.pass_alive_under_suicide)),
        },
    )
    return proto


class _Trunk:
    """Writes blocks one after another and changes between the layouts of convolutions and of transformers only where
    one kind follows the other."""

    def __init__(self, graph: Graph, board: Board, channels: int) -> None:
        self._graph, self._board, self._channels = graph, board, channels
        self._planes: str | None = None
        self._tokens: str | None = None
        self._count = 0

    def write(self, model: Model, spatial: str, global_: str) -> str:
        """From the inputs to what the heads read, [N, C, H, W]."""
        graph, trunk = self._graph, model.trunk
        weights, matrix = stem_weights(model)
        stem = graph.convolve(spatial, dataclasses.replace(trunk.stem, weights=weights), label="stem")
        features = graph.dense(global_, matrix, label="stem_global")
        if trunk.metadata is not None:
            features = graph.add("Add", features, _metadata(graph, trunk.metadata))
        self.start(graph.add("Add", stem, graph.per_channel(features), label="stem"))
        self.blocks(trunk.blocks, "block")
        return self._tip(trunk.tip)

    def start(self, planes: str) -> None:
        self._planes, self._tokens = planes, None

    def blocks(self, blocks: tuple[Block, ...], prefix: str) -> None:
        for number, block in enumerate(blocks):
            self._block(block, f"{prefix}{number}")

    def planes(self) -> str:
        if self._planes is None:
            assert self._tokens is not None
            self._planes = self._board.to_planes(self._tokens, self._channels)
        return self._planes

    def tokens(self) -> str:
        if self._tokens is None:
            assert self._planes is not None
            self._tokens = self._board.to_tokens(self._planes, self._channels)
        return self._tokens

    def _block(self, block: Block, label: str) -> None:
        graph = self._graph
        if isinstance(block, AttentionBlock):
            self._tokens, self._planes = write_attention(graph, self._board, block, self.tokens(), label), None
        elif isinstance(block, FeedForwardBlock):
            self._tokens, self._planes = write_feed_forward(graph, block, self.tokens(), label), None
        elif isinstance(block, OrdinaryBlock):
            self.start(write_ordinary(graph, block, self.planes(), label))
        elif isinstance(block, PoolingBlock):
            self.start(write_pooling(graph, self._board, block, self.planes(), label))
        else:
            self.start(self._bottleneck(block, self.planes(), label))

    def _bottleneck(self, block: BottleneckBlock, x: str, label: str) -> str:
        graph = self._graph
        inner = _Trunk(graph, self._board, block.narrow.outputs)
        hidden = graph.normed(x, block.before, f"{label}_before")
        inner.start(graph.convolve(hidden, block.narrow, label=f"{label}_narrow"))
        inner.blocks(block.blocks, f"{label}_")
        hidden = graph.normed(inner.planes(), block.after, f"{label}_after")
        return graph.add("Add", graph.convolve(hidden, block.widen, label=f"{label}_widen"), x, label=label)

    def _tip(self, tip: Normed | RmsTip) -> str:
        graph = self._graph
        if isinstance(tip, Normed):
            return graph.normed(self.planes(), tip, "tip")
        x = self.tokens()
        square = graph.add("Mul", x, x)
        axes = [1, 2] if tip.spatial else [2]
        mean = graph.add("ReduceMean", square, axes=axes, keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", mean, graph.scalar(tip.epsilon)))
        normed = graph.add("Mul", graph.add("Div", x, root), graph.weights(tip.gamma, "tip_gamma"))
        normed = graph.add("Add", normed, graph.weights(tip.beta, "tip_beta"))
        return self._board.to_planes(graph.activate(normed, tip.activation, "tip"), self._channels)


def _metadata(graph: Graph, encoder: MetadataEncoder) -> str:
    meta = graph.input("meta", ["N", encoder.inputs])
    hidden = graph.activate(graph.dense(meta, encoder.first, encoder.first_bias, "meta"), encoder.first_activation)
    hidden = graph.activate(graph.dense(hidden, encoder.second, encoder.second_bias, "meta"), encoder.second_activation)
    return graph.dense(hidden, encoder.third, label="meta")
