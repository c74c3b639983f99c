"""What follows a convolution, max(x + bias, 0) on the boards and 0 beside them, in one pass over memory, and its
gradients in another; where x is the end of a residual block, its sum with the block's input in the same passes. In
PyTorch those are up to six passes, which cost as much time as a convolution in bf16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from go_rules.compilation.jit import kernel
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.vectors import floats, larger, load_float, load_floats, only_where_positive, store
from training.convolutions.chunks import in_chunks
from training.convolutions.dense import KINDS, boards_at_once, dense, is_dense, load_numbers, store_numbers
from training.convolutions.products import LANES


def rectified(
    x: Tensor, bias: Tensor, mask: Tensor | None, in_place: bool = False, kind: torch.dtype | None = None
) -> Tensor:
    """Return max(x + bias, 0) for x [N, C, H, W] and a bias [C] or [N, C], float32, with 0 where `mask` [N, 1, H, W],
    float32, is 0. `kind` is that of the result, else it is that of x. `in_place` overwrites x where the kind stays."""
    result: Tensor = _Rectified.apply(x, bias, mask, in_place, kind or x.dtype)
    return result


def rectified_sum(x: Tensor, added: Tensor, bias: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return x + added, which overwrites `added` unless that is a view, and `rectified` of it; both [N, C, H, W] of the
    same kind."""
    total, result = _RectifiedSum.apply(x, added, bias, mask)
    return total, result


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, x: Tensor, bias: Tensor, mask: Tensor | None, in_place: bool, kind: torch.dtype
    ) -> Tensor:
        if in_place and kind == x.dtype and is_dense(x):
            y = x
            context.mark_dirty(x)
        else:
            x = x if _has_rows(x) else dense(x)
            y = torch.empty(x.shape, dtype=kind, memory_format=torch.channels_last)
        _forward(x, None, None, y, bias, mask)
        context.save_for_backward(y)
        context.kind, context.has_bias_each = x.dtype, bias.ndim == 2
        return y

    @staticmethod
    def backward(context: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        (y,) = context.saved_tensors
        dx, sums = _gradients(y, dy, None, context.kind)
        return dx, sums if context.has_bias_each else sums.sum(0), None, None, None


class _RectifiedSum(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, added: Tensor, bias: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        context.set_materialize_grads(False)
        if not is_dense(added):
            total = added = dense(added)
        elif added._is_view():  # which a function with two results may not overwrite
            total = torch.empty_like(added)
        else:
            total = added
            context.mark_dirty(added)
        y = torch.empty_like(total)
        _forward(dense(x), added, total, y, bias, mask)
        context.save_for_backward(y)
        return total, y

    @staticmethod
    def backward(
        context: Any, dtotal: Tensor | None, dy: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        (y,) = context.saved_tensors
        if dy is None:
            return dtotal, dtotal, None, None
        dx, sums = _gradients(y, dy, dtotal, y.dtype)
        return dx, dx, sums.sum(0), None


def _has_rows(x: Tensor) -> bool:
    """Return whether the channels of each point are beside each other, and one point follows another, maybe with other
    channels between, as in a part of the channels of what is dense."""
    _, _, height, width = x.shape
    step = x.stride(3)
    return x.stride(1) == 1 and x.stride(2) == width * step and x.stride(0) == height * width * step


def _forward(
    x: Tensor, added: Tensor | None, total: Tensor | None, y: Tensor, bias: Tensor, mask: Tensor | None
) -> None:
    """Write x + added to `total`, where they are given, and `rectified` of it to y."""
    points, channels, width = x.shape[2] * x.shape[3], x.shape[1], KINDS[x.dtype]
    bias, mask = bias.contiguous(), None if mask is None else mask.contiguous()
    bias_step = channels * FLOAT_BYTES if bias.ndim == 2 else 0
    step = (channels if is_dense(x) else x.stride(3)) * width

    def run(first: int, count: int) -> None:
        done = first * points

        def at(each: Tensor | None, bytes_each: int) -> int:
            return 0 if each is None else each.data_ptr() + done * bytes_each

        row, y_row = channels * width, channels * KINDS[y.dtype]
        own_bias = bias.data_ptr() + first * bias_step
        places = at(x, step), step, at(added, row), at(total, row), at(y, y_row)
        _rectify(*places, own_bias, bias_step, at(mask, FLOAT_BYTES), count, points, channels, width, KINDS[y.dtype])

    in_chunks(lambda: run, len(x), boards_at_once(points * channels))


def _gradients(y: Tensor, dy: Tensor, dtotal: Tensor | None, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the gradient, of this kind, for what `rectified` made y of, given that for y; and its sums over each
    board, [N, C], which are those for the bias. Then `dtotal` is added to the gradient."""
    dy = dense(dy.to(y.dtype))
    dtotal = None if dtotal is None else dense(dtotal.to(kind))
    dx = torch.empty(y.shape, dtype=kind, memory_format=torch.channels_last)
    sums = torch.zeros(y.shape[:2])
    points, channels = y.shape[2] * y.shape[3], y.shape[1]
    board = points * channels

    def run(first: int, count: int) -> None:
        def at(each: Tensor | None) -> int:
            return 0 if each is None else each.data_ptr() + first * board * KINDS[each.dtype]

        to_sums = sums.data_ptr() + first * channels * FLOAT_BYTES
        widths = KINDS[y.dtype], KINDS[kind]
        _back(at(y), at(dy), at(dtotal), at(dx), to_sums, count, points, channels, *widths)

    in_chunks(lambda: run, len(y), boards_at_once(board))
    return dx, sums


@kernel
def _rectify(x, x_step, added, total, y, bias, bias_step, mask, boards, points, channels, width, y_width):
    """Write max(x + added + bias, 0) to y [boards, points, channels] of `y_width` bytes each, 0 where `mask` [boards,
    points] is, and x + added to `total`, which have `width` bytes each.

    `x_step` is the bytes from one point of x to the next, `bias_step` those from one board's bias to the next. What is
    not there has the address 0.
    """
    zero = floats(0.0)
    for board in range(boards):
        for point in range(points):
            cell = board * points + point
            at, y_at = cell * channels * width, y + cell * channels * y_width
            is_cut = mask != 0 and load_float(mask, cell * FLOAT_BYTES) == 0.0
            if is_cut and total == 0:
                for channel in range(0, channels, LANES):
                    store_numbers(y_width, y_at, channel, zero)
            elif added == 0:
                for channel in range(0, channels, LANES):
                    number = load_numbers(width, x + cell * x_step, channel) + load_floats(bias, channel * FLOAT_BYTES)
                    store_numbers(y_width, y_at, channel, larger(zero, number))
            else:
                for channel in range(0, channels, LANES):
                    number = load_numbers(width, x + cell * x_step, channel) + load_numbers(width, added + at, channel)
                    if total != 0:
                        store_numbers(width, total + at, channel, number)
                    number = larger(zero, number + load_floats(bias, channel * FLOAT_BYTES))
                    store_numbers(y_width, y_at, channel, zero if is_cut else number)
        bias += bias_step


@kernel
def _back(y, dy, dtotal, dx, sums, boards, points, channels, width, x_width):
    """Add dy where y is positive, both [boards, points, channels] of `width` bytes each, to [boards, channels] sums,
    and write it to dx, plus `dtotal` where its address is not 0, both of `x_width` bytes each."""
    for board in range(boards):
        for point in range(points):
            cell = (board * points + point) * channels
            at, x_at = cell * width, cell * x_width
            for channel in range(0, channels, LANES):
                activated, upstream = load_numbers(width, y + at, channel), load_numbers(width, dy + at, channel)
                gradient = only_where_positive(activated, upstream)
                store(sums, channel * FLOAT_BYTES, load_floats(sums, channel * FLOAT_BYTES) + gradient)
                if dtotal != 0:
                    gradient = gradient + load_numbers(x_width, dtotal + x_at, channel)
                store_numbers(x_width, dx + x_at, channel, gradient)
        sums += channels * FLOAT_BYTES
