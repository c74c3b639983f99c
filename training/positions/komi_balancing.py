"""Komi balancing: a position's komi is changed so that, by the teacher's estimate, neither side is ahead.

Under most komi a position is won or lost, and a student that knows what komi is worth need not learn to count. KataGo's
self-play begins its games from balanced positions for the same reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nets.features import (
    GLOBAL_CLEANUP_2,
    GLOBAL_KOMI,
    GLOBAL_PARITY,
    GLOBAL_PASS_ENDS_PHASE,
    GLOBAL_TERRITORY,
    KOMI_BEYOND_AREA,
    KOMI_UNIT,
)

DEVIATION = 2.0
"""Standard deviation, in points, of the new komi from the balanced one: the teacher's lead is not exact."""


class KomiBalancing(NamedTuple):
    """Which positions of a batch are to be learned from once more with balanced komi."""

    index: Tensor
    """int64 [M] positions of the batch"""
    noise: Tensor
    """[M] points to add to the balanced komi"""


def draw_komi_balancing(count: int, share: float, generator: np.random.Generator) -> KomiBalancing:
    """Choose a share of a batch of `count` positions at random."""
    chosen = generator.permutation(count)[: round(share * count)]
    noise = generator.normal(0.0, DEVIATION, len(chosen)).astype(np.float32)
    return KomiBalancing(torch.from_numpy(chosen), torch.from_numpy(noise))


def with_balanced_komi(global_: Tensor, lead: Tensor, noise: Tensor, area: Tensor) -> Tensor:
    """Return the global features [N, 19] with the komi that makes up for the lead, plus `noise`.

    `lead` [N] is the teacher's, in points from the view of the side to move; `area` [N] is the number of points of each
    board. Positions in which a pass may end the game stay as they are, since whether it does can depend on komi.
    """
    komi = global_[:, GLOBAL_KOMI] * KOMI_UNIT - lead + noise
    most = area + KOMI_BEYOND_AREA
    komi = torch.minimum(torch.maximum((2.0 * komi).round() / 2.0, -most), most)
    counts_area = (global_[:, GLOBAL_TERRITORY] == 0) | (global_[:, GLOBAL_CLEANUP_2] == 1)
    result = global_.clone()
    result[:, GLOBAL_KOMI] = komi / KOMI_UNIT
    result[:, GLOBAL_PARITY] = torch.where(counts_area, _parity_wave(komi, area), 0.0)
    may_end = (global_[:, 0] == 1) | (global_[:, GLOBAL_PASS_ENDS_PHASE] == 1)
    return torch.where(may_end[:, None], global_, result)


def _parity_wave(komi: Tensor, area: Tensor) -> Tensor:
    """Compute what the function of the same name in nets.features computes."""
    above = torch.remainder(komi - torch.remainder(area, 2.0), 2.0)
    return torch.where(above < 0.5, above, torch.where(above < 1.5, 1.0 - above, above - 2.0))
