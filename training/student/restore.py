"""Restoring a student from a network file, to go on training it: the inverse of training/student/export.py.

A file has what an engine needs. The soft policy and the reply are not in it: the soft policy begins as the policy at
its temperature, and the reply begins with zeros.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nets.katago.model import Convolution, FloatArray, Model, Normed, OrdinaryBlock, PoolingBlock
from nets.katago.writer import VERSION, encode_model
from training.config import NetworkConfig
from training.errors import TrainingError
from training.student.export import to_model
from training.student.losses import SOFT_TEMPERATURE
from training.student.network import OPTIMISTIC, PLAIN, REPLY, SOFT, Student

FOREIGN = "not a network that Nobi's training wrote; only those can be trained on"


def shape_of(model: Model) -> NetworkConfig:
    """Return the configuration of a student that has the shape of `model`. Raises TrainingError where none has."""
    blocks = model.trunk.blocks
    kinds = [type(block) for block in blocks]
    tip_is_norm, is_ours = isinstance(model.trunk.tip, Normed), set(kinds) <= {OrdinaryBlock, PoolingBlock}
    if not (model.version == VERSION and is_ours and tip_is_norm and model.trunk.metadata is None):
        raise TrainingError(f"{model.name}: {FOREIGN}")
    pooling = [block for block in blocks if isinstance(block, PoolingBlock)]
    every = kinds.index(PoolingBlock) + 1 if pooling else 0
    return NetworkConfig(
        blocks=len(blocks),
        channels=model.trunk.channels,
        pooling_every=every,
        pooled_channels=pooling[0].pooled.outputs if pooling else NetworkConfig().pooled_channels,
        policy_channels=model.policy.first.outputs,
        value_channels=model.value.first.outputs,
        value_hidden=model.value.hidden.shape[1],
    )


@torch.no_grad()
def load_weights(student: Student, model: Model) -> None:
    """Copy a model's weights to a student of the shape `shape_of(model)`. Raises TrainingError where the model has
    anything that a student has no place for."""
    try:
        _load_trunk(student, model)
        _load_policy(student, model)
        _load_value(student, model)
    except (RuntimeError, AttributeError):
        raise TrainingError(f"{model.name}: {FOREIGN}") from None
    again = to_model(student, model.name, True, model.pass_alive_under_suicide)
    if encode_model(again) != encode_model(model):
        raise TrainingError(f"{model.name}: {FOREIGN}")


def _load_trunk(student: Student, model: Model) -> None:
    trunk = model.trunk
    assert isinstance(trunk.tip, Normed)
    _convolution(student.stem, trunk.stem)
    _matrix(student.stem_global, trunk.stem_global)
    _set(student.shift, trunk.tip.bias)
    for layer, block in zip(student.blocks, trunk.blocks, strict=True):
        assert isinstance(block, (OrdinaryBlock, PoolingBlock))
        _set(layer.shift, block.before.bias)
        _convolution(layer.first, block.first, block.between)
        _convolution(layer.second, block.second)
        if isinstance(block, PoolingBlock):
            _convolution(layer.pooled, block.pooled, block.pooled_norm)
            _matrix(layer.to_bias, block.pooled_to_bias)


def _load_policy(student: Student, model: Model) -> None:
    head, source = student.policy, model.policy
    _convolution(head.first, source.first, source.first_norm)
    _convolution(head.pooled, source.pooled, source.pooled_norm)
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
    _convolution(head.first, source.first, source.norm)
    _convolution(head.ownership, source.ownership)
    for layer, matrix, bias in (
        (head.hidden, source.hidden, source.hidden_bias),
        (head.value, source.value, source.value_bias),
        (head.score, source.score, source.score_bias),
    ):
        _matrix(layer, matrix)
        _set(layer.bias, bias)


def _convolution(layer: nn.Conv2d, source: Convolution, norm: Normed | None = None) -> None:
    """Copy a convolution and, as its bias, the bias of the norm behind it."""
    _set(layer.weight, source.weights)
    if norm is not None:
        _set(layer.bias, norm.bias)


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
