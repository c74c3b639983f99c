"""What lies between two convolutions of a student: a norm of one kind, and the activation."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config import NetworkConfig
from training.convolutions.convolve import convolve
from training.convolutions.rectify import is_suited, rectified
from training.student.board import Board

EPSILON = 1e-4
"""Added to variances by batch norm."""
STATISTICS_RATE = 0.02
"""How far a step moves the running mean and variance of batch norm towards those of its batch."""

ACTIVATIONS = {"relu": functional.relu_, "silu": functional.silu}
"""Of what nobody else reads: it may be overwritten."""


class Norm(nn.Module):
    """A norm and its activation: act(scale * x + bias), by channel; points outside the board become zero.

    The kind `none` has no scale. `fixed` learns scale and bias and looks at no statistics. `batch` first brings each
    channel to mean 0 and variance 1: over the points of the batch while it trains, else by running averages.
    """

    def __init__(self, channels: int, config: NetworkConfig, scale: float = 1.0) -> None:
        """`scale` is what a fixed scale begins with."""
        super().__init__()
        self.kind, self.activation = config.norm, config.activation
        self._activate = ACTIVATIONS[config.activation]
        self.bias = nn.Parameter(torch.zeros(channels))
        self.scale = None
        if config.norm != "none":
            self.scale = nn.Parameter(torch.full((channels,), scale if config.norm == "fixed" else 1.0))
        if config.norm == "batch":
            self.register_buffer("mean", torch.zeros(channels))
            self.register_buffer("variance", torch.ones(channels))

    def forward(self, x: Tensor, board: Board) -> Tensor:
        """Norm and activate x [N, C, S, S]."""
        scale, bias = self._of_batch(x, board) if self.kind == "batch" and self.training else self.folded()
        if scale is None and self._is_rectified(x, len(bias)):
            return rectified(x, bias, board.mask, in_place=False)
        bias = bias.to(x.dtype)[:, None, None]
        normed = x + bias if scale is None else torch.addcmul(bias, x, scale.to(x.dtype)[:, None, None])
        return board.cut(self._activate(normed))

    def after(self, layer: nn.Conv2d, x: Tensor, board: Board, added: Tensor | None = None) -> Tensor:
        """Norm and activate layer(x) + added, with `added` [N, C]. Scale and bias cost nothing where the layer has
        them in its weights, which it has in all kinds but batch norm while that trains."""
        if self.kind == "batch" and self.training:
            hidden = layer(x)
            return self(hidden if added is None else hidden + added[:, :, None, None].to(hidden.dtype), board)
        scale, bias = self.folded()
        weight = layer.weight if scale is None else layer.weight * scale[:, None, None, None]
        if added is not None:
            bias = bias + (added if scale is None else added * scale)
        if self._is_rectified(x, len(weight)):
            return rectified(convolve(x, weight), bias, board.mask, in_place=True)
        return board.cut(self._activate(convolve(x, weight, bias)))

    def _is_rectified(self, x: Tensor, channels: int) -> bool:
        """Return whether a kernel of our own adds a bias to so many channels, activates them and cuts them."""
        return self.activation == "relu" and is_suited(x, channels)

    def folded(self) -> tuple[Tensor | None, Tensor]:
        """Return scale [C], None for 1, and bias [C]; those of batch norm have its running statistics in them."""
        if self.kind != "batch":
            return self.scale, self.bias
        return self._folded(self.mean, self.variance)

    def _folded(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        scale = self.scale * torch.rsqrt(variance + EPSILON)
        return scale, self.bias - scale * mean

    def _of_batch(self, x: Tensor, board: Board) -> tuple[Tensor, Tensor]:
        """Return scale and bias by the statistics of x over all points of the boards, and remember these."""
        points = board.area.sum()
        kept = board.cut(x.float())
        mean = kept.sum((0, 2, 3)) / points
        variance = (kept.square().sum((0, 2, 3)) / points - mean.square()).clamp(min=0.0)
        with torch.no_grad():
            self.mean.lerp_(mean, STATISTICS_RATE)
            self.variance.lerp_(variance, STATISTICS_RATE)
        return self._folded(mean, variance)


class Convolution(nn.Conv2d):
    """A convolution without a bias, with zeros around the board."""

    def __init__(self, inputs: int, outputs: int, side: int) -> None:
        super().__init__(inputs, outputs, side, padding=side // 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve x [N, C, S, S]."""
        return convolve(x, self.weight)


def activation_of(config: NetworkConfig) -> nn.Module:
    """Return the activation as a layer of its own."""
    return {"relu": nn.ReLU, "silu": nn.SiLU}[config.activation]()
