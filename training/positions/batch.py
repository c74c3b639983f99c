"""A batch of positions on its way from the kernels to the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from training.positions.replay import LABELS

if TYPE_CHECKING:
    from torch import Tensor

    from training.positions.komi_balancing import KomiBalancing
    from training.student.losses import Targets

PendingPolicy = Callable[[], NDArray[np.float32]]
"""A function that waits until the device has computed a policy, and returns its logits, float32 [N, S*S + 1]."""


class Positions(NamedTuple):
    """N positions on a canvas of S×S, as kernels write them."""

    spatial: NDArray[np.uint8]
    """[N, 22, S, S] zeros and ones"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    labels: NDArray[np.int16]
    """[N, LABELS] what the game record says of each position (training/positions/replay.py)"""

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


@dataclass(frozen=True)
class Batch:
    """A batch of N positions as tensors in the CPU's memory. The next batch but one may overwrite them."""

    source: str
    """Where the positions come from: a key of progress.jsonl, like `records` or `play9`."""
    spatial: Tensor
    """uint8 [N, 22, S, S]"""
    global_: Tensor
    """[N, 19]"""
    labels: Tensor
    """int16 [N, LABELS]"""
    targets: Targets | None
    """What to learn, where it came with the positions. None: a teacher is to be asked, or `labels` say it."""
    fills_canvas: bool
    """Whether every board is as large as the canvas."""
    komi_balancing: KomiBalancing | None = None
    """With what balanced komi positions can be learned from once more, in the order in which they are chosen."""
    balanced: int = 0
    """How many of them are."""
    made_of: KomiBalancing | None = None
    """Of a batch that ends with positions under balanced komi: of which of its positions these were made, and how."""
    play_on: Callable[[PendingPolicy], None] | None = None
    """For positions of games in progress: tells the games by which policy their next moves are drawn."""
    by_student: Tensor | None = None
    """bool [N], for such positions: where the student's policy is to move; elsewhere it is the teacher's."""

    @property
    def learned(self) -> int:
        """How many positions are learned from, those with balanced komi included."""
        return len(self.global_) + self.balanced
