"""Tensors [N, C, H, W] with channels last in memory, in float32 or bf16, for kernels that pass over them once."""

from __future__ import annotations

import torch
from torch import Tensor

from go_rules.compilation.jit import kernel_part
from nets.native.convolutions.transforms import FLOAT_BYTES
from nets.native.simd.bfloat16 import load_bfloats, store_as_bfloats
from nets.native.simd.vectors import load_floats, store
from training.convolutions.products import LANES

KINDS = {torch.float32: FLOAT_BYTES, torch.bfloat16: 2}
"""What numbers may be given in, with their bytes."""
NUMBERS_AT_ONCE = 200_000
"""About how many numbers a kernel is given in one call."""


def is_suited(x: Tensor, channels: int) -> bool:
    """Return whether such kernels can do so many channels of the device and the kind of x."""
    return x.device.type == "cpu" and x.dtype in KINDS and channels % LANES == 0


def is_dense(x: Tensor) -> bool:
    """Return whether the channels of x come last in memory, with nothing between."""
    return x.is_contiguous(memory_format=torch.channels_last)


def dense(x: Tensor) -> Tensor:
    """Return x with channels last in memory: itself if it has them so, else a copy."""
    return x.contiguous(memory_format=torch.channels_last)


def boards_at_once(numbers: int) -> int:
    """Return how many boards, of so many numbers each, a kernel is given in one call."""
    return max(1, NUMBERS_AT_ONCE // numbers)


@kernel_part
def load_numbers(width, address, number):
    """Load sixteen numbers of `width` bytes each as floats, from the one of this number on."""
    if width == FLOAT_BYTES:
        vector = load_floats(address, number * width)
    else:
        vector = load_bfloats(address, number * width)
    return vector


@kernel_part
def store_numbers(width, address, number, vector):
    """Write sixteen floats as numbers of `width` bytes each, from the one of this number on."""
    if width == FLOAT_BYTES:
        store(address, number * width, vector)
    else:
        store_as_bfloats(address, number * width, vector)
