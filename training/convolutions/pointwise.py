"""A 1x1 convolution of PyTorch's, which is a product of matrices: for that products.py is faster."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.convolutions.chunks import Work, in_chunks
from training.convolutions.products import FLOAT_BYTES, LANES, add_products, multiply

CHUNK_FLOATS = 330_000
"""About how many floats are read and written at once, for a share of the work of one thread."""


def is_suited(_x: Tensor, weight: Tensor) -> bool:
    """Return whether `convolution` can convolve [N, inputs, H, W] by `weight` [outputs, inputs, 1, 1]."""
    outputs, inputs, *size = weight.shape
    return size == [1, 1] and outputs % LANES == inputs % LANES == 0


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve x [N, inputs, H, W] by `weight` [outputs, inputs, 1, 1]."""
    return _Convolution.apply(x, weight)


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        context.save_for_backward(x, weight)
        return _multiply(x, weight.flatten(1).T.contiguous())

    @staticmethod
    def backward(context: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = context.saved_tensors
        dy = dy.contiguous(memory_format=torch.channels_last)
        back = _multiply(dy, weight.flatten(1).contiguous()) if context.needs_input_grad[0] else None
        return back, _gradient(x, dy)[..., None, None] if context.needs_input_grad[1] else None


def _multiply(x: Tensor, matrix: Tensor) -> Tensor:
    """Multiply all points of x [N, inputs, H, W] by `matrix` [inputs, outputs]."""
    inputs, outputs = matrix.shape
    points = x.shape[2] * x.shape[3]
    y = torch.empty((len(x), outputs, *x.shape[2:]), memory_format=torch.channels_last)
    row, to_row = inputs * FLOAT_BYTES, outputs * FLOAT_BYTES

    def run(first: int, count: int) -> None:
        begin = first * points
        to = y.data_ptr() + begin * to_row
        multiply(x.data_ptr() + begin * row, row, matrix.data_ptr(), to, to_row, count * points, inputs, outputs)

    in_chunks(lambda: run, len(x), _chunk(points, inputs, outputs))
    return y


def _gradient(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient [outputs, inputs] of the weights that made of x what has the gradient dy."""
    inputs, outputs, points = x.shape[1], dy.shape[1], x.shape[2] * x.shape[3]
    gradients: list[Tensor] = []

    def begin() -> Work:
        gradient = torch.zeros(inputs, outputs)
        gradients.append(gradient)

        def run(first: int, count: int) -> None:
            x_row, dy_row = inputs * FLOAT_BYTES, outputs * FLOAT_BYTES
            x_at, dy_at = x.data_ptr() + first * points * x_row, dy.data_ptr() + first * points * dy_row
            add_products(x_at, x_row, dy_at, dy_row, gradient.data_ptr(), count * points, inputs, outputs)

        return run

    in_chunks(begin, len(x), _chunk(points, inputs, outputs))
    return sum(gradients[1:], gradients[0]).T


def _chunk(points: int, inputs: int, outputs: int) -> int:
    return max(1, CHUNK_FLOATS // (points * (inputs + outputs)))
