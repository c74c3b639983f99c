"""The student: a convolutional network of any depth and width that runs on every board size.

    stem      3x3 convolution of the planes + matrix of the global features
    blocks    training/student/blocks.py; every n-th one adds a board-wide pool inside; attention.py after some
    tip       norm and activation
    heads     policy (four channels), value, score, ownership

These are layers of KataGo's networks, so a student can be written as a file of KataGo's, and all that
reads those reads it. By default nothing is normalised: at the start each block's second convolution is zero and its
first one scaled down by the root of the depth (Zhang, Dauphin and Ma, "Fixup initialization", 2019). Then batches may
mix positions of every kind, and a position's output never depends on the others; with batch norm it does in training.

Boards smaller than the canvas lie in its top left corner; plane 0 says where they are, and what convolutions read is
kept at zero everywhere else, as it is outside the canvas.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.evaluator import GLOBAL_FEATURES, SCORE_COLUMNS, SPATIAL_PLANES
from training.config import NetworkConfig
from training.convolutions.convolve import convolve
from training.errors import TrainingError
from training.positions.canvas import OFF_BOARD
from training.student.attention import AttentionBlock, FeedForwardBlock
from training.student.blocks import BottleneckBlock, PlainBlock, PoolingBlock, new_blocks
from training.student.board import Board
from training.student.equivariance import Ties, check_equivariance
from training.student.layers import Convolution, Norm, activation_of, together

PLAIN, OPTIMISTIC, SOFT, REPLY = range(4)
"""Channels of the policy head: the next move, the teacher's optimistic policy, the next move at temperature 4, and the
opponent's reply."""
POLICIES = 4
"""How many channels the policy head has."""

SCORE_UNITS = (20.0, 20.0, 20.0, 40.0, math.sqrt(0.25), math.sqrt(30.0))
"""One unit of each score output: in points, but in moves for the time left, and 1 for the error of winning chances."""
SIGNED = (True, False, True, False, False, False)
"""Which score columns (nets.evaluator) may be negative; the others pass through softplus."""
BEFORE_SOFTPLUS = (1.0, 1.0, 1.0, 1.0, 0.5, 0.5)
"""Factors of the score outputs before softplus. These three constants are those of KataGo's model version 15."""


CONVOLUTIONAL = (PlainBlock, PoolingBlock, BottleneckBlock)
RESIDUAL = (*CONVOLUTIONAL, AttentionBlock, FeedForwardBlock)


class Outputs(NamedTuple):
    """The student's outputs for N positions before post-processing, float32, from the view of the side to move."""

    policy: Tensor
    """[N, 4, S*S + 1] logits, OFF_BOARD outside the board"""
    value: Tensor
    """[N, 3] logits of win, loss, no result"""
    score: Tensor
    """[N, 6] the columns of `Evaluation.score`"""
    ownership: Tensor
    """[N, S*S] before tanh"""


