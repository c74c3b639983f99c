"""The student: a convolutional network of any depth and width that runs on every board size.

    stem      3x3 convolution of the planes + matrix of the global features
    blocks    x = x + conv(relu(conv(relu(x + shift)) + bias)); every n-th one adds a board-wide pool inside
    heads     policy (four channels), value, score, ownership, all of relu(x + shift)

These are the layers of KataGo's convolutional networks, so a student can be written as a file of KataGo's, and all that
reads those reads it. But nothing is normalised: at the start each block's second convolution is zero and its first one
scaled down by the root of the depth (Zhang, Dauphin and Ma, "Fixup initialization", 2019). Batches may mix positions of
every kind, and a position's output never depends on the others.

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
from training.errors import TrainingError
from training.positions.canvas import OFF_BOARD

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


class Board(NamedTuple):
    """Where the boards of a batch lie on their canvas."""

    mask: Tensor | None
    """[N, 1, S, S] 1 on the board; None where all boards fill the canvas"""
    area: Tensor
    """[N, 1] points"""
    linear: Tensor
    """[N, 1] (w - 14) / 10, with w the root of the area"""

    @staticmethod
    def of(spatial: Tensor, fills_canvas: bool) -> Board:
        """Read the boards from the planes [N, 22, S, S]."""
        mask = spatial[:, :1]
        area = mask.sum((2, 3), dtype=torch.float32)
        return Board(None if fills_canvas else mask, area, (area.sqrt() - 14.0) / 10.0)

    def cut(self, x: Tensor) -> Tensor:
        """Set [N, C, S, S] to zero outside the board."""
        return x if self.mask is None else x * self.mask

    def mean(self, x: Tensor) -> Tensor:
        """Return the means [N, C] of x [N, C, S, S], which is zero outside the board."""
        return x.sum((2, 3), dtype=torch.float32) / self.area

    def pool(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], not negative and zero outside the board, to [N, 3C]: mean, mean * linear, maximum."""
        mean = self.mean(x)
        return torch.cat([mean, mean * self.linear, x.amax((2, 3))], 1)

    def pool_value(self, x: Tensor) -> Tensor:
        """Pool x [N, C, S, S], zero outside the board, to [N, 3C]: mean, mean * linear, mean * (linear^2 - 0.1)."""
        mean = self.mean(x)
        return torch.cat([mean, mean * self.linear, mean * (self.linear.square() - 0.1)], 1)


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


def shifted_relu(x: Tensor, shift: Tensor) -> Tensor:
    """Compute relu(x + shift) for x [N, C, S, S] and shift [C]."""
    return functional.relu(x + shift[:, None, None])


class PlainBlock(nn.Module):
    """A residual block: x + conv(relu(conv(relu(x + shift)) + bias))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(channels))
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        hidden = self.first(board.cut(shifted_relu(x, self.shift)))
        return x + self.second(board.cut(functional.relu(hidden)))


class PoolingBlock(nn.Module):
    """A residual block in which some hidden channels are pooled over the board and added to the others as a bias."""

    def __init__(self, channels: int, pooled: int) -> None:
        super().__init__()
        regular = channels - pooled
        self.shift = nn.Parameter(torch.zeros(channels))
        self.first = nn.Conv2d(channels, regular, 3, padding=1)
        self.pooled = nn.Conv2d(channels, pooled, 3, padding=1)
        self.to_bias = nn.Linear(3 * pooled, regular, bias=False)
        self.second = nn.Conv2d(regular, channels, 3, padding=1, bias=False)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        given = board.cut(shifted_relu(x, self.shift))
        pooled = board.pool(board.cut(functional.relu(self.pooled(given))))
        hidden = self.first(given) + self.to_bias(pooled)[:, :, None, None]
        return x + self.second(board.cut(functional.relu(hidden)))


class PolicyHead(nn.Module):
    """The policy head: POLICIES logits for each point and for the pass."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 1)
        self.pooled = nn.Conv2d(channels, width, 1)
        self.to_bias = nn.Linear(3 * width, width, bias=False)
        self.second = nn.Conv2d(width, POLICIES, 1, bias=False)
        self.pass_first = nn.Linear(3 * width, width)
        self.pass_second = nn.Linear(width, POLICIES, bias=False)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        pooled = board.pool(board.cut(functional.relu(self.pooled(x))))
        hidden = functional.relu(self.first(x) + self.to_bias(pooled)[:, :, None, None])
        points = self.second(hidden)
        if board.mask is not None:
            points = torch.where(board.mask > 0, points, OFF_BOARD)
        passes = self.pass_second(functional.relu(self.pass_first(pooled)))
        return torch.cat([points.flatten(2), passes[:, :, None]], 2)


