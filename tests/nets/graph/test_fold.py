"""Folding norms leaves a network what it is, those included that have norms which cannot be folded."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest
from nets.graph.convert import to_onnx
from nets.graph.evaluator import OnnxEvaluator
from nets.graph.prepare import fold_norms
from nets.katago.model import Activation, BottleneckBlock, Model, Normed, OrdinaryBlock, PoolingBlock
from nets.katago.reader import decompress, parse_model
from tests.nets.graph.test_katago_networks import ATTENTION, NESTED, ORDINARY, POOLING, inputs
from tests.nets.random_networks import content_of


def model_of(*blocks: dict[str, object], version: int = 14, activation: str = "RELU") -> Model:
    return parse_model(decompress(content_of(version, list(blocks), activation=f"ACTIVATION_{activation}")))


def with_norm(model: Model, number: int, scale: float, bias: float) -> Model:
    """The model with one channel of a block's first norm changed."""
    block = model.trunk.blocks[number]
    assert isinstance(block, (OrdinaryBlock, PoolingBlock))
    before = block.before
    scales, biases = before.scale.copy(), before.bias.copy()
    scales[1], biases[1] = scale, bias
    changed = dataclasses.replace(block, before=Normed(scales, biases, before.activation))
    blocks = (*model.trunk.blocks[:number], changed, *model.trunk.blocks[number + 1 :])
    return dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, blocks=blocks))


def assert_folds(model: Model) -> None:
    spatial, global_ = inputs(7, 9)
    plain = OnnxEvaluator(to_onnx(model).SerializeToString(), "plain").evaluate(EvaluationRequest(spatial, global_))
    folded = OnnxEvaluator(to_onnx(fold_norms(model)).SerializeToString(), "folded")
    for ours, truth in zip(folded.evaluate(EvaluationRequest(spatial, global_)), plain, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-3, atol=1e-4)


def norms(model: Model) -> list[Normed]:
    return [block.before for block in model.trunk.blocks if isinstance(block, (OrdinaryBlock, PoolingBlock))]


def test_all_norms_fold() -> None:
    model = model_of(ORDINARY, POOLING, NESTED, ORDINARY)
    assert all(norm.is_identity for norm in norms(fold_norms(model)))
    assert_folds(model)


@pytest.mark.parametrize(("scale", "bias"), [(-0.5, 0.3), (0.0, 0.3), (0.02, 50.0)])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_norms_that_cannot_be_folded(number: int, scale: float, bias: float) -> None:
    model = with_norm(model_of(ORDINARY, POOLING, ORDINARY), number, scale, bias)
    assert [norm.is_identity for norm in norms(fold_norms(model))] == [i != number for i in range(3)]
    assert_folds(model)


def test_other_activations_fold_where_the_scale_is_one() -> None:
    model = model_of(ORDINARY, ORDINARY, activation="MISH")
    assert not any(norm.is_identity for norm in norms(fold_norms(model)))
    block = model.trunk.blocks[1]
    assert isinstance(block, OrdinaryBlock)
    assert block.before.activation is Activation.MISH
    before = dataclasses.replace(block.before, scale=np.ones_like(block.before.scale))
    blocks = (model.trunk.blocks[0], dataclasses.replace(block, before=before))
    model = dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, blocks=blocks))
    assert [norm.is_identity for norm in norms(fold_norms(model))] == [False, True]
    assert_folds(model)


def test_beside_transformers_only_norms_inside_blocks_are_folded() -> None:
    """What reads a stream that transformer blocks read too stays as it is."""
    inside = {"kind": "nested_bottleneck_block", "inner": ("transformer_ffn_block", "ordinary_block")}
    model = model_of(ORDINARY, ATTENTION, inside, version=17)
    folded = fold_norms(model)
    first, attention, bottleneck = folded.trunk.blocks
    assert isinstance(first, OrdinaryBlock)
    assert isinstance(bottleneck, BottleneckBlock)
    last = bottleneck.blocks[1]
    assert isinstance(last, OrdinaryBlock)
    for block in (first, last):
        assert block.between.is_identity
        assert not block.before.is_identity
    assert not bottleneck.before.is_identity
    assert attention is model.trunk.blocks[1]
    assert folded.trunk.tip is model.trunk.tip
