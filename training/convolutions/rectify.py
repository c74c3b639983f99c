"""What follows a convolution, max(x + bias, 0) on the boards and 0 beside them, in one pass over memory, and its
gradients in another. In PyTorch those are three and four passes, which cost as much time as a convolution in bf16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from go_rules.machine.jit import kernel, kernel_part
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.vectors import floats, larger, load_float, load_floats, only_where_positive, store
from training.convolutions.bfloat16 import load_bfloats, store_as_bfloats
from training.convolutions.chunks import in_chunks
from training.convolutions.products import LANES

KINDS = {torch.float32: FLOAT_BYTES, torch.bfloat16: 2}
"""What numbers may be given in, with their bytes."""
CHUNK_NUMBERS = 200_000
"""About how many numbers are done at once."""


def is_suited(x: Tensor, channels: int) -> bool:
    """Return whether `rectified` can do so many channels of the device and the kind of x."""
    return x.device.type == "cpu" and x.dtype in KINDS and channels % LANES == 0


def rectified(x: Tensor, bias: Tensor, mask: Tensor | None, in_place: bool) -> Tensor:
    """Return max(x + bias, 0) for x [N, C, H, W] and a bias [C] or [N, C], float32, with 0 where `mask` [N, 1, H, W],
    float32, is 0. `in_place` overwrites x."""
    result: Tensor = _Rectified.apply(x, bias, mask, in_place)
    return result


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, bias: Tensor, mask: Tensor | None, in_place: bool) -> Tensor:
        if in_place and x.is_contiguous(memory_format=torch.channels_last):
            y = x
            context.mark_dirty(x)
        else:
            x = x.contiguous(memory_format=torch.channels_last)
            y = torch.empty_like(x)
        _forward(x, y, bias.contiguous(), None if mask is None else mask.contiguous())
        context.save_for_backward(y)
        context.has_bias_each = bias.ndim == 2
        return y

    @staticmethod
    def backward(context: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (y,) = context.saved_tensors
        dy = dy.to(y.dtype).contiguous(memory_format=torch.channels_last)
        dx, sums = torch.empty_like(y), torch.zeros(y.shape[:2])
        points, channels, width = y.shape[2] * y.shape[3], y.shape[1], KINDS[y.dtype]
        board = points * channels * width

        def run(first: int, count: int) -> None:
            y_at, dy_at, dx_at = (each.data_ptr() + first * board for each in (y, dy, dx))
            to_sums = sums.data_ptr() + first * channels * FLOAT_BYTES
            _back(y_at, dy_at, dx_at, to_sums, count, points, channels, width)

        in_chunks(lambda: run, len(y), _chunk(points * channels))
        return dx, sums if context.has_bias_each else sums.sum(0), None, None


def _forward(x: Tensor, y: Tensor, bias: Tensor, mask: Tensor | None) -> None:
    points, channels, width = x.shape[2] * x.shape[3], x.shape[1], KINDS[x.dtype]
    bias_step = channels * FLOAT_BYTES if bias.ndim == 2 else 0

    def run(first: int, count: int) -> None:
        skipped = first * points * channels * width
        boards = 0 if mask is None else mask.data_ptr() + first * points * FLOAT_BYTES
        own_bias = bias.data_ptr() + first * bias_step
        to_there = x.data_ptr() + skipped, y.data_ptr() + skipped
        _rectify(*to_there, own_bias, bias_step, boards, count, points, channels, width)

    in_chunks(lambda: run, len(x), _chunk(points * channels))


def _chunk(numbers: int) -> int:
    return max(1, CHUNK_NUMBERS // numbers)


@kernel
def _rectify(x, y, bias, bias_step, mask, boards, points, channels, width):
    """Write max(x + bias, 0) to y, both [boards, points, channels] of `width` bytes each, 0 where `mask` [boards,
    points] is. `bias_step` is the bytes from one board's bias to the next; without a mask its address is 0."""
    zero = floats(0.0)
    for board in range(boards):
        for point in range(points):
            cell = board * points + point
            at = cell * channels * width
            if mask != 0 and load_float(mask, cell * FLOAT_BYTES) == 0.0:
                for channel in range(0, channels, LANES):
                    _store(width, y + at, channel, zero)
            else:
                for channel in range(0, channels, LANES):
                    total = _load(width, x + at, channel) + load_floats(bias, channel * FLOAT_BYTES)
                    _store(width, y + at, channel, larger(zero, total))
        bias += bias_step


@kernel
def _back(y, dy, dx, sums, boards, points, channels, width):
    """Write dy to dx where y is positive, else 0, all [boards, points, channels]; add dx to [boards, channels] sums."""
    for board in range(boards):
        for point in range(points):
            at = (board * points + point) * channels * width
            for channel in range(0, channels, LANES):
                gradient = only_where_positive(_load(width, y + at, channel), _load(width, dy + at, channel))
                _store(width, dx + at, channel, gradient)
                store(sums, channel * FLOAT_BYTES, load_floats(sums, channel * FLOAT_BYTES) + gradient)
        sums += channels * FLOAT_BYTES


@kernel_part
def _load(width, address, number):
    if width == FLOAT_BYTES:
        vector = load_floats(address, number * width)
    else:
        vector = load_bfloats(address, number * width)
    return vector


@kernel_part
def _store(width, address, number, vector):
    if width == FLOAT_BYTES:
        store(address, number * width, vector)
    else:
        store_as_bfloats(address, number * width, vector)
