"""Evaluations in guarded memory (guarded.py); by real networks on more boards it is make campaign-kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nets.evaluator import EvaluationRequest
from nets.native.evaluator import NativeEvaluator
from tests.nets.graph.test_katago_networks import ATTENTION, FEED_FORWARD, NESTED, ORDINARY, POOLING, inputs
from tests.nets.native import guarded
from tests.nets.native.networks import needs_kernels, nested, opened
from tests.nets.random_networks import content_of

pytestmark = pytest.mark.usefixtures("own_networks")

TRUNKS: dict[str, list[dict[str, Any]]] = {
    "convolutions": [ORDINARY, POOLING, NESTED],
    "transformer": [ATTENTION, FEED_FORWARD, nested(POOLING, ATTENTION, middle=34)],
}


def network(kind: str) -> NativeEvaluator:
    return opened(content_of(15, TRUNKS[kind], channels=40))


def request(batch: int, size: tuple[int, int]) -> EvaluationRequest:
    spatial, global_ = (np.resize(each, (batch, *each.shape[1:])) for each in inputs(*size))
    return EvaluationRequest(spatial, global_, np.ones(batch, np.float32))


@needs_kernels
@pytest.mark.parametrize("kind", TRUNKS)
def test_nothing_is_written_outside_or_read_before_it_is_written(kind: str) -> None:
    evaluator = network(kind)
    for size in ((2, 2), (7, 11), (9, 9), (25, 25)):
        for batch in (1, 3, 8):
            assert list(guarded.differences(evaluator, request(batch, size))) == [], (size, batch)


@needs_kernels
@pytest.mark.parametrize("kind", TRUNKS)
def test_guards_find_arrays_that_are_too_short(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every workspace a vector shorter than it is."""
    copy = guarded.Guarded.copy
    monkeypatch.setattr(guarded.Guarded, "copy", lambda self, array, *more: copy(self, shorter(array), *more))

    def shorter(array: np.ndarray) -> np.ndarray:
        return array[:-64] if array.dtype == np.uint8 and len(array) > 64 else array

    assert any("behind an array" in each for each in guarded.differences(network(kind), request(2, (9, 9))))
