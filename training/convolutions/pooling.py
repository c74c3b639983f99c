"""Sums and maxima of channels over a board, in one pass over memory, and their gradients in another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from go_rules.compilation.jit import kernel
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.vectors import floats, larger, load_float, load_floats, only_where_equal, store
from training.convolutions.chunks import in_chunks
from training.convolutions.dense import KINDS, boards_at_once, dense, load_numbers, store_numbers
from training.convolutions.products import LANES

LOWEST = -3.0e38
"""The maximum of no points."""


def pooled(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the sums [N, C] of x [N, C, H, W] over all points, and the maxima [N, C] over those where `mask` [N, 1, H,
    W], float32, is not 0; both in float32. Points that share a maximum share its gradient."""
    sums, maxima = _Pooled.apply(x, mask)
    return sums, maxima


class _Pooled(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        x = dense(x)
        mask = None if mask is None else mask.contiguous()
        sums, maxima, ties = (torch.empty(x.shape[:2]) for _ in range(3))
        _in_chunks(_pool, x, mask, sums, maxima, ties)
        context.save_for_backward(x, mask, maxima, ties)
        return sums, maxima

    @staticmethod
    def backward(context: Any, dsums: Tensor, dmaxima: Tensor) -> tuple[Tensor, None]:
        x, mask, maxima, ties = context.saved_tensors
        dx = torch.empty_like(x)
        _in_chunks(_back, x, mask, maxima, dsums.contiguous(), dmaxima / ties, dx)
        return dx, None


def _in_chunks(run: Any, x: Tensor, *others: Tensor | None) -> None:
    """Call a kernel with the addresses of tensors whose first dimension is that of x, and the shape and kind of x."""
    points, channels = x.shape[2] * x.shape[3], x.shape[1]

    def work(first: int, count: int) -> None:
        places = (0 if each is None else each[first:].data_ptr() for each in (x, *others))
        run(*places, count, points, channels, KINDS[x.dtype])

    in_chunks(lambda: work, len(x), boards_at_once(points * channels))


@kernel
def _pool(x, mask, sums, maxima, ties, boards, points, channels, width):
    """Write the sums and maxima of `x` [boards, points, channels], of `width` bytes each, and how many points have the
    maximum, all [boards, channels]. `mask` [boards, points] says by 0 which are not looked at for the maximum; its
    address is 0 where all are."""
    for board in range(boards):
        board_x, board_mask = x + board * points * channels * width, mask + board * points * FLOAT_BYTES
        for channel in range(0, channels, LANES):
            total, highest, count = floats(0.0), floats(LOWEST), floats(0.0)
            for point in range(points):
                number = load_numbers(width, board_x, point * channels + channel)
                total = total + number
                if mask == 0 or load_float(board_mask, point * FLOAT_BYTES) != 0.0:
                    highest = larger(number, highest)
            for point in range(points):
                if mask == 0 or load_float(board_mask, point * FLOAT_BYTES) != 0.0:
                    number = load_numbers(width, board_x, point * channels + channel)
                    count = count + only_where_equal(number, highest, floats(1.0))
            at = (board * channels + channel) * FLOAT_BYTES
            store(sums, at, total)
            store(maxima, at, highest)
            store(ties, at, count)


@kernel
def _back(x, mask, maxima, dsums, shares, dx, boards, points, channels, width):
    """Write to `dx`, of the shape and kind of `x`, `dsums` at each point, and `shares` more where x is the maximum and
    `mask` not 0; these, as `maxima`, are [boards, channels]."""
    for board in range(boards):
        board_mask = mask + board * points * FLOAT_BYTES
        for point in range(points):
            first = (board * points + point) * channels
            is_looked_at = mask == 0 or load_float(board_mask, point * FLOAT_BYTES) != 0.0
            for channel in range(0, channels, LANES):
                at = (board * channels + channel) * FLOAT_BYTES
                gradient = load_floats(dsums, at)
                if is_looked_at:
                    number = load_numbers(width, x, first + channel)
                    share = only_where_equal(number, load_floats(maxima, at), load_floats(shares, at))
                    gradient = gradient + share
                store_numbers(width, dx, first + channel, gradient)
