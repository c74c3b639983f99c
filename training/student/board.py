"""Where the boards of a batch lie on their canvas, and what is computed over whole boards."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from training.convolutions.dense import is_suited
from training.convolutions.pooling import pooled
from training.positions.canvas import OFF_BOARD


class Board(NamedTuple):
    """Where the boards of a batch lie on their canvas."""

    mask: Tensor | None
    """[N, 1, S, S] 1 on the board; None where all boards fill the canvas"""
    area: Tensor
    """[N, 1] points"""
    linear: Tensor
    """[N, 1] (w - 14) / 10, with w the root of the area"""

    @staticmethod
    def of(spatial: Tensor, fills_canvas: bool) -> Board:
        """Read the boards from the planes [N, 22, S, S]."""
        mask = spatial[:, :1]
        area = mask.sum((2, 3), dtype=torch.float32)
        return Board(None if fills_canvas else mask, area, (area.sqrt() - 14.0) / 10.0)

    def cut(self, x: Tensor) -> Tensor:
        """Set [N, C, S, S] to zero outside the board. What is in bf16 stays in bf16."""
        return x if self.mask is None else x * self.mask.to(x.dtype)

    def mean(self, x: Tensor) -> Tensor:
        """Return the means [N, C] of x [N, C, S, S], which is zero outside the board."""
        return x.sum((2, 3), dtype=torch.float32) / self.area

    def pool(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], zero outside the board, to [N, 3C]: mean, mean * linear, maximum on the board."""
        if is_suited(x, x.shape[1]):
            sums, highest = pooled(x, self.mask)
            mean = sums / self.area
        else:
            mean = self.mean(x)
            covered = x if self.mask is None else torch.where(self.mask > 0, x, OFF_BOARD)
            highest = covered.amax((2, 3))
        return torch.cat([mean, mean * self.linear, highest], 1)

    def pool_value(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], zero outside the board, to [N, 3C]: mean, mean * linear, mean * (linear^2 - 0.1)."""
        mean = self.mean(x)
        return torch.cat([mean, mean * self.linear, mean * (self.linear.square() - 0.1)], 1)
