"""A convolution of 3x3, and its gradients, by the kernels beside this file.

On processors, PyTorch computes convolutions directly. Winograd's method has a quarter of the multiplications (2.3 a
point and pair of channels on 19x19, and not 9), and the same results up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from go_rules.points import MAX_SIZE
from nets.native.convolutions.tiling import tiling, weight_matrix
from nets.native.convolutions.transforms import FLOAT_BYTES
from training.convolutions.chunks import Work, in_chunks
from training.convolutions.kernels import add_gradient, convolve
from training.convolutions.products import LANES

CHUNK_FLOATS = 330_000
"""About how many inputs of products are made at once: enough to use each weight often, few enough for the cache."""

Run = Callable[[int, int, Any, Tensor], None]
"""Does a chunk of boards, by its first board, how many these are, their TILING record, and room for the kernel."""


def is_suited(x: Tensor, weight: Tensor) -> bool:
    """Return whether `convolution` can convolve x [N, inputs, H, W] by `weight` [outputs, inputs, 3, 3].

    Sides of 6 to 25 points can be cut into the tiles that the kernels have.
    """
    outputs, inputs, *size = weight.shape
    are_lanes = outputs % LANES == inputs % LANES == 0
    return size == [3, 3] and are_lanes and all(6 <= side <= MAX_SIZE for side in x.shape[2:])


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    """Convolve x [N, inputs, H, W], channels last, by `weight` [outputs, inputs, 3, 3], with zeros around the board."""
    outputs, inputs = weight.shape[:2]
    matrices = torch.einsum("iy,jx,onyx->ijno", _matrix(), _matrix(), weight).contiguous()
    y = torch.empty((len(x), outputs, *x.shape[2:]), memory_format=torch.channels_last)

    def run(first: int, count: int, tiles: Any, room: Tensor) -> None:
        to = matrices.data_ptr(), room.data_ptr()
        convolve(_at(x, first), _at(y, first), *to, tiles, count, inputs, outputs)

    _in_chunks(lambda: run, x, inputs, outputs)
    return y


def weight_gradient(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient [outputs, inputs, 3, 3] of the weights that made of x what has the gradient dy, both with
    channels last."""
    inputs, outputs = x.shape[1], dy.shape[1]
    gradients: list[Tensor] = []

    def begin() -> Run:
        gradient = torch.zeros(6, 6, inputs, outputs)
        gradients.append(gradient)

        def run(first: int, count: int, tiles: Any, room: Tensor) -> None:
            to = gradient.data_ptr(), room.data_ptr()
            add_gradient(_at(x, first), _at(dy, first), *to, tiles, count, inputs, outputs)

        return run

    _in_chunks(begin, x, inputs, outputs)
    return torch.einsum("iy,jx,ijno->onyx", _matrix(), _matrix(), sum(gradients[1:], gradients[0]))


def _at(x: Tensor, board: int) -> int:
    return x.data_ptr() + board * x[0].numel() * FLOAT_BYTES


@lru_cache(maxsize=1)
def _matrix() -> Tensor:
    """G [6, 3]."""
    return torch.from_numpy(weight_matrix().astype(np.float32))


@lru_cache(maxsize=64)
def _tiles(boards: int, height: int, width: int) -> Any:
    return tiling(boards, height, width)[0]


def _in_chunks(begin: Callable[[], Run], x: Tensor, inputs: int, outputs: int) -> None:
    """Do all boards of x in chunks; each thread asks `begin` once for what to do."""
    count, _, height, width = x.shape
    places = int(_tiles(1, height, width)["counts"].sum())
    most = max(inputs, outputs)
    chunk = min(max(1, CHUNK_FLOATS // (places * most)), count)
    floats = chunk * places * (inputs + outputs + 2 * LANES) + (height + 8) * (width + 2) * most

    def begin_with_room() -> Work:
        run, room = begin(), torch.empty(floats)
        return lambda first, boards: run(first, boards, _tiles(boards, height, width), room)

    in_chunks(begin_with_room, count, chunk)
