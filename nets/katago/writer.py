"""Writing a model in KataGo's file format, version 15: the counterpart of reader.py for what Nobi trains.

Layers follow one another as text, their weights as little-endian float32 after `@BIN@`
(https://github.com/lightvector/KataGo/blob/master/python/export_model_pytorch.py writes the same).
"""

from __future__ import annotations

import gzip

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
    PoolingBlock,
    RmsTip,
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
    scale = model.multipliers
    writer.words(TD_SCORE_MULTIPLIER, scale.score_mean, scale.score_stdev, scale.lead)
    writer.words(scale.variance_time, scale.shortterm_value_error, scale.shortterm_score_error)
    writer.words(0, int(model.pass_alive_under_suicide), *[0] * 6)
    _write_trunk(writer, model)
    _write_policy(writer, model)
    _write_value(writer, model)
    # No time stamp: the same weights are the same file.
    return gzip.compress(bytes(writer.content), mtime=0)


class _Writer:
    """Accumulates a file's content."""

    def __init__(self) -> None:
        self.content = bytearray()

    def words(self, *words: object) -> None:
        for word in words:
            self.content += f"{word}\n".encode("ascii")

    def floats(self, values: FloatArray) -> None:
        self.content += b"@BIN@" + np.ascontiguousarray(values, "<f4").tobytes() + b"\n"

    def convolution(self, name: str, layer: Convolution) -> None:
        assert layer.bias is None
        outputs, inputs, rows, columns = layer.weights.shape
        self.words(name, rows, columns, inputs, outputs, *layer.dilation)
        self.floats(layer.weights.transpose(2, 3, 1, 0))

    def norm(self, name: str, norm: Normed) -> None:
        self.words(name, norm.channels, EPSILON, 1, 1)
        zeros, ones = np.zeros_like(norm.bias), np.ones_like(norm.bias)
        for values in (zeros, ones, norm.scale, norm.bias):
            self.floats(values)
        self.activation(f"{name}/activation", norm.activation)

    def rms_tip(self, name: str, tip: RmsTip) -> None:
        self.words(name, len(tip.gamma), tip.epsilon, int(tip.spatial), 0)
        self.floats(tip.gamma)
        self.floats(tip.beta)
        self.activation(f"{name}/activation", tip.activation)

    def rms_norm(self, name: str, weights: FloatArray, epsilon: float) -> None:
        self.words(name, len(weights), epsilon)
        self.floats(weights)

    def activation(self, name: str, activation: Activation) -> None:
        self.words(name, activation.value)

    def matrix(self, name: str, matrix: FloatArray) -> None:
        self.words(name, *matrix.shape)
        self.floats(matrix)

    def vector(self, name: str, vector: FloatArray) -> None:
        self.words(name, len(vector))
        self.floats(vector)


def _write_trunk(writer: _Writer, model: Model) -> None:
    trunk = model.trunk
    pooling = [block for block in trunk.blocks if isinstance(block, PoolingBlock)]
    regular = pooling[0].first.outputs if pooling else trunk.channels
    pooled = pooling[0].pooled.outputs if pooling else trunk.channels  # KataGo wants a number, even where none pools
    has_rms_tip = isinstance(trunk.tip, RmsTip)
    writer.words("trunk", len(trunk.blocks), trunk.channels, trunk.channels, regular, 0, pooled)
    writer.words(int(has_rms_tip), *[0] * 5)
    writer.convolution("trunk/stem", trunk.stem)
    writer.matrix("trunk/stem_global", trunk.stem_global)
    for number, block in enumerate(trunk.blocks):
        _write_block(writer, f"trunk/block{number}", block)
    if isinstance(trunk.tip, RmsTip):
        writer.rms_tip("trunk/tip", trunk.tip)
    else:
        writer.norm("trunk/tip", trunk.tip)


def _write_block(writer: _Writer, name: str, block: Block) -> None:
    writer.words(KINDS[type(block)], name)
    if isinstance(block, AttentionBlock):
        _write_attention(writer, name, block)
    elif isinstance(block, FeedForwardBlock):
        hidden, channels = block.second.shape
        writer.words(channels, hidden, int(block.gate is not None))
        writer.rms_norm(f"{name}/norm", block.norm, block.epsilon)
        for part, matrix in (("first", block.first), ("gate", block.gate), ("second", block.second)):
            if matrix is not None:
                writer.matrix(f"{name}/{part}", matrix)
    elif isinstance(block, BottleneckBlock):
        writer.words(len(block.blocks))
        writer.norm(f"{name}/before", block.before)
        writer.convolution(f"{name}/narrow", block.narrow)
        for number, inner in enumerate(block.blocks):
            _write_block(writer, f"{name}/block{number}", inner)
        writer.norm(f"{name}/after", block.after)
        writer.convolution(f"{name}/widen", block.widen)
    else:
        writer.norm(f"{name}/before", block.before)
        writer.convolution(f"{name}/first", block.first)
        if isinstance(block, PoolingBlock):
            writer.convolution(f"{name}/pooled", block.pooled)
            writer.norm(f"{name}/pooled_norm", block.pooled_norm)
            writer.matrix(f"{name}/pooled_to_bias", block.pooled_to_bias)
        writer.norm(f"{name}/between", block.between)
        writer.convolution(f"{name}/second", block.second)


def _write_attention(writer: _Writer, name: str, block: AttentionBlock) -> None:
    has_rope = int(block.rope is not None)
    writer.words(block.heads, block.kv_heads, block.query_dimension, block.value_dimension, has_rope, has_rope)
    writer.rms_norm(f"{name}/norm", block.norm, block.epsilon)
    for part in ("query", "key", "value", "output"):
        writer.matrix(f"{name}/{part}", getattr(block, part))
    if block.rope is not None:
        frequencies = np.broadcast_to(block.rope.frequencies, (block.kv_heads, *block.rope.frequencies.shape[1:]))
        writer.words(f"{name}/frequencies", *frequencies.shape)
        writer.floats(frequencies)


def _write_policy(writer: _Writer, model: Model) -> None:
    head = model.policy
    assert head.pass_bias is not None
    assert head.pass_activation is not None
    assert head.pass_second is not None
    writer.words("policy")
    writer.convolution("policy/first", head.first)
    writer.convolution("policy/pooled", head.pooled)
    writer.norm("policy/pooled_norm", head.pooled_norm)
    writer.matrix("policy/pooled_to_bias", head.pooled_to_bias)
    writer.norm("policy/first_norm", head.first_norm)
    writer.convolution("policy/second", head.second)
    writer.matrix("policy/pass_first", head.pass_first)
    writer.vector("policy/pass_bias", head.pass_bias)
    writer.activation("policy/pass_activation", head.pass_activation)
    writer.matrix("policy/pass_second", head.pass_second)


def _write_value(writer: _Writer, model: Model) -> None:
    head = model.value
    writer.words("value")
    writer.convolution("value/first", head.first)
    writer.norm("value/norm", head.norm)
    writer.matrix("value/hidden", head.hidden)
    writer.vector("value/hidden_bias", head.hidden_bias)
    writer.activation("value/hidden_activation", head.hidden_activation)
    writer.matrix("value/value", head.value)
    writer.vector("value/value_bias", head.value_bias)
    writer.matrix("value/score", head.score)
    writer.vector("value/score_bias", head.score_bias)
    writer.convolution("value/ownership", head.ownership)
