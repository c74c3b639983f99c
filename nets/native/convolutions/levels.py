"""Levels: the values of an activation as integers. Each channel has its own step from one level to the next.

Winograd's method transforms its inputs in 16 bits, so these have few levels. The inputs of a 1×1 convolution have as
many as suits the weights best, so that sums fit into 32 bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import Activation, FloatArray
from nets.native.convolutions.tiling import reach
from nets.native.simd.activations import LOWEST

NARROWEST = 1e-2
"""Least range of a channel, as a share of the widest one's: a channel that never fired may do so one day."""
LOWER_SHARE = 0.31
"""How many levels below 0 an activation has for each level above, if it is seldom and little below 0."""
MOST_INPUT = 32767
"""The largest input of a product: at no place may it outgrow 16 bits, so that Winograd's transform is exact."""
MOST_PLAIN = 4095
"""The highest level of activations that no transform reads."""
PLAIN = 0
"""The side of the largest tile for 1×1 convolutions, which have no tiles."""

Steps = FloatArray
"""[channels]: what a level of each is worth."""


class Levels(NamedTuple):
    """The least and the greatest level."""

    least: int
    most: int


ENDLESS = 1 << 62
"""Further than any number in bf16 goes."""


def numbers_of(activation: Activation) -> Levels:
    """Return what numbers in bf16 are cut off at: ReLU's at 0, the others nowhere."""
    return Levels(0 if activation is Activation.RELU else -ENDLESS, ENDLESS)


def levels_of(activation: Activation, largest: int) -> Levels:
    """Return the levels for a reader by Winograd's method in tiles of at most `largest` points, or for a plain one."""
    share = {Activation.RELU: 0.0, Activation.IDENTITY: 1.0}.get(activation, LOWER_SHARE)
    if largest == PLAIN:
        return Levels(-MOST_PLAIN if share > 0 else 0, MOST_PLAIN)
    over, under = reach(largest)
    most = int(MOST_INPUT / max((over + share * under).max(), (under + share * over).max()))
    return Levels(-int(share * most), most)


def at_places(levels: Levels, largest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how far above and below 0 Winograd's transform takes such levels at each place: two [places]."""
    over, under = reach(largest)
    return over * levels.most - under * levels.least, under * levels.most - over * levels.least


def steps(highest: FloatArray, activation: Activation, levels: Levels) -> Steps:
    """Return the steps for the highest values [channels] that must stay distinct.

    The least value that the activation can have gets a level even if it was not seen."""
    least = max(NARROWEST * float(highest.max()), 1e-6)
    result = np.maximum(highest, least) / levels.most
    if -math.inf < LOWEST[activation] < 0:
        result = np.maximum(result, LOWEST[activation] / levels.least)
    return np.asarray(result, np.float32)
