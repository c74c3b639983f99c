"""Restoring a student from a network file, to go on training it: the inverse of training/student/export.py.

A file has what an engine needs. The soft policy and the reply are not in it: the soft policy begins as the policy at
its temperature, and the reply begins with zeros.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

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
    PoolingBlock,
)
from nets.katago.writer import VERSION, encode_model
from search.parameters import ParameterError
from training.config import NetworkConfig
from training.errors import TrainingError
from training.student.equivariance import Ties, can_be_equivariant
from training.student.export import to_model
from training.student.layers import Norm
from training.student.losses import SOFT_TEMPERATURE
from training.student.network import OPTIMISTIC, PLAIN, REPLY, SOFT, Student

FOREIGN = "not a network that Nobi's training wrote; only those can be trained on"


def shape_of(model: Model) -> NetworkConfig:
    """Return the configuration of a student that has the shape of `model`: batch norm comes back as fixed scales.
    Raises TrainingError where none has."""
    blocks, tip = model.trunk.blocks, model.trunk.tip
    is_ours = model.version == VERSION and model.trunk.metadata is None
    if not (is_ours and isinstance(tip, Normed) and tip.activation is not Activation.IDENTITY):
        raise TrainingError(f"{model.name}: {FOREIGN}")
    attention = [block for block in blocks if isinstance(block, AttentionBlock)]
    others = [block for block in blocks if not isinstance(block, AttentionBlock | FeedForwardBlock)]
    if not others:
        raise TrainingError(f"{model.name}: {FOREIGN}")
    bottleneck = others[0].narrow.outputs if isinstance(others[0], BottleneckBlock) else 0
    inner = [block.blocks[0] if isinstance(block, BottleneckBlock) else block for block in others]
    pooling = [block for block in inner if isinstance(block, PoolingBlock)]
    try:
        return NetworkConfig(
            blocks=len(others),
            channels=model.trunk.channels,
            pooling_every=inner.index(pooling[0]) + 1 if pooling else 0,
            pooled_channels=pooling[0].pooled.outputs if pooling else NetworkConfig().pooled_channels,
            policy_channels=model.policy.first.outputs,
            value_channels=model.value.first.outputs,
            value_hidden=model.value.hidden.shape[1],
            bottleneck=bottleneck,
            attention_every=blocks.index(attention[0]) if attention else 0,
            attention_heads=attention[0].heads if attention else NetworkConfig().attention_heads,
            norm="none" if (tip.scale == 1.0).all() else "fixed",
            activation=tip.activation.name.lower(),
        )
    except ParameterError:  # more or less of something than a student can have
        raise TrainingError(f"{model.name}: {FOREIGN}") from None


def restore(model: Model) -> Student:
    """Return a student with the shape and the weights of `model`. Raises TrainingError where none can have them."""
    student = Student(shape_of(model))
    load_weights(student, model)
    if can_be_equivariant(student.config) and Ties(student).hold(student):
        student.config = replace(student.config, equivariant=True)
    return student


@torch.no_grad()
def load_weights(student: Student, model: Model) -> None:
    """Copy a model's weights to a student of the shape `shape_of(model)`. Raises TrainingError where the model has
    anything that a student has no place for."""
    try:
        _load_trunk(student, model)
        _load_policy(student, model)
        _load_value(student, model)
    except (RuntimeError, AttributeError, ValueError):
        raise TrainingError(f"{model.name}: {FOREIGN}") from None
    again = to_model(student, model.name, True, model.pass_alive_under_suicide)
    if encode_model(again) != encode_model(model):
        raise TrainingError(f"{model.name}: {FOREIGN}")


def _load_trunk(student: Student, model: Model) -> None:
    trunk = model.trunk
    assert isinstance(trunk.tip, Normed)
    _convolution(student.stem, trunk.stem)
    _matrix(student.stem_global, trunk.stem_global)
    _norm(student.tip, trunk.tip)
    for layer, block in zip(student.blocks, trunk.blocks, strict=True):
        _load_block(layer, block)


def _load_block(layer: nn.Module, block: Block) -> None:
    """Copy a block. Raises AttributeError, RuntimeError or ValueError where the layer is of another kind or shape."""
    if isinstance(block, AttentionBlock | FeedForwardBlock):
        _load_transformer(layer, block)
        return
    _norm(layer.before, block.before)
    if isinstance(block, BottleneckBlock):
        _convolution(layer.narrow, block.narrow)
        for inner_layer, inner in zip(layer.blocks, block.blocks, strict=True):
            _load_block(inner_layer, inner)
        _norm(layer.after, block.after)
        _convolution(layer.second, block.widen)
        return
    _convolution(layer.first, block.first)
    _norm(layer.between, block.between)
    _convolution(layer.second, block.second)
    if isinstance(block, PoolingBlock):
        _convolution(layer.pooled, block.pooled)
        _norm(layer.pooled_norm, block.pooled_norm)
        _matrix(layer.to_bias, block.pooled_to_bias)


def _load_transformer(layer: nn.Module, block: AttentionBlock | FeedForwardBlock) -> None:
    _set(layer.norm, block.norm)
    if isinstance(block, FeedForwardBlock):
        parts = ((layer.first, block.first), (layer.gate, block.gate), (layer.second, block.second))
    else:
        if block.rope is None:
            raise ValueError("a student's attention knows where points are")
        _set(layer.frequencies, block.rope.frequencies)
        parts = ((layer.query, block.query), (layer.key, block.key), (layer.value, block.value))
        _matrix(layer.second, block.output)
    for matrix, source in parts:
        if source is None:
            raise ValueError("a student's feed-forward blocks have gates")
        _matrix(matrix, source)


def _load_policy(student: Student, model: Model) -> None:
    head, source = student.policy, model.policy
    _convolution(head.first, source.first)
    _norm(head.first_norm, source.first_norm)
    _convolution(head.pooled, source.pooled)
    _norm(head.pooled_norm, source.pooled_norm)
    _matrix(head.to_bias, source.pooled_to_bias)
    _matrix(head.pass_first, source.pass_first)
    _set(head.pass_first.bias, source.pass_bias)
    for layer, weights in (
        (head.second, torch.from_numpy(source.second.weights)),
        (head.pass_second, torch.from_numpy(source.pass_second).T),
    ):
        layer.weight[[PLAIN, OPTIMISTIC]] = weights.to(layer.weight)
        layer.weight[SOFT] = layer.weight[PLAIN] / SOFT_TEMPERATURE
        layer.weight[REPLY] = 0.0


def _load_value(student: Student, model: Model) -> None:
    head, source = student.value, model.value
    _convolution(head.first, source.first)
    _norm(head.norm, source.norm)
    _convolution(head.ownership, source.ownership)
    for layer, matrix, bias in (
        (head.hidden, source.hidden, source.hidden_bias),
        (head.value, source.value, source.value_bias),
        (head.score, source.score, source.score_bias),
    ):
        _matrix(layer, matrix)
        _set(layer.bias, bias)


def _convolution(layer: nn.Conv2d, source: Convolution) -> None:
    _set(layer.weight, source.weights)


def _norm(layer: Norm, source: Normed) -> None:
    _set(layer.bias, source.bias)
    if layer.scale is not None:
        _set(layer.scale, source.scale)


def _matrix(layer: nn.Linear, matrix: FloatArray) -> None:
    """Copy a matrix [in, out]."""
    _set(layer.weight, matrix.T)


def _set(parameter: Tensor | None, values: FloatArray | None) -> None:
    """Copy values. Raises RuntimeError where they have another shape."""
    assert parameter is not None
    assert values is not None
    source = torch.from_numpy(values.copy())
    if source.shape != parameter.shape:
        raise RuntimeError("another shape")
    parameter.copy_(source)