class PolicyHead(nn.Module):
    """The policy head: POLICIES logits for each point and for the pass."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels, width = config.channels, config.policy_channels
        self.first = Convolution(channels, width, 1)
        self.pooled = Convolution(channels, width, 1)
        self.pooled_norm, self.first_norm = Norm(width, config), Norm(width, config)
        self.to_bias = nn.Linear(3 * width, width, bias=False)
        self.second = Convolution(width, POLICIES, 1)
        self.pass_first = nn.Linear(3 * width, width)
        self.pass_second = nn.Linear(width, POLICIES, bias=False)
        self.activation = activation_of(config)

    def firsts(self) -> list[tuple[Convolution, Norm]]:
        """Return the two layers that read the trunk, each with the norm behind it."""
        return [(self.first, self.first_norm), (self.pooled, self.pooled_norm)]

    def forward(self, first: Tensor, pooled: Tensor, board: Board) -> Tensor:
        """Evaluate what the two layers of `firsts` made of the trunk, before their norms."""
        pooled = board.pool(self.pooled_norm.of_scaled(pooled, board, kind=torch.float32))
        points = self.second(self.first_norm.of_scaled(first, board, self.to_bias(pooled), kind=torch.float32))
        if board.mask is not None:
            points = torch.where(board.mask > 0, points, OFF_BOARD)
        passes = self.pass_second(self.activation(self.pass_first(pooled)))
        return torch.cat([points.flatten(2), passes[:, :, None]], 2)


class ValueHead(nn.Module):
    """The value head: value, score and ownership."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width, hidden = config.value_channels, config.value_hidden
        self.first = Convolution(config.channels, width, 1)
        self.norm = Norm(width, config)
        self.hidden = nn.Linear(3 * width, hidden)
        self.activation = activation_of(config)
        self.value = nn.Linear(hidden, 3)
        self.score = nn.Linear(hidden, SCORE_COLUMNS)
        self.ownership = Convolution(width, 1, 1)
        for name, values in (("units", SCORE_UNITS), ("signed", SIGNED), ("before", BEFORE_SOFTPLUS)):
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def firsts(self) -> list[tuple[Convolution, Norm]]:
        """Return the layer that reads the trunk, with the norm behind it."""
        return [(self.first, self.norm)]

    def forward(self, first: Tensor, board: Board) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluate what the layer of `firsts` made of the trunk, before its norm."""
        first = self.norm.of_scaled(first, board, kind=torch.float32)
        hidden = self.activation(self.hidden(board.pool_value(first)))
        score = self.score(hidden)
        score = torch.where(self.signed, score, functional.softplus(score * self.before)) * self.units
        return self.value(hidden), score, self.ownership(first).flatten(1)


class Student(nn.Module):
    """The network that is trained. `config` is its shape."""

    def __init__(self, config: NetworkConfig) -> None:
        """Create a network with random weights. Raises TrainingError."""
        super().__init__()
        inner, inside = config.channels, "network.channels"
        if config.bottleneck:
            inner, inside = config.bottleneck, "network.bottleneck"
        if config.pooling_every and config.pooled_channels >= inner:
            raise TrainingError(f"network.pooled_channels must be smaller than {inside}")
        if config.attention_every and config.channels % (2 * config.attention_heads):
            raise TrainingError("network.channels must be a multiple of twice network.attention_heads")
        if config.equivariant:
            check_equivariance(config)
        self.config = config
        self.stem = Convolution(SPATIAL_PLANES, config.channels, 3)
        self.stem_global = nn.Linear(GLOBAL_FEATURES, config.channels, bias=False)
        self.blocks = new_blocks(config)
        self.tip = Norm(config.channels, config, 1.0 / math.sqrt(1 + config.blocks))
        self.policy = PolicyHead(config)
        self.value = ValueHead(config)
        self._initialise()

    def forward(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> Outputs:
        """Evaluate `spatial` [N, 22, S, S] and `global_` [N, 19]. `fills_canvas` says that all boards are S×S. Under
        autocast all but the first layers of the heads is in float32 there."""
        board = Board.of(spatial, fills_canvas)
        x, added = convolve(spatial, self.stem.weight, self.stem_global(global_)), None
        for block in self.blocks:
            x, added = block(x, added, board)
        _, x = self.tip.of_sum(x, added, board)
        first, pooled, judged = together(x, self.policy.firsts() + self.value.firsts())
        with torch.autocast(x.device.type, enabled=False):
            value, score, ownership = self.value(judged, board)
            return Outputs(self.policy(first, pooled, board), value, score, ownership)

    @property
    def parameter_count(self) -> int:
        """The number of weights."""
        return sum(parameter.numel() for parameter in self.parameters())

    def macs(self) -> int:
        """Count the multiply-accumulate operations with weights of the trunk for one 19×19 position: those of its
        convolutions, and of the matrices that attention and feed-forward blocks apply to each point."""
        inside = sum(each.weight.numel() for each in self.blocks.modules() if isinstance(each, nn.Linear))
        return 361 * (inside + sum(each.weight.numel() for each in self.modules() if isinstance(each, nn.Conv2d)))

    @torch.no_grad()
    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, AttentionBlock):
                for layer in (module.query, module.key, module.value):
                    layer.weight.mul_(math.sqrt(0.5))
        if self.config.norm != "fixed":  # whose scales begin so that the blocks' sum does not grow
            self._begin_as_identities()
        for head in (self.policy.second, self.policy.pass_second, self.value.value, self.value.score):
            head.weight.mul_(0.1)
        self.value.ownership.weight.mul_(0.1)
        if self.config.equivariant:
            Ties(self).spread(self)

    def _begin_as_identities(self) -> None:
        """Set the last layer of each block to zero; without a norm, scale its convolutions down for the depth."""
        for block in self.modules():
            if isinstance(block, RESIDUAL):
                nn.init.zeros_(block.second.weight)
            if isinstance(block, CONVOLUTIONAL) and self.config.norm == "none":
                for name, module in block.named_children():
                    if name in ("first", "pooled", "narrow"):
                        module.weight.mul_(1.0 / math.sqrt(self.config.blocks))


def shape_name(config: NetworkConfig) -> str:
    """Return the shape as KataGo names its networks: `b10c64` has 10 blocks of 64 channels, nested bottlenecks where
    `nbt` follows, and attention where `tf` does."""
    inside = "nbt" if config.bottleneck else ""
    return f"b{config.blocks}c{config.channels}{inside}{'tf' if config.attention_every else ''}"
