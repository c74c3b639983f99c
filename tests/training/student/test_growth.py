"""Growing a student: whatever grows, the outputs stay, and all that is new can learn."""

# ruff: noqa: E402
from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.training.student.test_network import KINDS, NESTED, SHAPE, inputs, new_student
from training.config import NetworkConfig
from training.errors import TrainingError
from training.student.growth import GROWING, grow

GROWTHS = {name: (SHAPE, {name: getattr(SHAPE, name) + 4}) for name in GROWING if name != "bottleneck"}
GROWTHS["inside"] = (NESTED, {"bottleneck": 12})
WIDER = {"blocks": 6, "channels": 24, "pooled_channels": 6, "policy_channels": 12, "value_channels": 9}
for kind in ("plain", "fixed", "batch", "silu", "nested", "nested-fixed-silu"):
    larger = WIDER | {"value_hidden": 20}
    GROWTHS[f"all-{kind}"] = (KINDS[kind], larger | {"bottleneck": 12} if KINDS[kind].bottleneck else larger)
del GROWTHS["pooled_channels"]  # alone it takes from the others
GROWTHS["nothing"] = (SHAPE, {})
GROWTHS["attention"] = (SHAPE, {"attention_every": 1, "attention_heads": 2, "blocks": 4})
GROWTHS["all-attention"] = (KINDS["silu"], WIDER | {"value_hidden": 20, "attention_every": 2, "attention_heads": 3})


def grown(name: str) -> tuple[NetworkConfig, NetworkConfig]:
    before, larger = GROWTHS[name]
    return before, replace(before, **larger)


@pytest.mark.parametrize("name", GROWTHS)
@torch.no_grad()
def test_the_outputs_stay(name: str) -> None:
    before, after = grown(name)
    small = new_student(before)
    large = grow(small, after).eval()
    assert large.config == after
    for spatial, global_ in (inputs(2, 9), inputs(1, 13, seed=5)):
        for given, want in zip(large(spatial, global_), small(spatial, global_), strict=True):
            torch.testing.assert_close(given, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["all-silu", "all-nested-fixed-silu", "all-attention"])  # in which no unit is dead
def test_all_that_is_new_learns(name: str) -> None:
    torch.manual_seed(4)
    before, after = grown(name)
    large = grow(new_student(before), after).train()
    optimiser = torch.optim.Adam(large.parameters(), lr=3e-3)
    begun = {key: weights.detach().clone() for key, weights in large.named_parameters()}
    for seed in range(12):
        optimiser.zero_grad()
        outputs = large(*inputs(4, 9, seed))
        policy = outputs.policy[outputs.policy > -100.0]
        sum((each * torch.randn_like(each)).sum() for each in (policy, *outputs[1:])).backward()
        optimiser.step()
    for key, weights in large.named_parameters():
        assert (weights != begun[key]).float().mean() > 0.9, key


@torch.no_grad()
def test_new_units_are_no_louder_than_the_others() -> None:
    small = new_student(replace(SHAPE, channels=32))
    small.stem_global.weight.mul_(0.01)  # as layers become whose inputs are sums over the board
    large = grow(small, replace(SHAPE, channels=48))
    for name, weights in large.state_dict().items():
        outputs = len(small.state_dict()[name])
        if weights.ndim > 1 and weights[outputs:].any():
            old, new = (part.flatten(1).norm(dim=1).mean() for part in (weights[:outputs], weights[outputs:]))
            torch.testing.assert_close(new, old)


def test_what_cannot_grow() -> None:
    small = new_student()
    for config, message in (
        (replace(SHAPE, channels=8, pooled_channels=4), "network.channels must be 16 at least"),
        (replace(SHAPE, blocks=2), "network.blocks must be 3 at least"),
        (replace(SHAPE, pooling_every=1), "network.pooling_every must stay 2"),
        (replace(SHAPE, activation="silu"), "network.activation must stay 'relu'"),
        (replace(SHAPE, pooled_channels=8), "fewer channels that are not pooled"),
        (NESTED, "network.bottleneck must be 0 at least"),
    ):
        with pytest.raises(TrainingError, match=message):
            grow(small, config)
    attention = KINDS["attention"]
    with pytest.raises(TrainingError, match="a network with attention cannot grow"):
        grow(new_student(attention), replace(attention, channels=32))
