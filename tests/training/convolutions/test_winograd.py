"""Convolutions by Winograd's method, against PyTorch's in fp64."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch.nn import functional

from training.convolutions import winograd
from training.convolutions.winograd import convolution, is_suited

CASES = {
    "one small board": (1, 16, 16, 6, 6),
    "parts of 3": (11, 32, 48, 9, 9),
    "parts of 4 and 3": (5, 48, 16, 7, 13),
    "full size, several chunks": (37, 64, 96, 19, 19),
    "outputs that fill no pair of vectors": (2, 80, 80, 9, 9),
    "as high as wide is not": (3, 16, 32, 19, 8),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    boards, inputs, outputs, height, width = CASES[case]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    generator = torch.Generator().manual_seed(boards)
    x = torch.randn(boards, inputs, height, width, generator=generator, requires_grad=True)
    weight = torch.randn(outputs, inputs, 3, 3, generator=generator, requires_grad=True)
    assert is_suited(x, weight)
    y = convolution(x, weight)
    want = functional.conv2d(x.double(), weight.double(), padding=1)
    upstream = torch.randn(want.shape, generator=generator)
    for given, exact in zip(
        (y, *torch.autograd.grad(y, (x, weight), upstream)),
        (want, *torch.autograd.grad(want, (x, weight), upstream.double())),
        strict=True,
    ):
        torch.testing.assert_close(
            given.double(), exact.double(), rtol=0, atol=3e-5 * float(exact.detach().abs().max())
        )


def test_memory_may_lie_in_any_order() -> None:
    x, weight = torch.randn(4, 32, 9, 9), torch.randn(16, 32, 3, 3)
    want = convolution(x, weight)
    for same in (x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().transpose(2, 3)):
        torch.testing.assert_close(convolution(same, weight), want, rtol=0, atol=0)
    torch.testing.assert_close(convolution(x, weight.mT.contiguous().mT), want, rtol=0, atol=0)
    y = convolution(x, weight.requires_grad_())
    y.sum().backward()  # whose gradient is one number, expanded
    exact = functional.conv2d(x, weight, padding=1)
    torch.testing.assert_close(weight.grad, torch.autograd.grad(exact.sum(), weight)[0], rtol=1e-4, atol=1e-3)


def test_only_the_gradients_that_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("this gradient is not needed")

    x, weight = torch.randn(2, 16, 9, 9), torch.randn(16, 16, 3, 3)
    monkeypatch.setattr(winograd, "add_gradient", never)
    convolution(x.requires_grad_(), weight).sum().backward()
    assert x.grad is not None
    monkeypatch.undo()
    y = convolution(x.detach(), weight.requires_grad_())
    monkeypatch.setattr(winograd, "convolve", never)
    y.sum().backward()
    assert weight.grad is not None


def test_what_it_is_not_for() -> None:
    x, weight = torch.zeros(1, 16, 9, 9), torch.zeros(16, 16, 3, 3)
    assert is_suited(x, weight)
    assert not is_suited(x[:, :, :5], weight)
    assert not is_suited(x, torch.zeros(16, 16, 1, 1))
    assert not is_suited(x, torch.zeros(8, 16, 3, 3))
    assert not is_suited(torch.zeros(1, 22, 9, 9), torch.zeros(16, 22, 3, 3))
