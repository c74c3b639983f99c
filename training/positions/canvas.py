"""Canvases: positions of similar board sizes share a tensor size, each board in the top left corner of its canvas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import PASS, column_of, row_of
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from training.errors import TrainingError

CANVASES = (9, 13, 19)
"""Boards of 7 to 9, 10 to 13 and 14 to 19 lines share a canvas. A batch has one canvas, and costs what that costs."""
SMALLEST = 7
OFF_BOARD = -1e4
"""The logit of a cell outside the board: its probability is exactly 0."""

MOVE, REPLY, OUTCOME = 0, 1, 2
"""Columns of a sample's labels: the record's next move and the move after it, as cells, UNKNOWN where there is none;
and the outcome under such komi: 1 if the side to move won the game, -1 if it lost, 0 unknown."""
LABELS = 3
"""How many columns labels have."""
UNKNOWN = -1

PendingPolicy = Callable[[], NDArray[np.float32]]
"""A function that waits until the device has computed a policy, and returns its logits, float32 [N, S*S + 1]."""


class Positions(NamedTuple):
    """N positions on a canvas of S×S, as kernels write them."""

    spatial: NDArray[np.uint8]
    """[N, 22, S, S] zeros and ones"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    labels: NDArray[np.int16]
    """[N, LABELS] what the game record says of each position"""

    @property
    def fills_canvas(self) -> bool:
        """Whether every board is as large as the canvas, so that no masks are needed."""
        return bool(self.spatial[:, 0, -1, -1].all())

    def part(self, first: int, last: int) -> Positions:
        """Return a view of positions first to last - 1."""
        return Positions(self.spatial[first:last], self.global_[first:last], self.labels[first:last])


def new_positions(count: int, canvas: int) -> Positions:
    """Allocate memory for `count` positions. Its content is undefined."""
    return Positions(
        np.empty((count, SPATIAL_PLANES, canvas, canvas), np.uint8),
        np.empty((count, GLOBAL_FEATURES), np.float32),
        np.empty((count, LABELS), np.int16),
    )


def unlabelled(count: int) -> NDArray[np.int16]:
    """Return the labels, int16 [count, LABELS], of positions of which no record says anything."""
    labels = np.full((count, LABELS), UNKNOWN, np.int16)
    labels[:, OUTCOME] = 0
    return labels


def batch_size_on(canvas: int, batch: int) -> int:
    """Return how many positions on this canvas are about as much work as `batch` positions on 19×19."""
    return max(1, round(batch * (361 / canvas**2) / 8) * 8) if canvas < 19 else batch


def sizes_on(canvas: int) -> tuple[int, ...]:
    """Return the board sizes that use a canvas, the smallest first."""
    smaller = [size for size in CANVASES if size < canvas]
    return tuple(range(max(smaller) + 1 if smaller else SMALLEST, canvas + 1))


def board_cells(size: int, canvas: int) -> NDArray[np.int64]:
    """Return the cells [size*size] of a board on its canvas, row by row."""
    cells: NDArray[np.int64] = (np.arange(size)[:, None] * canvas + np.arange(size)).ravel()
    return cells


def to_canvas(values: NDArray[Any], size: int, canvas: int, fill: float = 0.0) -> NDArray[Any]:
    """Spread values of boards over the cells of their canvas; cells outside the board get `fill`.

    `values` is [N, size*size], or [N, size*size + 1] where the last column belongs to the pass.
    """
    passes = values.shape[1] - size * size
    result = np.full((len(values), canvas * canvas + passes), fill, values.dtype)
    result[:, board_cells(size, canvas)] = values[:, : size * size]
    result[:, canvas * canvas :] = values[:, size * size :]
    return result


def cell_at(point: int, canvas: int) -> int:
    """Return the cell of a point, row * canvas + column; PASS has the last cell, canvas * canvas."""
    return canvas * canvas if point == PASS else row_of(point) * canvas + column_of(point)


def read_canvas_shares(shares: Mapping[str, float]) -> dict[int, float]:
    """Convert the setting data.canvas_shares to the share of each canvas that has one. Raises TrainingError."""
    known = {str(canvas): canvas for canvas in CANVASES}
    unknown = [name for name in shares if name not in known]
    if unknown:
        raise TrainingError(f"data.canvas_shares: {unknown[0]} is none of {', '.join(known)}")
    chosen = {known[name]: share for name, share in shares.items() if share > 0}
    if not chosen:
        raise TrainingError("data.canvas_shares: no canvas has a share above 0")
    return chosen
