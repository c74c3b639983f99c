"""Learning again: every batch in every symmetry that it is due, its labels turned as its planes are."""

# ruff: noqa: E402
from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from nets.symmetry import symmetry_permutations
from training.labels.targets import KINDS, Targets, turned
from training.student.learner import LabelMemory

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
