"""Komi balancing: a position's komi is changed so that, by the teacher's estimate, neither side is ahead.

Under most komi a position is won or lost, and a student that knows what komi is worth need not learn to count. KataGo's
self-play begins its games from balanced positions for the same reason. Where a side is far ahead, late in a game, that
would take a komi which no game has, so such positions stay single.

A student that is to play handicap games has to learn, too, what playout doublings mean (search/nobi/doublings.py). So
in a share of these positions the teacher is told some, and komi puts the side that is stronger behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from go_rules.handicap import LEAST_LEAD, weight_of_a_point
from nets.features import (
    DOUBLINGS_STEP,
    GLOBAL_ADVANTAGE,
    GLOBAL_CLEANUP_2,
    GLOBAL_HAS_ADVANTAGE,
    GLOBAL_KOMI,
    GLOBAL_PARITY,
    GLOBAL_PASS_ENDS_PHASE,
    GLOBAL_TERRITORY,
    KOMI_BEYOND_AREA,
    KOMI_UNIT,
    MOST_DOUBLINGS,
)

DEVIATION = 2.0
"""Standard deviation, in points, of the new komi from the balanced one: the teacher's lead is not exact."""


POINTS_A_DOUBLING = 1.0 / 0.045
"""The points on 19×19, beyond LEAST_LEAD, for which KataGo tells a network that it is stronger by a doubling."""
LARGEST_LEAD, ALMOST_MOST = 130.0, 2.5
"""The lead of a game with nine handicap stones. From ALMOST_MOST doublings on a side may be as far behind."""


class KomiBalancing(NamedTuple):
    """Positions of a batch, and what balanced komi they get when they are learned from once more."""

    index: Tensor
    """int64 [M] positions of the batch"""
    noise: Tensor
    """[M] points to add to the balanced komi"""
    doublings: Tensor
    """[M] playout doublings of the side to move; 0 in positions between equals"""
    behind: Tensor
    """[M] by how much komi puts the stronger side behind, as a share of the most that goes with its doublings"""

    def to(self, device: torch.device) -> KomiBalancing:
        """Copy all of it to a device."""
        return KomiBalancing._make(part.to(device) for part in self)

    def chosen(self, places: Tensor) -> KomiBalancing:
        """Return what concerns those of the M positions that `places`, int64 [K], names."""
        return KomiBalancing._make(part[places] for part in self)


def draw_komi_balancing(count: int, generator: np.random.Generator, doublings_share: float = 0.0) -> KomiBalancing:
    """Put all `count` positions of a batch in a random order; in `doublings_share` of them one side is stronger."""
    order = generator.permutation(count)
    noise = generator.normal(0.0, DEVIATION, count).astype(np.float32)
    uneven = generator.random(count) < doublings_share
    doublings = generator.uniform(-MOST_DOUBLINGS, MOST_DOUBLINGS, count).astype(np.float32)
    behind = generator.random(count, np.float32)
    doublings = np.where(uneven, DOUBLINGS_STEP * np.rint(doublings / DOUBLINGS_STEP), 0.0).astype(np.float32)
    return KomiBalancing(*(torch.from_numpy(array) for array in (order, noise, doublings, behind)))


def choose_balanced(
    global_: Tensor, lead: Tensor, area: Tensor, balancing: KomiBalancing, count: int, most: float
) -> KomiBalancing:
    """Choose the first `count` positions that can have balanced komi; where there are too few, others follow them.

    The number does not depend on the positions, so that a GPU need not be waited for, and gets batches of one size. The
    arguments are those of `with_balanced_komi`.
    """
    fits = _fits(global_, lead, area, balancing, most)
    return balancing.chosen((~fits).to(torch.uint8).argsort(stable=True)[:count])


def with_balanced_komi(
    global_: Tensor, lead: Tensor, area: Tensor, balancing: KomiBalancing, most: float = float("inf")
) -> Tensor:
    """Return the global features [M, 19] of the chosen positions with the komi that makes up for the lead, except for
    what `balancing` says, and with its doublings.

    `lead` [M] is the teacher's, in points from the view of the side to move; `area` [M] is the number of points of each
    board. Two kinds of positions stay as they are: those in which a pass may end the game, since whether it does can
    depend on komi; and those with a lead beyond `most` points, counted as on 19×19.
    """
    fits = _fits(global_, lead, area, balancing, most)
    komi = global_[:, GLOBAL_KOMI] * KOMI_UNIT - lead + balancing.noise - _start(balancing, area)
    most = area + KOMI_BEYOND_AREA
    komi = torch.minimum(torch.maximum((2.0 * komi).round() / 2.0, -most), most)
    counts_area = (global_[:, GLOBAL_TERRITORY] == 0) | (global_[:, GLOBAL_CLEANUP_2] == 1)
    result = global_.clone()
    result[:, GLOBAL_KOMI] = komi / KOMI_UNIT
    result[:, GLOBAL_PARITY] = torch.where(counts_area, _parity_wave(komi, area), 0.0)
    result[:, GLOBAL_HAS_ADVANTAGE] = (balancing.doublings != 0.0).to(result.dtype)
    result[:, GLOBAL_ADVANTAGE] = 0.5 * balancing.doublings
    return torch.where(fits[:, None], result, global_)


def _fits(global_: Tensor, lead: Tensor, area: Tensor, balancing: KomiBalancing, most: float) -> Tensor:
    """Return bool [M]: which positions `with_balanced_komi` changes."""
    may_end = (global_[:, 0] == 1) | (global_[:, GLOBAL_PASS_ENDS_PHASE] == 1)
    # What the stronger side is behind already, up to what it is to be behind, is as it should be in a handicap game.
    start = _start(balancing, area)
    wanted = torch.minimum(torch.maximum(lead, (-start).clamp(max=0.0)), (-start).clamp(min=0.0))
    return ~may_end & ((lead - wanted).abs() * weight_of_a_point(area) <= most)


def _start(balancing: KomiBalancing, area: Tensor) -> Tensor:
    """Return [M]: by how many points the side to move, if it is the stronger one, is to be behind; else negative."""
    doublings = balancing.doublings.abs()
    most = torch.where(doublings < ALMOST_MOST, LEAST_LEAD + doublings * POINTS_A_DOUBLING, LARGEST_LEAD)
    return balancing.doublings.sign() * balancing.behind * most / weight_of_a_point(area)


def _parity_wave(komi: Tensor, area: Tensor) -> Tensor:
    """Compute what the function of the same name in nets.features computes."""
    above = torch.remainder(komi - torch.remainder(area, 2.0), 2.0)
    return torch.where(above < 0.5, above, torch.where(above < 1.5, 1.0 - above, above - 2.0))
