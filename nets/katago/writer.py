"""Writing a model in KataGo's file format, version 15: the counterpart of reader.py for what Nobi trains.

Layers follow one another as text, their weights as little-endian float32 after `@BIN@`
(https://github.com/lightvector/KataGo/blob/master/python/export_model_pytorch.py writes the same).
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import astuple, fields

import numpy as np

from nets.katago.model import (
    Activation,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    RmsTip,
    Trunk,
    ValueHead,
)

VERSION = 15
"""KataGo's oldest version with a hidden layer for the pass; it has an optimistic policy and all six scores."""
EPSILON = 1e-20
"""What norms add to their variance, which is written as 1."""
KINDS: dict[type[Block], str] = {
    OrdinaryBlock: "ordinary_block",
    PoolingBlock: "gpool_block",
    BottleneckBlock: "nested_bottleneck_block",
    AttentionBlock: "transformer_attention_block",
    FeedForwardBlock: "transformer_ffn_block",
}
TD_SCORE_MULTIPLIER = 20.0
"""A scale of training targets: the format has it, and no engine reads it."""


def encode_model(model: Model) -> bytes:
    """Return the content of a `.bin.gz` file.

    `model` must be of version 15, without metadata.
    """
    writer = _Writer()
    writer.words(model.name, model.version, model.spatial_inputs, model.global_inputs)
    writer.words(TD_SCORE_MULTIPLIER, *astuple(model.multipliers))
    writer.words(0, int(model.pass_alive_under_suicide), *[0] * 6)
    writer.trunk(model.trunk)
    writer.words("policy")
    writer.layers("policy", model.policy)
    writer.words("value")
    writer.layers("value", model.value)
    # No time stamp: the same weights are the same file.
    return gzip.compress(bytes(writer.content), mtime=0)


class _Writer:
    """Accumulates a file's content."""

    def __init__(self) -> None:
        self.content = bytearray()

    def words(self, *words: object) -> None:
        for word in words:
            self.content += f"{word}\n".encode("ascii")

    def floats(self, *arrays: FloatArray) -> None:
        for values in arrays:
            self.content += b"@BIN@" + np.ascontiguousarray(values, "<f4").tobytes() + b"\n"

    def trunk(self, trunk: Trunk) -> None:
        pooling = [block for block in trunk.blocks if isinstance(block, PoolingBlock)]
        regular = pooling[0].first.outputs if pooling else trunk.channels
        pooled = pooling[0].pooled.outputs if pooling else trunk.channels  # KataGo wants a number where none pools, too
        self.words("trunk", len(trunk.blocks), trunk.channels, trunk.channels, regular, 0, pooled)
        self.words(int(isinstance(trunk.tip, RmsTip)), *[0] * 5)
        self.layer("trunk/stem", trunk.stem)
        self.layer("trunk/stem_global", trunk.stem_global)
        self.blocks("trunk", trunk.blocks)
        self.layer("trunk/tip", trunk.tip)

    def blocks(self, name: str, blocks: Sequence[Block]) -> None:
        for number, block in enumerate(blocks):
            self.words(KINDS[type(block)], f"{name}/block{number}")
            self.block(f"{name}/block{number}", block)

    def block(self, name: str, block: Block) -> None:
        if isinstance(block, AttentionBlock):
            has_rope = int(block.rope is not None)
            self.words(block.heads, block.kv_heads, block.query_dimension, block.value_dimension, has_rope, has_rope)
            self.rms_norm(f"{name}/norm", block.norm, block.epsilon)
            for part in ("query", "key", "value", "output"):
                self.layer(f"{name}/{part}", getattr(block, part))
            if block.rope is not None:
                frequencies = np.broadcast_to(block.rope, (block.kv_heads, *block.rope.shape[1:]))
                self.layer(f"{name}/frequencies", frequencies)
        elif isinstance(block, FeedForwardBlock):
            hidden, channels = block.second.shape
            self.words(channels, hidden, int(block.gate is not None))
            self.rms_norm(f"{name}/norm", block.norm, block.epsilon)
            for part in ("first", "second") if block.gate is None else ("first", "gate", "second"):
                self.layer(f"{name}/{part}", getattr(block, part))
        elif isinstance(block, BottleneckBlock):
            self.words(len(block.blocks))
            self.layer(f"{name}/before", block.before)
            self.layer(f"{name}/narrow", block.narrow)
            self.blocks(name, block.blocks)
            self.layer(f"{name}/after", block.after)
            self.layer(f"{name}/widen", block.widen)
        else:
            self.layers(name, block)

    def layers(self, name: str, part: OrdinaryBlock | PoolingBlock | PolicyHead | ValueHead) -> None:
        """Write layers that have the same order in the file as in the model."""
        for field in fields(part):
            self.layer(f"{name}/{field.name}", getattr(part, field.name))

    def layer(self, name: str, layer: Convolution | Normed | RmsTip | Activation | FloatArray) -> None:
        if isinstance(layer, Convolution):
            assert layer.bias is None
            outputs, inputs, rows, columns = layer.weights.shape
            self.words(name, rows, columns, inputs, outputs, *layer.dilation)
            self.floats(layer.weights.transpose(2, 3, 1, 0))
        elif isinstance(layer, Normed):
            self.words(name, layer.channels, EPSILON, 1, 1)
            self.floats(np.zeros_like(layer.bias), np.ones_like(layer.bias), layer.scale, layer.bias)
            self.layer(f"{name}/activation", layer.activation)
        elif isinstance(layer, RmsTip):
            self.words(name, len(layer.gamma), layer.epsilon, int(layer.spatial), 0)
            self.floats(layer.gamma, layer.beta)
            self.layer(f"{name}/activation", layer.activation)
        elif isinstance(layer, Activation):
            self.words(name, layer.value)
        else:
            self.words(name, *layer.shape)
            self.floats(layer)

    def rms_norm(self, name: str, weights: FloatArray, epsilon: float) -> None:
        self.words(name, len(weights), epsilon)
        self.floats(weights)
