"""A convolution of 1x1, and its gradients: products of matrices, for which products.py is faster than PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from nets.native.convolutions.transforms import FLOAT_BYTES
from training.convolutions.chunks import Work, in_chunks
from training.convolutions.products import LANES, add_products, multiply

CHUNK_FLOATS = 330_000
"""About how many floats are read and written at once, for a share of the work of one thread."""


def is_suited(_x: Tensor, weight: Tensor) -> bool:
    """Return whether `convolution` can convolve [N, inputs, H, W] by `weight` [outputs, inputs, 1, 1]."""
    outputs, inputs, *size = weight.shape
    return size == [1, 1] and outputs % LANES == inputs % LANES == 0


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve x [N, inputs, H, W], channels last, by `weight` [outputs, inputs, 1, 1]."""
    outputs, inputs = weight.shape[:2]
    matrix = weight.flatten(1).T.contiguous()
    points = x.shape[2] * x.shape[3]
    y = torch.empty((len(x), outputs, *x.shape[2:]), memory_format=torch.channels_last)
    row, to_row = inputs * FLOAT_BYTES, outputs * FLOAT_BYTES

    def run(first: int, count: int) -> None:
        begin = first * points
        to = y.data_ptr() + begin * to_row
        multiply(x.data_ptr() + begin * row, row, matrix.data_ptr(), to, to_row, count * points, inputs, outputs)

    in_chunks(lambda: run, len(x), _chunk(points, inputs, outputs))
    return y


def weight_gradient(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient [outputs, inputs, 1, 1] of the weights that made of x what has the gradient dy, both with
    channels last."""
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
    return sum(gradients[1:], gradients[0]).T[..., None, None]


def _chunk(points: int, inputs: int, outputs: int) -> int:
    return max(1, CHUNK_FLOATS // (points * (inputs + outputs)))
