"""The loss: zero gradient where nothing is known, its minimum at the labels."""

from __future__ import annotations

import numpy as np
import pytest

from nets.evaluator import SHORTTERM_SCORE_ERROR, SHORTTERM_WINLOSS_ERROR, VAR_TIME_LEFT
from tests.training.pytorch import torch
from training.config import LossWeights
from training.labels.batches import targets_from_samples
from training.labels.samples import HAS_POLICY, HAS_SCORE, HAS_VALUE, pack_samples
from training.labels.targets import KINDS, Targets, targets_from_records
from training.network import POLICIES, Outputs
from training.positions.canvas import OFF_BOARD
from training.student.losses import Loss, loss_of, softened

CANVAS, SIZE, COUNT = 9, 7, 4
OTHERS = ("policy", "optimistic", "soft", "reply", "value", "ownership", "score")
"""All parts of the loss but the errors."""


MASK = torch.zeros(COUNT, 1, CANVAS, CANVAS)
MASK[:, :, :SIZE, :SIZE] = 1


def random_outputs() -> Outputs:
    generator = torch.Generator().manual_seed(1)
    on_board = torch.cat([MASK.flatten(1), torch.ones(COUNT, 1)], 1)
    policy = torch.randn(COUNT, POLICIES, CANVAS * CANVAS + 1, generator=generator)
    policy = torch.where(on_board[:, None] > 0, policy, OFF_BOARD)
    score = 10 * torch.rand(COUNT, 6, generator=generator)
    return Outputs(
        policy.requires_grad_(),
        torch.randn(COUNT, 3, generator=generator).requires_grad_(),
        score.requires_grad_(),
        torch.randn(COUNT, CANVAS * CANVAS, generator=generator).requires_grad_(),
    )


def same_as(outputs: Outputs) -> Targets:
    """Labels that agree with the outputs."""
    policy = outputs.policy.detach().softmax(2)
    return Targets(
        policy=policy[:, 0],
        optimistic=policy[:, 1],
        reply=torch.full((COUNT,), -1),
        value=outputs.value.detach().softmax(1),
        score=outputs.score.detach(),
        ownership=outputs.ownership.detach().tanh() * MASK.flatten(1),
        known=torch.ones(COUNT, KINDS),
    )


def loss(outputs: Outputs, targets: Targets, **weights: float) -> Loss:
    return loss_of(outputs, targets, MASK, LossWeights(**weights))


def test_labels_that_agree_leave_nothing_to_learn() -> None:
    outputs = random_outputs()
    # The fourth channel of the policy has a label of its own.
    loss(outputs, same_as(outputs), soft=0.0).total.backward()
    for part in (outputs.policy, outputs.value, outputs.score, outputs.ownership):
        torch.testing.assert_close(part.grad, torch.zeros_like(part), atol=1e-6, rtol=0)


def test_every_part_pulls_toward_its_label() -> None:
    outputs = random_outputs()
    labels = same_as(outputs)
    best = loss(outputs, labels).parts
    for name, changed in {
        "policy": labels._replace(policy=labels.policy.roll(1, 0)),
        "optimistic": labels._replace(optimistic=labels.optimistic.roll(1, 0)),
        "value": labels._replace(value=labels.value.roll(1, 0)),
        "score": labels._replace(score=labels.score.roll(1, 0)),
        "ownership": labels._replace(ownership=-labels.ownership),
    }.items():
        # A cross-entropy also changes with its label's entropy: compare against outputs moved to the new label.
        assert loss(outputs, changed).parts[name] > 0.0
        if name == "score":
            assert best["score"] == 0.0


