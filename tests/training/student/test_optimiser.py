"""Optimisers: Muon's orthogonal updates, and the weights' average."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.training.networks import NESTED, SHAPES, untrained
from tests.training.pytorch import torch
from training.config import NetworkConfig, OptimiserConfig
from training.network import Network
from training.student.optimiser import OTHERS_RATE, POOLED_RATE, Average, Optimisers, is_large, orthogonal, rate_share

SHAPE = NetworkConfig(blocks=2, channels=8, policy_channels=4, value_channels=4, value_hidden=8)


@pytest.mark.parametrize(
    ("step", "spent", "expected"),
    [(0, 0.0, 1 / 11), (4, 0.1, 5 / 11), (10, 0.1, 1.0), (10_000, 0.8, 1.0), (10_000, 0.9, 0.5), (10_000, 1.0, 0.0)],
)
def test_the_rate_warms_up_stays_and_decays(step: int, spent: float, expected: float) -> None:
    assert rate_share(step, 10, spent, 0.2) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(2, 16, 48), (1, 40, 8), (3, 12, 12)])
def test_orthogonal_has_singular_values_near_one(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
    assert values.min() > 0.3
    assert values.max() < 1.3


@pytest.mark.parametrize("name", SHAPES)
def test_steps_go_downhill_from_random_weights_and_move_everything(name: str) -> None:
    torch.manual_seed(1)
    student = untrained(SHAPES[name])
    optimisers = Optimisers(student, OptimiserConfig(rate=0.002, weight_decay=0.0))
    spatial, global_ = torch.rand(4, 22, 9, 9), torch.rand(4, 19)
    spatial[:, 0] = 1

    def loss() -> torch.Tensor:
        outputs = student(spatial, global_)
        parts = (outputs.policy[:, :, :-1], outputs.policy[:, :, -1], outputs.value, outputs.score / 10)
        return sum((part - 1).square().mean() for part in parts) + (outputs.ownership - 1).square().mean()

    before = {name: parameter.detach().clone() for name, parameter in student.named_parameters()}
    first = loss()
    for _ in range(30):
        loss().backward()
        optimisers.step(1.0)
    assert loss() < 0.7 * first
    for name, parameter in student.named_parameters():
        assert (parameter != before[name]).any(), name


def moved(names: tuple[str, ...], others_rate: float = 1.0, momentum: float = 0.95) -> list[float]:
    """How far the first step moves these weights of a student, all of whose gradients are alike."""
    student = untrained(SHAPE)
    config = OptimiserConfig(weight_decay=0.0, momentum=momentum, clip=1e9)
    watched = [student.get_parameter(name) for name in names]
    before = [weight.detach().clone() for weight in watched]
    for weight in watched:
        weight.grad = torch.ones_like(weight)
    Optimisers(student, config, others_rate).step(1.0)
    return [(weight - old).abs().max().item() for weight, old in zip(watched, before, strict=True)]


def test_what_is_pooled_moves_channels_slowly() -> None:
    slow, usual = moved(("policy.pooled_to_bias.weight", "value.hidden.weight"), momentum=0.0)
    assert slow == pytest.approx(POOLED_RATE * usual, rel=1e-3)


def test_state_survives_saving() -> None:
    def run(optimisers: Optimisers, student: Network, steps: int) -> None:
        for _ in range(steps):
            student(spatial, global_).policy.square().mean().backward()
            optimisers.step(1.0)

    torch.manual_seed(1)
    spatial, global_ = torch.rand(2, 22, 9, 9), torch.rand(2, 19)
    student = untrained(SHAPE)
    optimisers = Optimisers(student, OptimiserConfig())
    run(optimisers, student, 3)
    weights = {name: value.clone() for name, value in student.state_dict().items()}
    state = deepcopy(optimisers.state_dict())
    copy = untrained(SHAPE)
    copy.load_state_dict(weights)
    copied = Optimisers(copy, OptimiserConfig())
    copied.load_state_dict(state)
    run(optimisers, student, 2)
    run(copied, copy, 2)
    for one, other in zip(student.parameters(), copy.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_the_average_follows() -> None:
    student = untrained(SHAPE)
    average = Average(student, 0.9)
    with torch.no_grad():
        for parameter in student.parameters():
            parameter.fill_(1.0)
    for _ in range(200):
        average.update(student)
    for parameter in average.network.parameters():
        torch.testing.assert_close(parameter, torch.ones_like(parameter), atol=1e-4, rtol=0)
    other = Average(untrained(SHAPE), 0.9)
    other.load_state_dict(average.state_dict())
    assert other.state_dict()["updates"] == 200


def test_what_is_configured_survives_a_resumption() -> None:
    student = untrained(SHAPE)
    first = Optimisers(student, OptimiserConfig(weight_decay=0.1, momentum=0.9))
    second = Optimisers(student, OptimiserConfig(weight_decay=0.0, momentum=0.5))
    second.load_state_dict(first.state_dict())
    groups = [group for optimiser in second.parts for group in optimiser.param_groups]
    assert {group["weight_decay"] for group in groups} == {0.0}
    assert {group["momentum"] for group in groups if "momentum" in group} <= {0.5}


def test_muon_learns_the_matrices_of_the_blocks_and_nothing_of_the_heads() -> None:
    student = untrained(NESTED)
    muon, adamw = Optimisers(student, OptimiserConfig()).parts
    of_muon = {id(parameter) for group in muon.param_groups for parameter in group["params"]}
    of_adamw = {id(parameter) for group in adamw.param_groups for parameter in group["params"]}
    assert not of_muon & of_adamw
    assert len(of_muon) + len(of_adamw) == len(list(student.parameters()))
    names = {name for name, parameter in student.named_parameters() if id(parameter) in of_muon}
    inner = (f"blocks.{number}.{layer}" for number in range(4) for layer in ("joined", "last"))
    layers = ("narrow", "widen", *inner)
    assert names == {"stem.weight", *(f"blocks.{number}.{layer}.weight" for number in range(2) for layer in layers)}
    names = {name for name, parameter in untrained(SHAPE).named_parameters() if is_large(name, parameter)}
    assert names == {"stem.weight"} | {f"blocks.{i}.{layer}.weight" for i in range(2) for layer in ("first", "second")}


def test_what_is_not_muons_moves_slowly_where_a_network_has_learned() -> None:
    names = ("blocks.0.first.weight", "value.hidden.weight", "tip.bias")
    usual, slow = (moved(names, share) for share in (1.0, OTHERS_RATE))
    assert slow == pytest.approx([usual[0], OTHERS_RATE * usual[1], OTHERS_RATE * usual[2]], rel=1e-3)
