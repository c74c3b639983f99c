"""A batch of positions on its way from the kernels to the network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import PASS, column_of, row_of
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from training.positions.replay import LABELS

CANVASES = (9, 13, 19)
"""Boards of 7 to 9, 10 to 13 and 14 to 19 lines share a canvas: a batch has one, and costs what it costs."""
SMALLEST = 7
OFF_BOARD = -1e4
"""The logit of a cell outside the board: its probability is exactly 0."""


class Positions(NamedTuple):
    """N positions on a canvas of S×S, and what their records say of them."""

    spatial: NDArray[np.uint8]
    """[N, 22, S, S] zeros and ones"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    labels: NDArray[np.int16]
    """[N, LABELS] training.positions.replay"""

    @property
    def fills_canvas(self) -> bool:
        """Whether every board is as large as the canvas: no masks are needed."""
        return bool(self.spatial[:, 0, -1, -1].all())

    def part(self, first: int, last: int) -> Positions:
        """A view of some of them."""
        return Positions(self.spatial[first:last], self.global_[first:last], self.labels[first:last])


def new_positions(count: int, canvas: int) -> Positions:
    """Room for positions, uninitialised."""
    return Positions(
        np.empty((count, SPATIAL_PLANES, canvas, canvas), np.uint8),
        np.empty((count, GLOBAL_FEATURES), np.float32),
        np.empty((count, LABELS), np.int16),
    )


def batch_of(canvas: int, batch: int) -> int:
    """Positions in a batch on this canvas, where `batch` is that on 19×19: about equal work."""
    return max(1, round(batch * (361 / canvas**2) / 8) * 8) if canvas < 19 else batch


def sizes_on(canvas: int) -> tuple[int, ...]:
    """The board sizes that use a canvas."""
    smaller = [size for size in CANVASES if size < canvas]
    return tuple(range(max(smaller) + 1 if smaller else SMALLEST, canvas + 1))


def board_cells(size: int, canvas: int) -> NDArray[np.int64]:
    """[size*size]: the cells of a board in the top left corner of its canvas, row by row."""
    cells: NDArray[np.int64] = (np.arange(size)[:, None] * canvas + np.arange(size)).ravel()
    return cells


def cell_at(point: int, canvas: int) -> int:
    """The cell of a point, or of PASS, which comes last."""
    return canvas * canvas if point == PASS else row_of(point) * canvas + column_of(point)
