"""Export of a student as a KataGo model, which the converter, the quantizer and KataGo itself can read."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.katago.model import (
    Activation,
    AttentionBlock,
    Block,
    BottleneckBlock,
    Convolution,
    FeedForwardBlock,
    FloatArray,
    Model,
    Multipliers,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    PoolingBlock,
    Rope,
    Trunk,
    ValueHead,
)
from nets.katago.writer import VERSION
from training.student import attention
from training.student import blocks as student_blocks
from training.student.layers import Norm
from training.student.network import OPTIMISTIC, PLAIN, Student


def to_model(student: Student, name: str, has_optimistic: bool, pass_alive_under_suicide: bool = False) -> Model:
    """Convert a student to a model of KataGo's version 15.

    `has_optimistic` says whether it learned an optimistic policy; if not, the plain one takes its place.
    `pass_alive_under_suicide` says how its area features count pass-alive groups.
    """
    trunk = Trunk(
        stem=_convolution(student.stem),
        stem_global=_matrix(student.stem_global),
        metadata=None,
        blocks=tuple(_block(block) for block in student.blocks),
        tip=_normed(student.tip),
    )
    return Model(
        name=name,
        version=VERSION,
        spatial_inputs=SPATIAL_PLANES,
        global_inputs=GLOBAL_FEATURES,
        multipliers=Multipliers(),
        pass_alive_under_suicide=pass_alive_under_suicide,
        trunk=trunk,
        policy=_policy(student, [PLAIN, OPTIMISTIC if has_optimistic else PLAIN]),
        value=_value(student),
    )


def _block(block: nn.Module) -> Block:
    if isinstance(block, attention.AttentionBlock):
        return AttentionBlock(
            heads=block.heads,
            kv_heads=block.heads,
            norm=_array(block.norm),
            epsilon=attention.EPSILON,
            query=_matrix(block.query),
            key=_matrix(block.key),
            value=_matrix(block.value),
            output=_matrix(block.second),
            rope=Rope(_array(block.frequencies)),
        )
    if isinstance(block, attention.FeedForwardBlock):
        return FeedForwardBlock(
            norm=_array(block.norm),
            epsilon=attention.EPSILON,
            first=_matrix(block.first),
            gate=_matrix(block.gate),
            second=_matrix(block.second),
        )
    if isinstance(block, student_blocks.BottleneckBlock):
        return BottleneckBlock(
            before=_normed(block.before),
            narrow=_convolution(block.narrow),
            blocks=tuple(_block(inner) for inner in block.blocks),
            after=_normed(block.after),
            widen=_convolution(block.second),
        )
    if isinstance(block, student_blocks.PlainBlock):
        return OrdinaryBlock(
            before=_normed(block.before),
            first=_convolution(block.first),
            between=_normed(block.between),
            second=_convolution(block.second),
        )
    assert isinstance(block, student_blocks.PoolingBlock)
    return PoolingBlock(
        before=_normed(block.before),
        first=_convolution(block.first),
        pooled=_convolution(block.pooled),
        pooled_norm=_normed(block.pooled_norm),
        pooled_to_bias=_matrix(block.to_bias),
        between=_normed(block.between),
        second=_convolution(block.second),
    )


def _policy(student: Student, channels: list[int]) -> PolicyHead:
    head = student.policy
    second = _convolution(head.second)
    return PolicyHead(
        first=_convolution(head.first),
        pooled=_convolution(head.pooled),
        pooled_norm=_normed(head.pooled_norm),
        pooled_to_bias=_matrix(head.to_bias),
        first_norm=_normed(head.first_norm),
        second=Convolution(second.weights[channels], second.dilation),
        pass_first=_matrix(head.pass_first),
        pass_bias=_array(head.pass_first.bias),
        pass_activation=_activation(student),
        pass_second=_matrix(head.pass_second)[:, channels],
    )


def _value(student: Student) -> ValueHead:
    head = student.value
    return ValueHead(
        first=_convolution(head.first),
        norm=_normed(head.norm),
        hidden=_matrix(head.hidden),
        hidden_bias=_array(head.hidden.bias),
        hidden_activation=_activation(student),
        value=_matrix(head.value),
        value_bias=_array(head.value.bias),
        score=_matrix(head.score),
        score_bias=_array(head.score.bias),
        ownership=_convolution(head.ownership),
    )


def _normed(norm: Norm) -> Normed:
    """Return a norm as it is without a batch, by its running statistics."""
    scale, bias = norm.folded()
    bias_array = _array(bias)
    return Normed(np.ones_like(bias_array) if scale is None else _array(scale), bias_array, _named(norm.activation))


def _activation(student: Student) -> Activation:
    return _named(student.config.activation)


def _named(activation: str) -> Activation:
    return Activation[activation.upper()]


def _convolution(layer: nn.Conv2d) -> Convolution:
    return Convolution(_array(layer.weight), (1, 1))


def _array(parameter: Tensor | None) -> FloatArray:
    assert parameter is not None
    return np.ascontiguousarray(parameter.detach().float().cpu().numpy())


def _matrix(layer: nn.Linear) -> FloatArray:
    """Return the weights of a layer as a matrix [in, out]."""
    return np.ascontiguousarray(_array(layer.weight).T)
