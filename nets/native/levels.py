"""Levels: an activation's values as integers, a channel's own step apart.

What Winograd's method reads is transformed in 16 bits, which leaves an activation few levels; what a convolution of 1×1
reads has as many as sums in 32 bits and weights share best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, FloatArray
from nets.native.activations import LOWEST
from nets.native.tiling import MOST_INPUT, MOST_LEVELS, reach

NARROWEST = 1e-2
"""Least range of a channel, as a share of the widest one's: a channel that never fired may do so one day."""
MOST_CURVED = 420
"""Winograd's levels of an activation that is seldom and little below 0, which leaves it a third as many there."""
MOST_PLAIN = 4095
"""Levels of what no Winograd transform reads."""

Steps = FloatArray
"""[channels]: what a level of each is worth."""


class Levels(NamedTuple):
    """The first and the last level."""

    least: int
    most: int


def levels_of(activation: Activation, is_transformed: bool) -> Levels:
    """For what reads an activation by Winograd's method, or plainly."""
    is_positive = activation is Activation.RELU
    if not is_transformed:
        return Levels(0 if is_positive else -MOST_PLAIN, MOST_PLAIN)
    if is_positive:
        return Levels(0, MOST_LEVELS)
    if activation is Activation.IDENTITY:
        most = _least_beside(None)
        return Levels(-most, most)
    return Levels(-_least_beside(MOST_CURVED), MOST_CURVED)


def _least_beside(most: int | None) -> int:
    """How many levels below 0 fit beside so many above, as many as below where None is given."""
    over, under = (each.astype(np.float64) for each in reach())
    if most is None:
        return int(MOST_INPUT // (over + under).max())
    with np.errstate(divide="ignore"):
        below = np.minimum((MOST_INPUT - over * most) / under, (MOST_INPUT - under * most) / over)
    return int(below.min())


def at_places(levels: Levels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[PLACES] how far above and below 0 Winograd's transform takes such levels."""
    over, under = reach()
    return over * levels.most - under * levels.least, under * levels.most - over * levels.least


def steps(highest: FloatArray, activation: Activation, levels: Levels) -> Steps:
    """From the highest values [channels] that should be told apart. What the activation may be at least has levels
    whatever was seen."""
    least = max(NARROWEST * float(highest.max()), 1e-6)
    result = np.maximum(highest, least) / levels.most
    if -math.inf < LOWEST[activation] < 0:
        result = np.maximum(result, LOWEST[activation] / levels.least)
    return np.asarray(result, np.float32)