class ValueHead(nn.Module):
    """The value head: value, score and ownership."""

    def __init__(self, channels: int, width: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 1)
        self.hidden = nn.Linear(3 * width, hidden)
        self.value = nn.Linear(hidden, 3)
        self.score = nn.Linear(hidden, SCORE_COLUMNS)
        self.ownership = nn.Conv2d(width, 1, 1, bias=False)
        for name, values in (("units", SCORE_UNITS), ("signed", SIGNED), ("before", BEFORE_SOFTPLUS)):
            self.register_buffer(name, torch.tensor(values), persistent=False)

    def forward(self, x: Tensor, board: Board) -> tuple[Tensor, Tensor, Tensor]:
        first = board.cut(functional.relu(self.first(x)))
        hidden = functional.relu(self.hidden(board.pool_value(first)))
        score = self.score(hidden)
        score = torch.where(self.signed, score, functional.softplus(score * self.before)) * self.units
        return self.value(hidden), score, self.ownership(first).flatten(1)


class Student(nn.Module):
    """The network that is trained. `config` is its shape."""

    def __init__(self, config: NetworkConfig) -> None:
        """Create a network with random weights. Raises TrainingError."""
        super().__init__()
        if config.pooling_every and config.pooled_channels >= config.channels:
            raise TrainingError("network.pooled_channels must be smaller than network.channels")
        self.config = config
        channels = config.channels
        self.stem = nn.Conv2d(SPATIAL_PLANES, channels, 3, padding=1, bias=False)
        self.stem_global = nn.Linear(GLOBAL_FEATURES, channels, bias=False)
        self.blocks = nn.ModuleList(
            PoolingBlock(channels, config.pooled_channels)
            if config.pooling_every and i % config.pooling_every == config.pooling_every - 1
            else PlainBlock(channels)
            for i in range(config.blocks)
        )
        self.shift = nn.Parameter(torch.zeros(channels))
        self.policy = PolicyHead(channels, config.policy_channels)
        self.value = ValueHead(channels, config.value_channels, config.value_hidden)
        self._initialise()

    def forward(self, spatial: Tensor, global_: Tensor, fills_canvas: bool = True) -> Outputs:
        """Evaluate `spatial` [N, 22, S, S] and `global_` [N, 19]. `fills_canvas` says that all boards are S×S. Under
        autocast the heads stay in float32."""
        board = Board.of(spatial, fills_canvas)
        x = self.stem(spatial) + self.stem_global(global_)[:, :, None, None]
        for block in self.blocks:
            x = block(x, board)
        with torch.autocast(x.device.type, enabled=False):
            x = board.cut(shifted_relu(x.float(), self.shift))
            value, score, ownership = self.value(x, board)
            return Outputs(self.policy(x, board), value, score, ownership)

    @property
    def parameter_count(self) -> int:
        """The number of weights."""
        return sum(parameter.numel() for parameter in self.parameters())

    def macs(self) -> int:
        """Count the multiply-accumulate operations of the convolutions for one 19×19 position."""
        return sum(361 * module.weight.numel() for module in self.modules() if isinstance(module, nn.Conv2d))

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for block in self.blocks:
            nn.init.zeros_(block.second.weight)
            for name, module in block.named_children():
                if name in ("first", "pooled"):
                    with torch.no_grad():
                        module.weight.mul_(1.0 / math.sqrt(len(self.blocks)))
        for head in (self.policy.second, self.policy.pass_second, self.value.value, self.value.score):
            with torch.no_grad():
                head.weight.mul_(0.1)
        with torch.no_grad():
            self.value.ownership.weight.mul_(0.1)


def shape_name(config: NetworkConfig) -> str:
    """Return the shape as KataGo names its networks: `b10c64` has 10 blocks of 64 channels."""
    return f"b{config.blocks}c{config.channels}"
