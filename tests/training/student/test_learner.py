"""Gradients that threads compute in parts are those of the whole batch; and every batch is learned from again in all
symmetries that it is due, its labels turned as its planes are."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest

from nets.symmetry import symmetry_permutations
from tests.training.pytorch import torch
from training.labels.targets import KINDS, Targets, turned
from training.student.learner import FEWEST, Gradients, Judged, LabelMemory
from training.student.losses import Loss


def gradients(threads: int, count: int, frozen: bool = False) -> tuple[torch.nn.Module, Judged, set[str], list[int]]:
    """Judge `count` positions by a small network, whose last layer takes no part."""
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3), torch.nn.Linear(2, 2))
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
        Gradients(torch.nn.Linear(1, 1), 2).of(judge, 40)


SIDE, COUNT = 5, 3
CELLS = SIDE * SIDE


def marked(value: float) -> tuple[torch.Tensor, torch.Tensor, Targets]:
    """Three positions, each with one stone; what is said of its cell differs from all the rest."""
    cells = torch.tensor([0, 7, 23])
    spatial = torch.zeros(COUNT, 22, CELLS)
    spatial[torch.arange(COUNT), 1, cells] = 1.0
    policy = torch.zeros(COUNT, CELLS + 1)
    policy[torch.arange(COUNT), cells], policy[:, CELLS] = 0.75, 0.25
    targets = Targets(
        policy=policy,
        optimistic=2.0 * policy,
        reply=torch.tensor([0, -1, CELLS]),
        value=torch.full((COUNT, 3), value),
        score=torch.zeros(COUNT, 6),
        ownership=policy[:, :CELLS] - 0.5,
        known=torch.ones(COUNT, KINDS),
    )
    return spatial.view(COUNT, 22, SIDE, SIDE), torch.full((COUNT, 19), value), targets


def test_labels_are_turned_as_the_planes_are() -> None:
    memory = LabelMemory(7, seed=1, kept=1)
    spatial, global_, targets = marked(0.5)
    memory.add(spatial, global_, targets, True)
    permutations = symmetry_permutations(SIDE, SIDE)
    seen = set()
    for _ in range(7):
        drawn = memory.draw()
        assert drawn is not None
        planes, globals_, turned, fills_canvas = drawn
        assert fills_canvas
        assert torch.equal(globals_, global_)
        assert torch.equal(turned.value, targets.value)
        stones = planes[:, 1].flatten(1)
        assert planes.dtype == torch.float32
        assert torch.equal(stones.sum(1), torch.ones(COUNT))
        assert torch.equal(turned.policy[:, :CELLS], 0.75 * stones)
        assert torch.equal(turned.policy[:, CELLS], targets.policy[:, CELLS])
        assert torch.equal(turned.optimistic, 2.0 * turned.policy)
        assert torch.equal(turned.ownership, 0.75 * stones - 0.5)
        place = tuple(stones.argmax(1).tolist())
        symmetry = [tuple(permutation[[0, 7, 23]]) for permutation in permutations].index(place)
        assert turned.reply.tolist() == [permutations[symmetry][0], -1, CELLS]
        seen.add(symmetry)
    assert seen == set(range(1, 8))
    assert memory.draw() is None


def test_each_position_is_turned_by_its_own_symmetry() -> None:
    spatial, _, targets = marked(0.5)
    symmetries = [1, 0, 6]
    planes, found = turned(spatial.to(torch.uint8), targets, torch.tensor(symmetries))
    assert planes.dtype == torch.uint8
    for position, (cell, symmetry) in enumerate(zip((0, 7, 23), symmetries, strict=True)):
        there = int(symmetry_permutations(SIDE, SIDE)[symmetry][cell])
        assert planes[position, 1].flatten().nonzero().tolist() == [[there]]
        assert found.policy[position, :CELLS].argmax() == found.ownership[position].argmax() == there
    assert found.reply.tolist() == [int(symmetry_permutations(SIDE, SIDE)[1][0]), -1, CELLS]


def test_batches_are_drawn_as_often_as_they_are_due_and_not_at_once() -> None:
    memory, drawn = LabelMemory(2, seed=3, kept=10), Counter[float]()
    for number in range(200):
        memory.add(*marked(float(number)), False)
        for _ in range(2):
            batch = memory.draw()
            assert (batch is None) == (number < 9)
            if batch is not None:
                drawn[float(batch[1][0, 0])] += 1
    assert max(drawn.values()) == 2
    assert sum(drawn.values()) == 2 * 191
    assert np.mean([count == 2 for count in drawn.values()]) > 0.9


def test_what_is_kept_does_not_change_with_the_memory_that_it_came_in() -> None:
    memory = LabelMemory(1, seed=1, kept=1)
    spatial, global_, targets = marked(0.5)
    memory.add(spatial, global_, targets, True)
    spatial[:], global_[:] = 0.0, 9.0
    drawn = memory.draw()
    assert drawn is not None
    assert drawn[0].sum() == COUNT
    assert drawn[1].max() == 0.5
