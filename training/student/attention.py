"""The transformer blocks of a student: self-attention over the points of a board, and a feed-forward block.

Both begin with an RMS norm of each point's channels. Queries and keys turn with their point's coordinates, by learned
frequencies (Su et al., "RoFormer", 2021); the gate is that of Shazeer, "GLU variants improve transformer" (2020).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.config import NetworkConfig
from training.student.board import Board

EPSILON = 1e-6
"""Added to mean squares by the RMS norms."""
THETA = 100.0
"""The frequencies begin as those of KataGo's fixed embedding with this base."""
WIDENED = 2
"""Hidden channels of a feed-forward block for each of the trunk."""


class AttentionBlock(nn.Module):
    """A residual block of self-attention: each head has a query, key and value of its own."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels, self.heads = config.channels, config.attention_heads
        self.norm = nn.Parameter(torch.ones(channels))
        self.query, self.key, self.value, self.second = (nn.Linear(channels, channels, bias=False) for _ in range(4))
        self.frequencies = nn.Parameter(first_frequencies(self.heads, channels // self.heads // 2))

    def forward(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        """Return x + added, and what the block adds to it."""
        x = x if added is None else x + added
        count, _, height, width = x.shape
        normed = rms_normed(tokens(x), EPSILON) * self.norm.to(x.dtype)
        query, key, value = (
            layer(normed).view(count, height * width, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        cosine, sine = self._angles(height, width, query.dtype)
        visible = None if board.mask is None else board.mask.flatten(2)[:, :, None, :] > 0
        mixed = functional.scaled_dot_product_attention(
            turned(query, cosine, sine), turned(key, cosine, sine), value, attn_mask=visible
        )
        return x, planes(self.second(mixed.transpose(1, 2).flatten(2)), x)

    def _angles(self, height: int, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return cosine and sine [heads, P, pairs] of the angle by which each pair of channels turns at each point."""
        steps = torch.arange(max(height, width), device=self.frequencies.device, dtype=torch.float32)
        by_x, by_y = (steps[:, None, None] * self.frequencies[:, :, axis].float() for axis in range(2))
        angle = (by_y[:height, None] + by_x[None, :width]).flatten(0, 1).transpose(0, 1)
        return angle.cos().to(dtype), angle.sin().to(dtype)


class FeedForwardBlock(nn.Module):
    """A residual block of each point alone: second(silu(first(n)) * gate(n)), where n is the RMS norm of the input."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels = config.channels
        self.norm = nn.Parameter(torch.ones(channels))
        self.first, self.gate = (nn.Linear(channels, WIDENED * channels, bias=False) for _ in range(2))
        self.second = nn.Linear(WIDENED * channels, channels, bias=False)

    def forward(self, x: Tensor, added: Tensor | None, board: Board) -> tuple[Tensor, Tensor]:
        """Return x + added, and what the block adds to it."""
        x = x if added is None else x + added
        normed = rms_normed(tokens(x), EPSILON) * self.norm.to(x.dtype)
        return x, planes(self.second(functional.silu(self.first(normed)) * self.gate(normed)), x)


def first_frequencies(heads: int, pairs: int) -> Tensor:
    """Return [heads, pairs, 2 (x, y)]: the first half of the pairs turn with y, the others with x."""
    frequencies = torch.zeros(heads, pairs, 2)
    half = pairs // 2
    frequencies[:, :half, 1] = THETA ** (-2.0 * torch.arange(half) / pairs)
    frequencies[:, half:, 0] = THETA ** (-2.0 * torch.arange(pairs - half) / pairs)
    return frequencies


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn neighbouring pairs (a, b) of the last dimension to (a cos - b sin, a sin + b cos)."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2)


def rms_normed(tokens: Tensor, epsilon: float) -> Tensor:
    """Divide [N, P, C] by the root mean square over the channels."""
    square = torch.linalg.vector_norm(tokens, dim=2, keepdim=True).square() / tokens.shape[2]
    return tokens * torch.rsqrt(square + epsilon)


def tokens(x: Tensor) -> Tensor:
    """Reshape [N, C, H, W] to [N, H*W, C], without a copy where the channels come last in memory."""
    return x.permute(0, 2, 3, 1).flatten(1, 2).contiguous()


def planes(tokens: Tensor, like: Tensor) -> Tensor:
    """Reshape tokens back to the shape of `like`: the inverse of `tokens`."""
    count, channels, height, width = like.shape
    return tokens.view(count, height, width, channels).permute(0, 3, 1, 2)
