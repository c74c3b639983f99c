"""The layers that all blocks of a student are made of: convolutions, norms with activations, and both together."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config import NetworkConfig
from training.convolutions.convolve import convolve
from training.convolutions.dense import is_suited
from training.convolutions.rectify import rectified, rectified_sum
from training.student.board import Board

EPSILON = 1e-4
"""Added to variances by batch norm."""
STATISTICS_RATE = 0.02
"""How far a step moves the running mean and variance of batch norm towards those of its batch."""

ACTIVATIONS = {"relu": functional.relu_, "silu": functional.silu}
"""They may overwrite their argument: for tensors that nothing else reads."""


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
            return rectified(x, bias, board.mask)
        bias = bias.to(x.dtype)[:, None, None]
        normed = x + bias if scale is None else torch.addcmul(bias, x, scale.to(x.dtype)[:, None, None])
        return board.cut(self._activate(normed))

    def of_sum(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        """Return x + added, which may overwrite `added`, and its norm and activation."""
        if added is None:
            return x, self(x, board)
        if self._is_rectified(x, len(self.bias)) and self.scale is None and x.dtype == added.dtype:
            return rectified_sum(x, added, self.bias, board.mask)
        total = x + added
        return total, self(total, board)

    def after(self, layer: nn.Conv2d, x: Tensor, board: Board, added: Tensor | None = None) -> Tensor:
        """Norm and activate layer(x) + added, with `added` [N, C]. The scale costs nothing where the layer has it in
        its weights, which it has in all kinds but batch norm while that trains; the bias is added in the same pass."""
        return self.of_scaled(convolve(x, self.scaled(layer)), board, added, in_place=True)

    def scaled(self, layer: nn.Conv2d) -> Tensor:
        """Return the weights of the layer before the norm, with the norm's scale in them where it can be."""
        scale = None if self.kind == "batch" and self.training else self.folded()[0]
        return layer.weight if scale is None else layer.weight * scale[:, None, None, None]

    def of_scaled(
        self,
        x: Tensor,
        board: Board,
        added: Tensor | None = None,
        in_place: bool = False,
        kind: torch.dtype | None = None,
    ) -> Tensor:
        """Norm and activate layer(x) + added, given what the layer made by its weights as `scaled` returns them.
        `in_place` allows to overwrite it; `kind` is that of the result, else it is that of x."""
        trains_batch = self.kind == "batch" and self.training
        if not trains_batch and self._is_rectified(x, x.shape[1]):
            return rectified(x, self._bias(added), board.mask, in_place, kind)
        x = x if kind is None else x.to(kind)
        if trains_batch:
            return self(x if added is None else x + added[:, :, None, None].to(x.dtype), board)
        return board.cut(self._activate(x + self._bias(added)[..., None, None].to(x.dtype)))

    def _bias(self, added: Tensor | None) -> Tensor:
        """Return what `of_scaled` adds, [C] or [N, C]."""
        scale, bias = self.folded()
        if added is None:
            return bias
        return bias + (added if scale is None else added * scale)

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


def together(x: Tensor, layers: list[tuple[nn.Conv2d, Norm]]) -> tuple[Tensor, ...]:
    """Convolve x by several layers as one. Return what each of them makes of it, for the `of_scaled` of its norm."""
    made = convolve(x, torch.cat([norm.scaled(layer) for layer, norm in layers]))
    return made.split([len(layer.weight) for layer, _ in layers], 1)


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
