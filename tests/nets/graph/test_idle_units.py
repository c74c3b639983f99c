"""Hidden units that add nothing are left out, and the network says what it said."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest
from nets.graph.convert import to_onnx
from nets.graph.evaluator import OnnxEvaluator
from nets.graph.prepare import prepared, without_idle_units
from nets.katago.model import BottleneckBlock, FeedForwardBlock, Model
from nets.katago.reader import LEAST_WEIGHT, parse_model
from tests.nets.graph.test_fold import model_of
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, inputs
from tests.nets.random_networks import made


def with_idle(model: Model, idle: list[int]) -> Model:
    """The model with a factor of these units' outputs 0: in turns the first, the gate, or what reads them."""

    def change(block: object) -> object:
        if isinstance(block, BottleneckBlock):
            return dataclasses.replace(block, blocks=tuple(change(each) for each in block.blocks))
        if not isinstance(block, FeedForwardBlock):
            return block
        first, second = block.first.copy(), block.second.copy()
        gate = None if block.gate is None else block.gate.copy()
        first[:, idle[0::3]] = 0
        second[idle[1::3]] = 0
        (first if gate is None else gate)[:, idle[2::3]] = 0
        return dataclasses.replace(block, first=first, gate=gate, second=second)

    blocks = tuple(change(block) for block in model.trunk.blocks)
    return dataclasses.replace(model, trunk=dataclasses.replace(model.trunk, blocks=blocks))


def feeds(model: Model) -> list[FeedForwardBlock]:
    inside = [block.blocks if isinstance(block, BottleneckBlock) else (block,) for block in model.trunk.blocks]
    return [block for blocks in inside for block in blocks if isinstance(block, FeedForwardBlock)]


@pytest.mark.parametrize("gated", [0, 1])
def test_idle_units_are_left_out(gated: int) -> None:
    feed = {**FEED_FORWARD, "gated": gated}
    model = model_of(ATTENTION, feed, {**NESTED, "inner": (ATTENTION, feed)}, version=15)
    units = len(feeds(model)[0].second)
    worn = with_idle(model, [0, 1, 2, 3, 5])
    thinned = without_idle_units(worn)
    assert [len(block.second) for block in feeds(thinned)] == [units - 5] * len(feeds(model))
    spatial, global_ = inputs(7, 9)
    request = EvaluationRequest(spatial, global_)
    truth = OnnxEvaluator(to_onnx(worn).SerializeToString(), "whole").evaluate(request)
    ours = OnnxEvaluator(to_onnx(prepared(worn)).SerializeToString(), "thinned").evaluate(request)
    for one, other in zip(ours, truth, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_one_unit_is_left() -> None:
    model = model_of(FEED_FORWARD, version=15)
    units = len(feeds(model)[0].second)
    assert [len(block.second) for block in feeds(without_idle_units(with_idle(model, list(range(units)))))] == [1]


def test_worn_weights_are_read_as_zero() -> None:
    """Numbers that are not normal in float32 would slow every product down."""
    content = bytearray(made(15, [FEED_FORWARD])[0].content)
    first = feeds(parse_model(bytes(content)))[0].first
    at = content.index(first.astype("<f4").tobytes())
    worn = np.full(first.shape, 0.5 * LEAST_WEIGHT, "<f4")
    worn[0, 0], worn[1, 1], worn[2, 2] = 1e-40, -1e-40, 2 * LEAST_WEIGHT
    content[at : at + worn.nbytes] = worn.tobytes()
    read = feeds(parse_model(bytes(content)))[0].first
    assert read[2, 2] == np.float32(2 * LEAST_WEIGHT)
    read[2, 2] = 0
    assert not read.any()
