"""Having the kernels of networks in int16 compiled before there is a network: a tiny one of zeros calls them all."""

from __future__ import annotations

import numpy as np

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.katago.model import (
    Activation,
    Convolution,
    FloatArray,
    Model,
    Multipliers,
    Normed,
    OrdinaryBlock,
    PolicyHead,
    Trunk,
    ValueHead,
)
from nets.native.evaluator import NativeEvaluator
from nets.native.objections import objection_to_packing
from nets.native.pack import pack

SIDE = 5
VERSION = 8
SCORES = 4
"""Outputs of the score head in that version."""


def compile_kernels() -> None:
    """Those of networks whose only activation is ReLU; nothing where this processor has none."""
    model = _tiny()
    if objection_to_packing(model):
        return
    one = np.ones(1, np.float32)
    packed = pack(model, {"block0_before": one, "block0_between": one, "tip": one})
    evaluator = NativeEvaluator(model, packed, model.name, lambda: evaluator)
    planes = np.zeros((1, SPATIAL_PLANES, SIDE, SIDE), np.float32)
    evaluator.evaluate(planes, np.zeros((1, GLOBAL_FEATURES), np.float32))


def _tiny() -> Model:
    """A network of one channel."""
    norm = Normed(_zeros(1), _zeros(1), Activation.RELU)
    block = OrdinaryBlock(norm, _convolution(1, 3), norm, _convolution(1, 3))
    trunk = Trunk(_convolution(SPATIAL_PLANES, 3), _zeros(GLOBAL_FEATURES, 1), None, (block,), norm)
    point, pool = _convolution(1, 1), _zeros(3, 1)
    policy = PolicyHead(point, point, norm, pool, norm, point, pool, None, None, None)
    outputs = _zeros(1, 3), _zeros(3), _zeros(1, SCORES), _zeros(SCORES)
    value = ValueHead(point, norm, pool, _zeros(1), Activation.RELU, *outputs, point)
    return Model("zeros", VERSION, SPATIAL_PLANES, GLOBAL_FEATURES, Multipliers(), False, trunk, policy, value)


def _convolution(inputs: int, side: int) -> Convolution:
    return Convolution(_zeros(1, inputs, side, side), (1, 1))


def _zeros(*shape: int) -> FloatArray:
    return np.zeros(shape, np.float32)
