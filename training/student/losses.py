"""The loss: how far the student's outputs are from the targets, part by part."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nets.evaluator import (
    LEAD,
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    VAR_TIME_LEFT,
    WIN,
)
from training.config import LossWeights
from training.labels.targets import Targets
from training.network import OPTIMISTIC, PLAIN, REPLY, SOFT, SOFT_TEMPERATURE, Outputs

SOFT_FLOOR = 1e-7
"""Added to probabilities before the soft policy takes their fourth root (KataGo, docs/KataGoMethods.md)."""

SCORE_UNITS = (20.0, 20.0, 20.0, 40.0, math.sqrt(0.25), math.sqrt(30.0))
"""One unit of each score output: in points, but in moves for the time left, and 1 for the error of winning chances."""
SCORE_PARTS = (SCORE_MEAN, SCORE_STDEV, LEAD)
HUBER = 0.5
"""Errors above half a unit (10 points) count linearly."""
VALUE_SQUARES, SCORE_SQUARES = 0.4, 0.25
"""Differences of squared errors above these count linearly: of win minus loss, and of the score in units."""


class Loss(NamedTuple):
    """The loss: the weighted sum of its parts, and the parts, each a mean over the positions whose target is known."""

    total: Tensor
    parts: dict[str, Tensor]


def loss_of(outputs: Outputs, targets: Targets, mask: Tensor, weights: LossWeights) -> Loss:
    """Compute the loss of a batch. `mask` [N, 1, S, S] is 1 on the board."""
    on_board = mask.flatten(1)
    moves = torch.cat([on_board, torch.ones_like(on_board[:, :1])], 1)
    logs = functional.log_softmax(outputs.policy, dim=2)
    policy = targets.policy
    has_policy, has_optimistic, has_value, has_score, has_errors, has_ownership = targets.known.unbind(1)
    values = functional.log_softmax(outputs.value, dim=1)
    parts = {
        "policy": _mean(_cross_entropy(logs[:, PLAIN], policy), has_policy),
        "optimistic": _mean(_cross_entropy(logs[:, OPTIMISTIC], targets.optimistic), has_optimistic),
        "soft": _mean(_cross_entropy(logs[:, SOFT], softened(policy, moves)), has_policy),
        "reply": _reply(logs[:, REPLY], targets.reply),
        "value": _mean(_cross_entropy(values, targets.value), has_value),
        "score": _mean(_distance(outputs.score, targets.score, SCORE_PARTS), has_score),
        "errors": _mean(_distance(outputs.score, targets.score, (VAR_TIME_LEFT,)), has_errors)
        + _mean(_own_errors(outputs, targets, has_errors), has_score),
        "ownership": _mean(_ownership(outputs.ownership, targets.ownership, on_board), has_ownership),
    }
    total = torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
    return Loss(total, parts)


def softened(policy: Tensor, moves: Tensor) -> Tensor:
    """Return the policy at SOFT_TEMPERATURE. `moves` [N, S*S + 1] is 1 for points of the board and the pass."""
    roots = (policy + SOFT_FLOOR).pow(1.0 / SOFT_TEMPERATURE) * moves
    return roots / roots.sum(1, keepdim=True)


def _mean(errors: Tensor, weight: Tensor) -> Tensor:
    return (errors * weight).sum() / weight.sum().clamp(min=1e-6)


def _cross_entropy(logs: Tensor, probabilities: Tensor) -> Tensor:
    return -(logs * probabilities).sum(1)


def _reply(logs: Tensor, reply: Tensor) -> Tensor:
    known = reply >= 0
    picked = logs.gather(1, reply.clamp(min=0)[:, None])[:, 0]
    return _mean(-picked, known.float())


def _distance(given: Tensor, wanted: Tensor, columns: tuple[int, ...]) -> Tensor:
    """Return [N]: Huber distances, summed over columns, each in its unit."""
    errors = [
        functional.huber_loss(given[:, i] / unit, wanted[:, i] / unit, reduction="none", delta=HUBER)
        for i, unit in ((column, SCORE_UNITS[column]) for column in columns)
    ]
    return torch.stack(errors).sum(0)


def _own_errors(outputs: Outputs, targets: Targets, has_errors: Tensor) -> Tensor:
    """Return [N]: how far the squares of the short-term errors that the student says are from those that it has.

    These are not the teacher's, which is right where a student is wrong. What the teacher says of its own, if it does,
    is added, since that is how far its opinion is from what comes (after KataGo's training, which has the game itself).
    """
    told = outputs.score
    value = outputs.value.detach().softmax(1)
    missed = (value[:, WIN] - value[:, LOSS]) - (targets.value[:, WIN] - targets.value[:, LOSS])
    unit = SCORE_UNITS[SCORE_MEAN]
    missed_score = (told[:, SCORE_MEAN].detach() - targets.score[:, SCORE_MEAN]) / unit
    distance = torch.zeros_like(missed)
    for column, own, scale, delta in (
        (SHORTTERM_WINLOSS_ERROR, missed, 1.0, VALUE_SQUARES),
        (SHORTTERM_SCORE_ERROR, missed_score, unit, SCORE_SQUARES),
    ):
        wanted = own.square() + has_errors * (targets.score[:, column] / scale).square()
        said = (told[:, column] / scale).square()
        distance = distance + functional.huber_loss(said, wanted, reduction="none", delta=delta)
    return distance


def _ownership(logits: Tensor, wanted: Tensor, on_board: Tensor) -> Tensor:
    """Return [N]: the mean binary cross-entropy of a point, since tanh(x) = 2 sigmoid(2x) - 1."""
    errors = functional.binary_cross_entropy_with_logits(2.0 * logits, 0.5 * (1.0 + wanted), reduction="none")
    return (errors * on_board).sum(1) / on_board.sum(1)
