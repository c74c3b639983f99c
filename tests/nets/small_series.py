"""Few and short games, so that tests calibrate quickly."""

from __future__ import annotations

from nets.features import Scratch
from nets.precision.calibration import SERIES, Positions, Series
from nets.precision.calibration_games import recorded_positions

SMALL_SERIES = tuple(Series(each.width, each.height, 2, 12, 4) for each in SERIES)


def few_recorded(scratch: Scratch) -> list[Positions]:
    """Return a few of the positions that our own kernels are calibrated with, on boards of each size."""
    return [(spatial[::12], global_[::12]) for spatial, global_ in recorded_positions(scratch)]
