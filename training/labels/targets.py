"""Targets: what positions should evaluate to, by a teacher's evaluation, by the game record alone, or by samples that
were kept; and how they are turned with their positions by the symmetries of the board."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nets.evaluator import LOSS, SCORE_COLUMNS, WIN
from nets.symmetry import symmetry_permutations
from training.labels.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    Samples,
    unpack_probabilities,
)
from training.network import NetworkEvaluation
from training.positions.canvas import MOVE, OUTCOME, REPLY


class Targets(NamedTuple):
    """What N positions should evaluate to, from the view of the side to move. A weight of 0 marks what is not known."""

    policy: Tensor
    """[N, S*S + 1] probabilities, 0 outside the board"""
    policy_weight: Tensor
    """[N], as all weights"""
    optimistic: Tensor
    """[N, S*S + 1] the teacher's optimistic policy, as `policy`"""
    optimistic_weight: Tensor
    reply: Tensor
    """int64 [N] the cell of the opponent's next move, -1 unknown"""
    value: Tensor
    """[N, 3] probabilities of win, loss, no result"""
    value_weight: Tensor
    score: Tensor
    """[N, 6] the columns of `Evaluation.score`"""
    score_weight: Tensor
    errors_weight: Tensor
    ownership: Tensor
    """[N, S*S] in [-1, 1]"""
    ownership_weight: Tensor

    def to(self, device: torch.device) -> Targets:
        """Copy the targets to a device, without waiting for it."""
        return Targets._make(part.to(device, non_blocking=True) for part in self)

    def joined_with(self, other: Targets) -> Targets:
        """Return these targets and, after them, those of other positions."""
        return Targets._make(torch.cat(pair) for pair in zip(self, other, strict=True))


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


def targets_from_samples(samples: Samples) -> Targets:
    """Convert the labels of samples to targets on the CPU."""

    def weight(bit: int) -> Tensor:
        return torch.from_numpy((samples.known & bit != 0).astype(np.float32))

    return Targets(
        policy=torch.from_numpy(unpack_probabilities(samples.policy)),
        policy_weight=weight(HAS_POLICY),
        optimistic=torch.from_numpy(unpack_probabilities(samples.optimistic)),
        optimistic_weight=weight(HAS_OPTIMISTIC),
        reply=torch.from_numpy(samples.reply.astype(np.int64)),
        value=torch.from_numpy(samples.value),
        value_weight=weight(HAS_VALUE),
        score=torch.from_numpy(samples.score),
        score_weight=weight(HAS_SCORE),
        errors_weight=weight(HAS_ERRORS),
        ownership=torch.from_numpy(samples.ownership.astype(np.float32) / 127.0),
        ownership_weight=weight(HAS_OWNERSHIP),
    )


def turned(spatial: Tensor, targets: Targets, symmetries: Tensor) -> tuple[Tensor, Targets]:
    """Turn N positions `spatial` [N, 22, S, S] and their targets, each by its symmetry, int64 [N].

    Boards smaller than the canvas may lie in another corner then."""
    to, source = (each[symmetries] for each in _permutations(spatial.shape[-1], spatial.device))
    cells, reply = source[:, :-1], targets.reply
    planes = spatial.flatten(2).gather(2, cells[:, None].expand(-1, spatial.shape[1], -1)).view(spatial.shape)
    return planes, targets._replace(
        policy=targets.policy.gather(1, source),
        optimistic=targets.optimistic.gather(1, source),
        reply=torch.where(reply >= 0, to.gather(1, reply.clamp(min=0)[:, None])[:, 0], reply),
        ownership=targets.ownership.gather(1, cells),
    )


@cache
def _permutations(side: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return int64 [SYMMETRIES, S*S + 1] twice: where each symmetry takes each cell, and what it takes to each cell.
    The last cell is the pass."""
    to = torch.from_numpy(symmetry_permutations(side, side).astype(np.int64)).to(device)
    return to, to.argsort(1)
