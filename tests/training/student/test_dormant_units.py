"""Dormant units get new weights, and nothing else changes."""

# ruff: noqa: E402
from __future__ import annotations

from copy import deepcopy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.training.student.test_network import KINDS, inputs, new_student
from training.config import OptimiserConfig
from training.student.dormant_units import LARGE, LOOK_EVERY, LOOKS, DormantUnitReset, can_be_dormant, units_of
from training.student.network import Student
from training.student.optimiser import Optimisers

DORMANT = [1, 3]


def with_dormant_units(kind: str) -> Student:
    """In each layer the same units are far below zero, whatever the others do."""
    student = new_student(KINDS[kind])
    with torch.no_grad():
        for units in units_of(student):
            units.writer.weight[DORMANT] = 0.0
            units.bias[DORMANT] = -1.0
            if units.adder is not None:
                units.adder.weight[DORMANT] = -1.0  # of what is not negative
    return student


def learned(student: Student, optimisers: Optimisers, steps: int = 1) -> None:
    for _ in range(steps):
        outputs = student(*inputs(2, 9))
        parts = outputs.policy.float(), outputs.value, outputs.score, outputs.ownership
        sum((part - 1).clamp(-9, 9).square().mean() for part in parts).backward()
        optimisers.step(1.0)


@pytest.mark.parametrize("network", ["plain", "fixed", "nested"])
def test_dormant_units_get_new_weights_and_the_rest_stays(network: str) -> None:
    torch.manual_seed(3)
    student = with_dormant_units(network)
    optimisers = Optimisers(student, OptimiserConfig(rate=1e-6))
    learned(student, optimisers)
    average = deepcopy(student)
    reset = DormantUnitReset(student, average, optimisers)
    before = [part.detach() for part in student(*inputs(3, 9))]
    counts = [reset.step(*inputs(3, 9), True) for _ in range(LOOKS)]
    assert not any(counts[:-1])
    assert counts[-1] >= len(DORMANT) * len(units_of(student))
    for network in (student, average):
        for was, now in zip(before, network(*inputs(3, 9)), strict=True):
            torch.testing.assert_close(now.detach(), was, atol=1e-4, rtol=1e-4)
    for units in units_of(student):
        assert (units.writer.weight[DORMANT] != 0).any(dim=1).all()
        assert not units.bias[DORMANT].any()
        states = [state for each in optimisers.parts for state in [each.state[units.writer.weight]] if state]
        for state in states:
            for name in ("momentum", "exp_avg", "exp_avg_sq"):
                assert name not in state or not state[name][DORMANT].any()
    reset.look(*inputs(3, 9), True)
    fires = [highest is not None and bool((highest[DORMANT] > 0).any()) for highest in reset.highest]
    assert sum(fires) > 0.7 * len(fires)  # half of all random units fire, more or less
    # Alive now, and learning.
    optimisers = Optimisers(student, OptimiserConfig(rate=1e-3))
    columns = units_of(student)[0].readers[0].layer.weight
    assert not columns[:, DORMANT].any()
    learned(student, optimisers, steps=3)
    assert columns[:, DORMANT].any()


def test_large_pooled_channels_are_scaled_down_and_nothing_else_changes() -> None:
    torch.manual_seed(5)
    student = new_student()
    with torch.no_grad():
        for units in units_of(student):
            if units.are_pooled:
                units.writer.weight.abs_()  # all fire, so that none is reset
                units.writer.weight[DORMANT] *= 1000.0
                for reader in units.readers:
                    reader.layer.weight /= 30.0
    optimisers = Optimisers(student, OptimiserConfig())
    average = deepcopy(student)
    reset = DormantUnitReset(student, average, optimisers)
    before = [part.detach() for part in student(*inputs(3, 9))]
    for _ in range(LOOKS):
        reset.step(*inputs(3, 9), True)
    for network in (student, average):
        for was, now in zip(before, network(*inputs(3, 9)), strict=True):
            torch.testing.assert_close(now.detach(), was, atol=1e-3, rtol=1e-3)
    reset.look(*inputs(3, 9), True)
    pooled = [mean * LOOKS for units, mean in zip(units_of(student), reset.means, strict=True) if units.are_pooled]
    assert len(pooled) == 2
    assert max(float(mean.max()) for mean in pooled) == pytest.approx(LARGE, rel=1e-3)


def test_units_that_fire_stay() -> None:
    student = new_student()
    with torch.no_grad():
        for units in units_of(student):
            units.writer.weight.zero_()
            units.bias.fill_(1.0)
            if units.adder is not None:
                units.adder.weight.zero_()
    before = {name: weights.clone() for name, weights in student.state_dict().items()}
    reset = DormantUnitReset(student, deepcopy(student), Optimisers(student, OptimiserConfig()))
    assert not any(reset.step(*inputs(2, 9), True) for _ in range(LOOKS + 2 * LOOK_EVERY))
    assert reset.looks == LOOKS + 2
    for name, weights in student.state_dict().items():
        torch.testing.assert_close(weights, before[name], rtol=0, atol=0)


def test_only_what_can_be_dormant_is_reset() -> None:
    assert {kind for kind, config in KINDS.items() if can_be_dormant(config)} == {
        "plain", "fixed", "nested", "attention", "attention-nested-fixed",
    }  # fmt: skip
