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
from training.labels.samples import Samples, unpack_probabilities
from training.network import NetworkEvaluation
from training.positions.canvas import MOVE, OUTCOME, REPLY

KINDS = 6
"""How many kinds of targets there are: policy, optimistic policy, value, score, errors, ownership."""
ERRORS = 4
"""The number of the errors among them."""


class Targets(NamedTuple):
    """What N positions should evaluate to, from the view of the side to move."""

    policy: Tensor
    """[N, S*S + 1] probabilities, 0 outside the board"""
    optimistic: Tensor
    """[N, S*S + 1] the teacher's optimistic policy, as `policy`"""
    reply: Tensor
    """int64 [N] the cell of the opponent's next move, -1 unknown"""
    value: Tensor
    """[N, 3] probabilities of win, loss, no result"""
    score: Tensor
    """[N, 6] the columns of `Evaluation.score`"""
    ownership: Tensor
    """[N, S*S] in [-1, 1]"""
    known: Tensor
    """[N, KINDS] 1 where each kind of target is known, else 0; in the order of the bits of `Samples.known`"""

    def to(self, device: torch.device) -> Targets:
        """Copy the targets to a device, without waiting for it."""
        return Targets._make(part.to(device, non_blocking=True) for part in self)

    def joined_with(self, other: Targets) -> Targets:
        """Return these targets and, after them, those of other positions."""
        return Targets._make(torch.cat(pair) for pair in zip(self, other, strict=True))


def targets_from_teacher(evaluation: NetworkEvaluation, reply: Tensor, has_errors: bool) -> Targets:
    """Take a teacher's evaluation as targets, and `reply`, int64 [N], from the record: the opponent's next move.

    `has_errors` says whether the teacher estimates the time left and short-term errors."""
    optimistic = evaluation.policy if evaluation.optimistic is None else evaluation.optimistic
    policy, _, value, score, ownership = evaluation
    known = torch.ones(len(reply), KINDS, device=reply.device)
    known[:, ERRORS] = float(has_errors)
    return Targets(policy.softmax(1), optimistic.softmax(1), reply, value, score, ownership, known)


def targets_from_records(labels: Tensor, cells: int) -> Targets:
    """Take the record's next move and result as targets, which are free and noisy.

    `labels` is int16 [N, LABELS]; `cells` is S*S of the canvas."""
    move, outcome = labels[:, MOVE].long(), labels[:, OUTCOME].float()
    zeros = torch.zeros(len(labels), cells + 1, device=labels.device)
    policy = zeros.scatter(1, move.clamp(min=0)[:, None], (move >= 0).float()[:, None])
    value = zeros[:, :3].clone()
    value[:, WIN], value[:, LOSS] = (outcome > 0).float(), (outcome < 0).float()
    none = zeros[:, 0]
    known = torch.stack([(move >= 0).float(), none, (outcome != 0).float(), none, none, none], 1)
    return Targets(policy, policy, labels[:, REPLY].long(), value, zeros[:, :SCORE_COLUMNS], zeros[:, :cells], known)


def targets_from_samples(samples: Samples) -> Targets:
    """Convert the labels of samples to targets on the CPU."""
    arrays = (
        unpack_probabilities(samples.policy),
        unpack_probabilities(samples.optimistic),
        samples.reply.astype(np.int64),
        samples.value,
        samples.score,
        samples.ownership.astype(np.float32) / 127.0,
        np.unpackbits(samples.known[:, None], axis=1, count=KINDS, bitorder="little").astype(np.float32),
    )
    return Targets(*map(torch.from_numpy, arrays))


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
