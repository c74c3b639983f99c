"""The residual blocks of a student, the kinds that KataGo's file format knows.

A block is given its input as two parts, x and what the block before adds to it, and returns their sum and what it adds
itself: so the first norm of a block adds up, norms and activates in one pass over memory.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from training.config import NetworkConfig
from training.student.attention import AttentionBlock, FeedForwardBlock
from training.student.board import Board
from training.student.layers import Convolution, Norm, together


class PlainBlock(nn.Module):
    """A residual block: x + second(between(first(before(x)))), with two 3x3 convolutions."""

    def __init__(self, channels: int, config: NetworkConfig, scale: float = 1.0) -> None:
        """`scale` is what a fixed norm of the block's input begins with, as for all blocks."""
        super().__init__()
        self.before = Norm(channels, config, scale)
        self.first = Convolution(channels, channels, 3)
        self.between = Norm(channels, config)
        self.second = Convolution(channels, channels, 3)

    def forward(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        x, given = self.before.of_sum(x, added, board)
        return x, self.second(self.between.after(self.first, given, board))


class PoolingBlock(nn.Module):
    """A residual block in which some hidden channels are pooled over the board and added to the others as a bias."""

    def __init__(self, channels: int, config: NetworkConfig, scale: float = 1.0) -> None:
        super().__init__()
        pooled = config.pooled_channels
        regular = channels - pooled
        self.before = Norm(channels, config, scale)
        self.first = Convolution(channels, regular, 3)
        self.pooled = Convolution(channels, pooled, 3)
        self.pooled_norm = Norm(pooled, config)
        self.to_bias = nn.Linear(3 * pooled, regular, bias=False)
        self.between = Norm(regular, config)
        self.second = Convolution(regular, channels, 3)

    def forward(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        x, given = self.before.of_sum(x, added, board)
        first, pooled = together(given, [(self.first, self.between), (self.pooled, self.pooled_norm)])
        pooled = board.pool(self.pooled_norm.of_scaled(pooled, board))
        return x, self.second(self.between.of_scaled(first, board, self.to_bias(pooled)))


class BottleneckBlock(nn.Module):
    """A residual block whose inside, between two 1x1 convolutions, is two residual blocks with fewer channels."""

    def __init__(self, channels: int, config: NetworkConfig, pools: bool, scale: float = 1.0) -> None:
        """`pools` says whether the first inner block pools over the board."""
        super().__init__()
        inner = config.bottleneck
        first = PoolingBlock(inner, config) if pools else PlainBlock(inner, config)
        self.before = Norm(channels, config, scale)
        self.narrow = Convolution(channels, inner, 1)
        self.blocks = nn.ModuleList([first, PlainBlock(inner, config, math.sqrt(0.5))])
        self.after = Norm(inner, config, math.sqrt(1.0 / 3.0))
        self.second = Convolution(inner, channels, 1)

    def forward(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        x, given = self.before.of_sum(x, added, board)
        hidden, inner = self.narrow(given), None
        for block in self.blocks:
            hidden, inner = block(hidden, inner, board)
        _, last = self.after.of_sum(hidden, inner, board)
        return x, self.second(last)


def new_blocks(config: NetworkConfig) -> nn.ModuleList:
    """Return the blocks of a student, with random weights."""
    blocks = nn.ModuleList()
    for number in range(config.blocks):
        pools = is_nth(number, config.pooling_every)
        scale = 1.0 / math.sqrt(1 + number)
        if config.bottleneck:
            blocks.append(BottleneckBlock(config.channels, config, pools, scale))
        else:
            blocks.append((PoolingBlock if pools else PlainBlock)(config.channels, config, scale))
        if is_nth(number, config.attention_every):
            blocks += [AttentionBlock(config), FeedForwardBlock(config)]
    return blocks


def is_nth(number: int, every: int) -> bool:
    """Return whether number 0, 1, ... is the last of a group of `every`; never where that is 0."""
    return every > 0 and number % every == every - 1
