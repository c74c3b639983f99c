"""Requests of several threads evaluated together, each answered as if it were alone."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nets.evaluator import (
    GLOBAL_FEATURES,
    SPATIAL_PLANES,
    ConstantEvaluator,
    Evaluation,
    EvaluationRequest,
    EvaluatorError,
)
from nets.threads import MergingEvaluator

THREADS = 12


class Slow(ConstantEvaluator):
    """Answers what it was asked, after a moment; fails where a position says so."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.busy = 0
        self.most_busy = 0
        self.lock = threading.Lock()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        with self.lock:
            self.sizes.append(len(request.spatial))
            self.busy += 1
            self.most_busy = max(self.busy, self.most_busy)
        time.sleep(0.01)
        with self.lock:
            self.busy -= 1
        if (request.global_[:, 0] < 0).any():
            raise EvaluatorError("broken")
        answer = super().evaluate(request)
        answer.value[:] = request.global_[:, :3]
        assert request.optimism is not None
        answer.score[:, 0] = request.optimism
        return answer


def asked(number: int, count: int, size: int) -> EvaluationRequest:
    spatial = np.zeros((count, SPATIAL_PLANES, size, size), np.float32)
    global_ = np.full((count, GLOBAL_FEATURES), number, np.float32)
    global_[:, 1] = np.arange(count)
    return EvaluationRequest(spatial, global_, np.full(count, number / 2, np.float32))


@pytest.mark.parametrize("at_once", [1, 2])
def test_every_request_gets_its_own_answer(at_once: int) -> None:
    slow = Slow()
    merging = MergingEvaluator(slow, most=8, at_once=at_once)

    def ask(number: int) -> None:
        count, size = 1 + number % 3, 9 if number % 4 else 7
        answer = merging.evaluate(asked(number, count, size))
        assert answer.policy.shape == (count, size * size + 1)
        assert answer.value[:, 0].tolist() == [number] * count
        assert answer.value[:, 1].tolist() == list(range(count))
        assert answer.score[:, 0].tolist() == [number / 2] * count

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(200)))
    assert sum(slow.sizes) == sum(1 + number % 3 for number in range(200))
    assert max(slow.sizes) <= 8
    assert len(slow.sizes) < 150, "requests are merged"
    assert slow.most_busy <= at_once


def test_a_request_larger_than_any_batch() -> None:
    assert len(MergingEvaluator(Slow(), most=2).evaluate(asked(1, 5, 9)).policy) == 5


def test_a_failure_reaches_all_who_were_merged_and_nobody_later() -> None:
    merging = MergingEvaluator(Slow(), most=100)

    def ask(number: int) -> bool:
        try:
            merging.evaluate(asked(number, 1, 9))
        except EvaluatorError:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        done = list(pool.map(ask, [3, -1, *range(1, 30)]))
    assert not done[1]
    assert any(done)
    assert ask(5)
