"""Attention as processors compute it, beside PyTorch's own in float32."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

import torch
from torch.nn import functional

from training.attention import attend, rotated


@pytest.mark.parametrize("masked", [False, True])
def test_bf16_on_a_processor_mixes_and_learns_as_float32_does(masked: bool) -> None:
    torch.manual_seed(1)
    query, key, value = parts = [torch.randn(3, 2, 25, width).bfloat16().requires_grad_() for width in (8, 8, 6)]
    exact = [part.detach().float().requires_grad_() for part in parts]
    visible = torch.rand(3, 1, 1, 25) < 0.6 if masked else None
    gradient = torch.randn(3, 2, 25, 6)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = attend(query, key, value, visible)
    wanted = functional.scaled_dot_product_attention(exact[0], exact[1], exact[2], attn_mask=visible)
    assert mixed.dtype == torch.bfloat16
    assert (mixed.float() - wanted).abs().max() < 0.03
    found = torch.autograd.grad(mixed, parts, gradient.bfloat16())
    for each, right in zip(found, torch.autograd.grad(wanted, exact, gradient), strict=True):
        assert each.dtype == torch.bfloat16
        assert (each.float() - right).abs().max() < 0.03 * right.abs().max()


def test_pairs_are_rotated_by_their_angles_and_gradients_back() -> None:
    torch.manual_seed(1)
    x, gradient = torch.randn(2, 4, 3, 6, requires_grad=True), torch.randn(2, 4, 3, 6)
    angle = torch.randn(4, 1, 3)
    a, b, c, d = (each[..., half::2] for each in (x, gradient) for half in (0, 1))
    cosine, sine = angle.cos(), angle.sin()
    (result,) = rotated(angle, x)
    torch.testing.assert_close(result[..., ::2], a * cosine - b * sine)
    torch.testing.assert_close(result[..., 1::2], a * sine + b * cosine)
    (back,) = torch.autograd.grad(result, x, gradient)
    torch.testing.assert_close(back[..., ::2], c * cosine + d * sine)
    torch.testing.assert_close(back[..., 1::2], d * cosine - c * sine)