@pytest.mark.parametrize("teacher_tells", [True, False])
def test_a_student_says_how_wrong_it_is_itself(teacher_tells: bool) -> None:
    """Its error is what its label is off by, and what the teacher says that the label is off by."""
    outputs = random_outputs()
    labels = same_as(outputs)._replace(value=outputs.value.detach().softmax(1).roll(1, 1))
    if not teacher_tells:
        labels = labels._replace(known=torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 1.0]).expand(COUNT, KINDS))
    wins = [value[:, 0] - value[:, 1] for value in (outputs.value.detach().softmax(1), labels.value)]
    squares = (wins[0] - wins[1]).square() + teacher_tells * labels.score[:, 4].square()
    scores = teacher_tells * labels.score[:, 5]
    right = torch.column_stack([labels.score[:, :4], squares.sqrt(), scores])
    assert loss(outputs._replace(score=right), labels).parts["errors"] < 1e-6
    wrong = right + torch.tensor([0.0, 0.0, 0.0, 0.0, 0.3, 5.0])
    assert loss(outputs._replace(score=wrong), labels).parts["errors"] > 0.01
    loss(outputs, labels, **dict.fromkeys(OTHERS, 0.0)).total.backward()
    assert not outputs.value.grad.any()
    assert not outputs.score.grad[:, :3].any()


def test_samples_of_self_play_teach_how_wrong_a_network_is() -> None:
    """No teacher says there how wrong the label is, nor how long it takes; how far it is from the output is known."""
    outputs = random_outputs()
    labels = same_as(outputs)
    value = labels.value.roll(1, 1)
    samples = pack_samples(
        np.zeros((COUNT, 22, CANVAS, CANVAS), np.uint8), np.zeros((COUNT, 19), np.float32), labels.policy.numpy(),
        value.numpy(), labels.score.numpy(), np.zeros((COUNT, CANVAS * CANVAS), np.float32),
        np.full(COUNT, HAS_POLICY | HAS_VALUE | HAS_SCORE, np.uint8),
    )  # fmt: skip
    loss(outputs, targets_from_samples(samples), **dict.fromkeys(OTHERS, 0.0)).total.backward()
    assert outputs.score.grad[:, SHORTTERM_WINLOSS_ERROR].all()
    assert outputs.score.grad[:, SHORTTERM_SCORE_ERROR].all()
    assert not outputs.score.grad[:, VAR_TIME_LEFT].any()


def test_points_outside_the_board_do_not_count() -> None:
    outputs = random_outputs()
    labels = same_as(outputs)
    before = loss(outputs, labels)
    ownership = torch.where(MASK.flatten(1) > 0, outputs.ownership, 100.0)
    after = loss(outputs._replace(ownership=ownership), labels)
    torch.testing.assert_close(before.total, after.total)


def test_records_without_labels_teach_nothing() -> None:
    outputs = random_outputs()
    unknown = torch.tensor([[-1, -1, 0]] * COUNT, dtype=torch.int16)
    loss(outputs, targets_from_records(unknown, CANVAS * CANVAS)).total.backward()
    for part in (outputs.policy, outputs.value, outputs.score, outputs.ownership):
        assert part.grad is None or not part.grad.any()


def test_records_teach_their_move_and_result() -> None:
    labels = torch.tensor([[5, 81, 1], [81, -1, -1], [-1, -1, 0], [0, 3, 0]], dtype=torch.int16)
    targets = targets_from_records(labels, CANVAS * CANVAS)
    assert targets.policy.argmax(1)[[0, 1, 3]].tolist() == [5, 81, 0]
    assert targets.known[:, 0].tolist() == [1, 1, 0, 1]
    assert targets.reply.tolist() == [81, -1, -1, 3]
    assert targets.value[:2].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert targets.known[:, 2].tolist() == [1, 1, 0, 0]


def test_the_soft_policy_keeps_order_and_board() -> None:
    policy = torch.tensor([[0.6, 0.3, 0.1, 0.0]])
    soft = softened(policy, torch.tensor([[1.0, 1.0, 1.0, 0.0]]))
    assert soft.sum() == pytest.approx(1.0)
    assert soft[0, 3] == 0.0
    ratio = (soft[0, 0] / soft[0, 2]).item()
    assert ratio == pytest.approx(6**0.25, rel=1e-3)
