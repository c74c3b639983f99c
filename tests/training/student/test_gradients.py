"""Gradients that threads compute in parts are those of the whole batch."""

# ruff: noqa: E402
from __future__ import annotations

import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch import nn

from training.student.learner import FEWEST, Gradients, Judged
from training.student.losses import Loss


def gradients(threads: int, count: int, frozen: bool = False) -> tuple[nn.Module, Judged, set[str], list[int]]:
    """Judge `count` positions by a small network, whose last layer takes no part."""
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3), nn.Linear(2, 2))
    network[0].requires_grad_(not frozen)
    positions, wanted = torch.randn(count, 5), torch.randn(count, 3)
    seen, sizes = set(), []

    def judge(part: slice) -> Judged:
        seen.add(threading.current_thread().name.split("_")[0])
        outputs = network[:3](positions[part])
        sizes.append(len(outputs))
        error = (outputs - wanted[part]).square().mean()
        return Judged(Loss(2.0 * error, {"policy": error}), outputs.detach())

    judged = Gradients(network, threads).of(judge, count)
    return network, judged, seen, sizes


@pytest.mark.parametrize("count", [2 * FEWEST, 37, 100])
@pytest.mark.parametrize("frozen", [False, True])
def test_parts_give_what_the_whole_gives(count: int, frozen: bool) -> None:
    whole, judged, names, sizes = gradients(1, count, frozen)
    assert (names, sizes) == ({"MainThread"}, [count])
    parted, judged_in_parts, names, sizes = gradients(3, count, frozen)
    assert names == {"gradients"}
    assert len(sizes) == min(3, count // FEWEST)
    assert sum(sizes) == count
    for ours, theirs in zip(parted.parameters(), whole.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None:
            torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(judged_in_parts.policy, judged.policy)
    torch.testing.assert_close(judged_in_parts.loss.total, judged.loss.total)
    torch.testing.assert_close(judged_in_parts.loss.parts["policy"], judged.loss.total / 2)
    assert not judged_in_parts.loss.total.requires_grad


def test_few_positions_are_not_divided() -> None:
    _, _, names, sizes = gradients(3, 2 * FEWEST - 1)
    assert (names, sizes) == ({"MainThread"}, [2 * FEWEST - 1])


def test_a_part_that_fails_is_told() -> None:
    def judge(part: slice) -> Judged:
        raise ValueError(f"{part.start}")

    with pytest.raises(ValueError, match="0"):
        Gradients(nn.Linear(1, 1), 2).of(judge, 40)
