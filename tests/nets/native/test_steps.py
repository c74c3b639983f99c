"""Evaluations as steps of a fused call: what a search puts between its own kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nets.evaluator import Evaluation, EvaluationRequest
from nets.native.evaluator import NativeEvaluator
from nobi_machine.fused_call import Given, fuse
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, inputs
from tests.nets.native.networks import needs_kernels, opened
from tests.nets.random_networks import content_of

BOARDS = 4


def network(kind: str) -> NativeEvaluator:
    return opened(content_of() if kind == "convolutions" else content_of(15, [ATTENTION, FEED_FORWARD]))


def batch(height: int, width: int) -> tuple[EvaluationRequest, Evaluation]:
    """Four positions, and arrays for what is said of them."""
    spatial, global_ = (np.resize(each, (BOARDS, *each.shape[1:])) for each in inputs(height, width))
    spatial[:, 1] = np.random.default_rng(1).integers(0, 2, (BOARDS, height, width))
    request = EvaluationRequest(spatial, global_, np.linspace(0, 1, BOARDS, dtype=np.float32))
    return request, Evaluation.zeros(BOARDS, height, width)


@needs_kernels
@pytest.mark.parametrize("kind", ["convolutions", "transformer"])
def test_steps_evaluate_as_the_evaluator_does(kind: str) -> None:
    evaluator = network(kind)
    for size in ((9, 9), (5, 7), (19, 19)):
        request, own = batch(*size)
        steps = evaluator.steps(request, own, Given(0))
        assert steps is not None
        evaluate = fuse(steps.steps, 0)
        for count in range(steps.multiple, BOARDS + 1, steps.multiple):
            expected = evaluator.evaluate(EvaluationRequest(*(each[:count] for each in request[:3])))
            for each in own:
                each[:] = 7
            evaluate(count)
            for ours, theirs in zip(own, expected, strict=True):
                np.testing.assert_array_equal(ours[:count], theirs)
                assert (ours[count:] == 7).all()


@needs_kernels
def test_steps_tell_of_what_is_not_finite() -> None:
    request, own = batch(9, 9)
    steps = network("convolutions").steps(request, own, Given(0))
    assert steps is not None
    evaluate: Any = fuse(steps.steps, 0)
    evaluate(BOARDS)
    request.global_[1] = np.nan
    evaluate(1)
    with pytest.raises(FloatingPointError, match="not finite"):
        evaluate(BOARDS)


@needs_kernels
def test_no_steps_for_boards_of_a_single_line() -> None:
    assert network("convolutions").steps(*batch(1, 7), Given(0)) is None
