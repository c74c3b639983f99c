"""Which convolutions our own kernels compute, and what is added to them."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch.nn import functional

from training.convolutions import pointwise, winograd
from training.convolutions.convolve import convolve, own_method


def test_what_is_left_to_pytorch() -> None:
    x, weight, one = torch.zeros(1, 16, 9, 9), torch.zeros(16, 16, 3, 3), torch.zeros(16, 16, 1, 1)
    assert own_method(x, weight) is winograd.convolution
    assert own_method(x, one) is pointwise.convolution
    assert own_method(x, torch.zeros(16, 16, 5, 5)) is None
    for each in (weight, one):
        assert own_method(x, each[:8]) is None
        assert own_method(x.double(), each.double()) is None
        assert own_method(x.to("meta"), each.to("meta")) is None
        with torch.autocast("cpu", torch.bfloat16):
            assert own_method(x, each) is None


@pytest.mark.parametrize("side", [1, 3, 5])
def test_biases(side: int) -> None:
    x, weight = torch.randn(3, 16, 9, 9), torch.randn(32, 16, side, side)
    plain = functional.conv2d(x, weight, padding=side // 2)
    for bias in (None, torch.randn(32), torch.randn(3, 32)):
        want = plain if bias is None else plain + bias[..., None, None]
        torch.testing.assert_close(convolve(x, weight, bias), want, rtol=1e-4, atol=1e-4)
