"""Targets: what positions should evaluate to, by a teacher's evaluation or by the game record alone."""

from __future__ import annotations

import torch
from torch import Tensor

from nets.evaluator import LOSS, SCORE_COLUMNS, WIN
from training.network import NetworkEvaluation
from training.positions.replay import MOVE, OUTCOME, REPLY
from training.student.losses import Targets


def targets_from_teacher(evaluation: NetworkEvaluation, reply: Tensor, has_errors: bool) -> Targets:
    """Take a teacher's evaluation as targets, and `reply`, int64 [N], from the record: the opponent's next move.

    `has_errors` says whether the teacher estimates the time left and short-term errors."""
    ones = torch.ones_like(evaluation.value[:, 0])
    optimistic = evaluation.policy if evaluation.optimistic is None else evaluation.optimistic
    return Targets(
        policy=evaluation.policy.softmax(1),
        policy_weight=ones,
        optimistic=optimistic.softmax(1),
        optimistic_weight=ones,
        reply=reply,
        value=evaluation.value,
        value_weight=ones,
        score=evaluation.score,
        score_weight=ones,
        errors_weight=ones if has_errors else torch.zeros_like(ones),
        ownership=evaluation.ownership,
        ownership_weight=ones,
    )


def targets_from_records(labels: Tensor, cells: int) -> Targets:
    """Take the record's next move and result as targets, which are free and noisy.

    `labels` is int16 [N, LABELS]; `cells` is S*S of the canvas."""
    move, outcome = labels[:, MOVE].long(), labels[:, OUTCOME].float()
    count = len(labels)
    zeros = torch.zeros(count, device=labels.device)
    policy = torch.zeros(count, cells + 1, device=labels.device)
    policy.scatter_(1, move.clamp(min=0)[:, None], (move >= 0).float()[:, None])
    value = torch.zeros(count, 3, device=labels.device)
    value[:, WIN], value[:, LOSS] = (outcome > 0).float(), (outcome < 0).float()
    return Targets(
        policy=policy,
        policy_weight=(move >= 0).float(),
        optimistic=policy,
        optimistic_weight=zeros,
        reply=labels[:, REPLY].long(),
        value=value,
        value_weight=(outcome != 0).float(),
        score=torch.zeros(count, SCORE_COLUMNS, device=labels.device),
        score_weight=zeros,
        errors_weight=zeros,
        ownership=torch.zeros(count, cells, device=labels.device),
        ownership_weight=zeros,
    )
