"""Few and short games, so that tests quantize quickly."""

from __future__ import annotations

from nets.precision.own_games import SERIES, Series

SMALL_SERIES = tuple(Series(each.width, each.height, 2, 12, 4) for each in SERIES)
