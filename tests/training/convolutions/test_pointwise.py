"""Convolutions of 1x1 by our own products, against PyTorch's in fp64."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch.nn import functional

from training.convolutions import pointwise
from training.convolutions.pointwise import convolution, is_suited

CASES = {
    "one small board": (1, 16, 16, 2, 3),
    "outputs that fill no pair of vectors": (3, 64, 48, 9, 9),
    "full size, several chunks": (23, 96, 32, 19, 19),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    boards, inputs, outputs, height, width = CASES[case]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    generator = torch.Generator().manual_seed(boards)
    x = torch.randn(boards, inputs, height, width, generator=generator, requires_grad=True)
    weight = torch.randn(outputs, inputs, 1, 1, generator=generator, requires_grad=True)
    assert is_suited(x, weight)
    y = convolution(x, weight)
    want = functional.conv2d(x.double(), weight.double())
    upstream = torch.randn(want.shape, generator=generator)
    for given, exact in zip(
        (y, *torch.autograd.grad(y, (x, weight), upstream)),
        (want, *torch.autograd.grad(want, (x, weight), upstream.double())),
        strict=True,
    ):
        torch.testing.assert_close(
            given.double(), exact.double(), rtol=0, atol=1e-5 * float(exact.detach().abs().max())
        )


def test_only_the_gradients_that_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("this gradient is not needed")

    x, weight = torch.randn(2, 16, 9, 9), torch.randn(16, 16, 1, 1)
    monkeypatch.setattr(pointwise, "add_products", never)
    convolution(x.requires_grad_(), weight).sum().backward()
    assert x.grad is not None
    monkeypatch.undo()
    y = convolution(x.detach(), weight.requires_grad_())
    monkeypatch.setattr(pointwise, "multiply", never)
    y.sum().backward()
    assert weight.grad is not None
