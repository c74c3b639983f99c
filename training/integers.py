"""Training with the engine's 8-bit arithmetic in mind: convolutions computed as nets/precision/int8_trunk.py has
them, with gradients that pass the rounding by (Jacob et al., "Quantization and training of neural networks for
efficient integer-arithmetic-only inference", 2018).

What a convolution reads becomes levels 0 to 255, its weights integers up to 127 with a scale per output, and what it
writes levels again. Ranges are those of recent batches. They are no part of a checkpoint: a resumed run has them again
after one batch.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.precision.int8 import WIDENING
from nets.precision.int8_trunk import EQUALIZATION, LEVELS, NARROWEST, SPLIT
from nets.precision.weight_rounding import LARGEST

MEMORY = 0.98
"""A batch's share in a range that the next batch does not reach."""


class Writes(Enum):
    """What becomes of a convolution's output in 8 bits."""

    ACTIVATION = "a ReLU, whose levels the next convolution reads"
    SIGNED = "levels between a lowest and a highest value"
    POOLED = "a ReLU in fine levels below a threshold and coarse ones above it"


class IntegerConvolution(nn.Conv2d):
    """A convolution like any other until `is_integer` is set."""

    is_integer = False
    highest_read: Tensor
    highest: Tensor
    lowest: Tensor

    def __init__(
        self, inputs: int, outputs: int, kernel: int, writes: Writes, *, bias: bool = True, reads_bits: bool = False
    ) -> None:
        """`reads_bits`: its input is zeros and ones, levels already."""
        super().__init__(inputs, outputs, kernel, padding=kernel // 2, bias=bias)
        self.writes, self.reads_bits = writes, reads_bits
        for name, channels in (("highest_read", inputs), ("lowest", outputs), ("highest", outputs)):
            self.register_buffer(name, torch.zeros(channels), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if not self.is_integer:
            return super().forward(x)
        levels, step = (x.float(), x.new_ones(x.shape[1])) if self.reads_bits else self._levels(x.float())
        matrix = self.weight * step[:, None, None]
        scale = (matrix.detach().abs().amax((1, 2, 3)) / LARGEST).clamp_min(1e-12)
        integers = rounded(matrix / scale[:, None, None, None])
        y = functional.conv2d(levels, integers, padding=self.padding).float() * scale[:, None, None]
        return self._written(y if self.bias is None else y + self.bias[:, None, None])

    def _levels(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Levels of an activation, and its steps [C]."""
        _raise_to(self.highest_read, x)
        high = widened(self.highest_read)
        step = high**EQUALIZATION * high.max() ** (1 - EQUALIZATION) / LEVELS
        return rounded((x / step[:, None, None]).clamp(0, LEVELS)), step

    def _written(self, y: Tensor) -> Tensor:
        if self.writes is Writes.ACTIVATION:
            return y
        _raise_to(self.highest, y)
        if self.writes is Writes.POOLED:
            high = widened(self.highest)[:, None, None]
            fine, coarse, threshold = high * (SPLIT / LEVELS), high * ((1 - SPLIT) / LEVELS), high * SPLIT
            below = rounded((y / fine).clamp(0, LEVELS)) * fine
            return below + rounded(((y - threshold) / coarse).clamp(0, LEVELS)) * coarse
        _raise_to(self.lowest, -y)
        low, width = signed_range(self.lowest, self.highest)
        step = (width / LEVELS)[:, None, None]
        return rounded(((y - low[:, None, None]) / step).clamp(0, LEVELS)) * step + low[:, None, None]


def use_integers(network: nn.Module, wanted: bool) -> None:
    """Have all its IntegerConvolutions compute in integers, or in floating point again."""
    for module in network.modules():
        if isinstance(module, IntegerConvolution):
            module.is_integer = wanted


def rounded(x: Tensor) -> Tensor:
    """Round; the gradient is that of the identity."""
    return x + (x.round() - x).detach()


def widened(highest: Tensor) -> Tensor:
    """The upper end [C] of a range as nets.precision.int8_trunk.Calibration takes it, from the highest values met."""
    high = highest * WIDENING
    return torch.maximum(high, (NARROWEST * high.max()).clamp_min(1e-6))


def signed_range(lowest: Tensor, highest: Tensor) -> tuple[Tensor, Tensor]:
    """Lower end and width [C] of signed values' range; `lowest` is what is met below zero, its sign changed."""
    low, high = -lowest * WIDENING, highest * WIDENING
    width = high - low
    width = torch.maximum(width, (NARROWEST * width.max()).clamp_min(1e-6))
    return (high + low) / 2 - width / 2, width


@torch.no_grad()
def _raise_to(highest: Tensor, values: Tensor) -> None:
    """Let a range follow a batch [N, C, S, S]."""
    highest.copy_(torch.maximum(highest * MEMORY, values.amax((0, 2, 3))))
