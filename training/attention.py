"""What attention computes between its matrices, on processors in ways that are quicker there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def rotated(angle: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
    """Rotate neighbouring pairs (a, b) of the last dimension by an angle: (a cos - b sin, a sin + b cos)."""
    if angle.device.type == "cpu":  # as complex numbers an eighth of the time; compilers for GPUs do not know these
        turns = torch.polar(torch.ones_like(angle), angle)
        pairs = (part.unflatten(-1, (-1, 2)).float().contiguous() for part in parts)
        products = (torch.view_as_real(torch.view_as_complex(each) * turns).flatten(-2) for each in pairs)
        return tuple(each.to(part.dtype) for each, part in zip(products, parts, strict=True))
    cosine, sine = angle.cos().to(parts[0].dtype), angle.sin().to(parts[0].dtype)
    halves = (part.unflatten(-1, (-1, 2)).unbind(-1) for part in parts)
    return tuple(torch.stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2) for a, b in halves)


def attend(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """Return the means of `value` [N, heads, P, E], weighted by the softmax of query · key / √D, both [N, heads, P, D].
    Only points that are `visible` [N, 1, 1, P] count; None: all."""
    if query.device.type == "cpu" and query.dtype == torch.bfloat16:
        mixed: Tensor = _BoardByBoard.apply(query, key, value, visible)
        return mixed
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)


class _BoardByBoard(torch.autograd.Function):
    """Attention for one board after another, so that its scores stay in a core's cache; for the gradients they are
    computed again. PyTorch's own takes 1.7 times as long in bf16."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
        query, key, value = (query * query.shape[3] ** -0.5).contiguous(), key.contiguous(), value.contiguous()
        mixed = torch.empty_like(value)
        for board in range(len(query)):
            torch.bmm(_weights(query[board], key[board], visible, board), value[board], out=mixed[board])
        ctx.save_for_backward(query, key, value, visible, mixed)
        return mixed

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, visible, mixed = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        means = (gradient * mixed).sum(3, keepdim=True)
        to_query, to_key, to_value = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
        for board in range(len(query)):
            weights = _weights(query[board], key[board], visible, board)
            torch.bmm(weights.transpose(1, 2), gradient[board], out=to_value[board])
            scores = torch.bmm(gradient[board], value[board].transpose(1, 2)).sub_(means[board]).mul_(weights)
            torch.bmm(scores, key[board], out=to_query[board])
            torch.bmm(scores.transpose(1, 2), query[board], out=to_key[board])
        return to_query.mul_(query.shape[3] ** -0.5), to_key, to_value, None


def _weights(query: Tensor, key: Tensor, visible: Tensor | None, board: int) -> Tensor:
    """Return the weights [heads, P, P] with which each point of a board sees the others."""
    scores = torch.bmm(query, key.transpose(1, 2))
    return (scores if visible is None else scores.masked_fill_(~visible[board], -torch.inf)).softmax(2)
