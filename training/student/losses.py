"""The loss: how far the student's outputs are from the labels, part by part."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nets.evaluator import LEAD, SCORE_MEAN, SCORE_STDEV, SHORTTERM_SCORE_ERROR, SHORTTERM_WINLOSS_ERROR, VAR_TIME_LEFT
from training.config import LossConfig
from training.student.network import OPTIMISTIC, PLAIN, REPLY, SCORE_UNITS, SOFT, Outputs

SOFT_TEMPERATURE = 4.0
SOFT_FLOOR = 1e-7
"""Added to probabilities before the soft policy takes their fourth root (KataGo, docs/KataGoMethods.md)."""

SCORE_PARTS = (SCORE_MEAN, SCORE_STDEV, LEAD)
ERROR_PARTS = (VAR_TIME_LEFT, SHORTTERM_WINLOSS_ERROR, SHORTTERM_SCORE_ERROR)
HUBER = 0.5
"""Errors above this many units (10 points) count linearly."""


class Targets(NamedTuple):
    """What N positions should evaluate to; the side to move's view. A weight of 0 marks what isn't known."""

    policy: Tensor
    """[N, S*S + 1] probabilities, 0 outside the board"""
    policy_weight: Tensor
    """[N]"""
    optimistic: Tensor
    """[N, S*S + 1]"""
    optimistic_weight: Tensor
    reply: Tensor
    """int64 [N]: index of the opponent's move, -1 unknown"""
    value: Tensor
    """[N, 3] probabilities"""
    value_weight: Tensor
    score: Tensor
    """[N, 6] in the units of `Evaluation.score`"""
    score_weight: Tensor
    errors_weight: Tensor
    ownership: Tensor
    """[N, S*S] in [-1, 1]"""
    ownership_weight: Tensor

    def to(self, device: torch.device) -> Targets:
        """Copied to `device`."""
        return Targets._make(part.to(device, non_blocking=True) for part in self)

    def and_also(self, other: Targets) -> Targets:
        """These and those of more positions."""
        return Targets._make(torch.cat(pair) for pair in zip(self, other, strict=True))


class Loss(NamedTuple):
    """The weighted sum, and its parts before weighting, each a mean over the positions that have its label."""

    total: Tensor
    parts: dict[str, Tensor]


def loss_of(outputs: Outputs, targets: Targets, mask: Tensor, config: LossConfig) -> Loss:
    """`mask` [N, 1, S, S]: 1 on the board."""
    on_board = mask.flatten(1)
    moves = torch.cat([on_board, torch.ones_like(on_board[:, :1])], 1)
    logs = functional.log_softmax(outputs.policy, dim=2)
    parts = {
        "policy": _mean(_cross_entropy(logs[:, PLAIN], targets.policy), targets.policy_weight),
        "optimistic": _mean(_cross_entropy(logs[:, OPTIMISTIC], targets.optimistic), targets.optimistic_weight),
        "soft": _mean(_cross_entropy(logs[:, SOFT], softened(targets.policy, moves)), targets.policy_weight),
        "reply": _reply(logs[:, REPLY], targets.reply),
        "value": _mean(
            _cross_entropy(functional.log_softmax(outputs.value, dim=1), targets.value), targets.value_weight
        ),
        "score": _mean(_distance(outputs.score, targets.score, SCORE_PARTS), targets.score_weight),
        "errors": _mean(_distance(outputs.score, targets.score, ERROR_PARTS), targets.errors_weight),
        "ownership": _mean(_ownership(outputs.ownership, targets.ownership, on_board), targets.ownership_weight),
    }
    total = torch.stack([getattr(config, name) * part for name, part in parts.items()]).sum()
    return Loss(total, parts)


def softened(policy: Tensor, moves: Tensor) -> Tensor:
    """The policy at temperature 4. `moves` [N, S*S + 1]: 1 for points of the board and the pass."""
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
    """[N] Huber distance, summed over columns, each in its unit."""
    errors = [
        functional.huber_loss(given[:, i] / unit, wanted[:, i] / unit, reduction="none", delta=HUBER)
        for i, unit in ((column, SCORE_UNITS[column]) for column in columns)
    ]
    return torch.stack(errors).sum(0)


def _ownership(logits: Tensor, wanted: Tensor, on_board: Tensor) -> Tensor:
    """[N] binary cross-entropy a point. tanh(x) = 2 sigmoid(2x) - 1."""
    errors = functional.binary_cross_entropy_with_logits(2.0 * logits, 0.5 * (1.0 + wanted), reduction="none")
    return (errors * on_board).sum(1) / on_board.sum(1)
