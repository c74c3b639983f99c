"""The transformer blocks of KataGo networks in PyTorch, on boards [N, C, H, W] whose channels come last in memory.

Both kinds begin with an RMS norm of each point's channels, whose weights are merged into the matrices behind it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.katago.model import AttentionBlock, FeedForwardBlock, FloatArray
from training.student.attention import planes, rms_normed, tokens
from training.student.board import Board
from training.teacher.layers import constant, dense


class Attention(nn.Module):
    """Self-attention over the points of each board, added to its input."""

    def __init__(self, block: AttentionBlock) -> None:
        super().__init__()
        self.heads, self.kv_heads = block.heads, block.kv_heads
        self.epsilon = block.epsilon
        self.frequencies = None if block.rope is None else constant(block.rope.frequencies)
        parts = [block.query, block.key]
        if block.rope is not None:
            parts += [_turned(block.query), _turned(block.key)]
        self.widths = (block.query.shape[1], block.key.shape[1], block.value.shape[1])
        self.joined = dense(np.concatenate([*parts, block.value], axis=1) * block.norm[:, None])
        self.output = dense(block.output)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        count, _, height, width = x.shape
        rows = tokens(x)
        queries, keys, values = self.widths
        joined = self.joined(rms_normed(rows, self.epsilon))
        both, value = joined[..., : queries + keys], joined[..., -values:]
        if self.frequencies is not None:
            cosine, sine = self._angles(height, width, both.dtype)
            both = torch.addcmul(both * cosine, joined[..., queries + keys : -values], sine)
        query = both[..., :queries].view(count, height * width, self.heads, -1).transpose(1, 2)
        key = both[..., queries:].view(count, height * width, self.kv_heads, -1).transpose(1, 2)
        value = value.view(count, height * width, self.kv_heads, -1).transpose(1, 2)
        groups = self.heads // self.kv_heads
        if groups > 1:
            key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        visible = None if board.mask is None else board.mask.flatten(2)[:, :, None, :] > 0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        return board.cut(planes(rows + self.output(mixed.transpose(1, 2).flatten(2)), x))

    def _angles(self, height: int, width: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return cosine and sine [P, queries + keys] of the angle by which each point turns each channel."""
        assert self.frequencies is not None
        keys = self.frequencies.float().expand(self.kv_heads, -1, -1).repeat_interleave(2, 1)
        queries = keys.repeat_interleave(self.heads // self.kv_heads, 0)
        columns = torch.cat([queries.flatten(0, 1), keys.flatten(0, 1)])
        steps = torch.arange(max(height, width), device=columns.device, dtype=torch.float32)
        by_x, by_y = steps[:width, None] * columns[:, 0], steps[:height, None] * columns[:, 1]
        angle = (by_y[:, None] + by_x[None]).flatten(0, 1)
        return angle.cos().to(dtype), angle.sin().to(dtype)


class FeedForward(nn.Module):
    """A feed-forward block: silu(n @ first) @ second is added to its input. A gate multiplies silu(n @ first) by
    n @ gate."""

    def __init__(self, block: FeedForwardBlock) -> None:
        super().__init__()
        self.epsilon = block.epsilon
        self.is_gated = block.gate is not None
        parts = [block.first] if block.gate is None else [block.first, block.gate]
        self.joined = dense(np.concatenate(parts, axis=1) * block.norm[:, None])
        self.second = dense(block.second)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        rows = tokens(x)
        hidden = self.joined(rms_normed(rows, self.epsilon))
        if self.is_gated:
            hidden, gate = hidden.chunk(2, 2)
            hidden = functional.silu(hidden) * gate
        else:
            hidden = functional.silu(hidden)
        return board.cut(planes(rows + self.second(hidden), x))


def _turned(matrix: FloatArray) -> FloatArray:
    """Return the matrix whose outputs are those of `matrix`, each pair of neighbours (a, b) turned to (-b, a)."""
    result = np.empty_like(matrix)
    result[:, 0::2] = -matrix[:, 1::2]
    result[:, 1::2] = matrix[:, 0::2]
    return result
