"""Labels: what a position should evaluate to, by a teacher's opinion or by its record alone."""

from __future__ import annotations

import torch
from torch import Tensor

from nets.evaluator import LOSS, SCORE_COLUMNS, WIN
from training.positions.replay import MOVE, OUTCOME, REPLY
from training.student.losses import Targets
from training.teacher.network import Opinion


def by_teacher(opinion: Opinion, labels: Tensor, has_errors: bool) -> Targets:
    """A teacher's opinion as labels; the opponent's reply is the record's. `labels` int16 [N, LABELS].

    `has_errors`: the teacher estimates the time left and short-term errors."""
    ones = torch.ones_like(opinion.value[:, 0])
    optimistic = opinion.policy if opinion.optimistic is None else opinion.optimistic
    return Targets(
        policy=opinion.policy.softmax(1),
        policy_weight=ones,
        optimistic=optimistic.softmax(1),
        optimistic_weight=ones,
        reply=labels[:, REPLY].long(),
        value=opinion.value,
        value_weight=ones,
        score=opinion.score,
        score_weight=ones,
        errors_weight=ones if has_errors else torch.zeros_like(ones),
        ownership=opinion.ownership,
        ownership_weight=ones,
    )


def by_record(labels: Tensor, cells: int) -> Targets:
    """The record's next move and result as labels: free, and noisy. `cells`: S*S of the canvas."""
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
