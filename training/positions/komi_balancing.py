"""Even positions: a position's komi changed so that the teacher thinks neither side ahead.

Under any komi but such a one most positions are won or lost, and a student that has understood komi need not learn to
count. KataGo's self-play begins its games from even positions for the same reason.
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
"""Points by which the new komi differ from what is even: the teacher's lead is not exact, and half points matter."""


class Evening(NamedTuple):
    """Which positions of a batch are to be evened."""

    index: Tensor
    """int64 [M]"""
    noise: Tensor
    """[M] points to add to the komi that is even"""


def draw_evening(count: int, share: float, generator: np.random.Generator) -> Evening:
    """A share of a batch of `count`."""
    chosen = generator.permutation(count)[: round(share * count)]
    noise = generator.normal(0.0, DEVIATION, len(chosen)).astype(np.float32)
    return Evening(torch.from_numpy(chosen), torch.from_numpy(noise))


def evened(global_: Tensor, lead: Tensor, noise: Tensor, area: Tensor) -> Tensor:
    """The global features [N, 19] under komi that even out a teacher's `lead` [N], but for `noise` [N]; `area` [N] are
    the points of the boards.

    Where a pass may end the game they stay as they are: whether it does can depend on komi."""
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
    """nets.features' of the same name."""
    above = torch.remainder(komi - torch.remainder(area, 2.0), 2.0)
    return torch.where(above < 0.5, above, torch.where(above < 1.5, 1.0 - above, above - 2.0))
