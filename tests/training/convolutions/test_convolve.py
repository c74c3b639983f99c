"""Convolutions by our own kernels, against PyTorch's in fp64, and which of them PyTorch has to compute."""

# ruff: noqa: E402
from __future__ import annotations

from types import ModuleType

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch.nn import functional

from training.convolutions import pointwise, winograd
from training.convolutions.convolve import convolve, own_method

METHODS = {
    # a side of the weights, the module, and by what share of the largest value it may err
    3: (winograd, 3e-5),
    1: (pointwise, 1e-5),
}
CASES = {
    # the weights' side, boards, inputs, outputs, height, width
    "one small board": (3, 1, 16, 16, 6, 6),
    "parts of 3": (3, 11, 32, 48, 9, 9),
    "parts of 4 and 3": (3, 5, 48, 16, 7, 13),
    "full size, several chunks": (3, 37, 64, 96, 19, 19),
    "outputs that fill no pair of vectors": (3, 2, 80, 80, 9, 9),
    "as high as wide is not": (3, 3, 16, 32, 19, 8),
    "1x1: one small board": (1, 1, 16, 16, 2, 3),
    "1x1: outputs that fill no pair of vectors": (1, 3, 64, 48, 9, 9),
    "1x1: full size, several chunks": (1, 23, 96, 32, 19, 19),
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    side, boards, inputs, outputs, height, width = CASES[case]
    method, error = METHODS[side]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    generator = torch.Generator().manual_seed(boards)
    x = torch.randn(boards, inputs, height, width, generator=generator, requires_grad=True)
    weight = torch.randn(outputs, inputs, side, side, generator=generator, requires_grad=True)
    assert own_method(x, weight) is method
    y = convolve(x, weight)
    want = functional.conv2d(x.double(), weight.double(), padding=side // 2)
    upstream = torch.randn(want.shape, generator=generator)
    for given, exact in zip(
        (y, *torch.autograd.grad(y, (x, weight), upstream)),
        (want, *torch.autograd.grad(want, (x, weight), upstream.double())),
        strict=True,
    ):
        most = error * float(exact.detach().abs().max())
        torch.testing.assert_close(given.double(), exact.double(), rtol=0, atol=most)


def test_memory_may_lie_in_any_order() -> None:
    x, weight = torch.randn(4, 32, 9, 9), torch.randn(16, 32, 3, 3)
    want = convolve(x, weight)
    for same in (x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().transpose(2, 3)):
        torch.testing.assert_close(convolve(same, weight), want, rtol=0, atol=0)
    torch.testing.assert_close(convolve(x, weight.mT.contiguous().mT), want, rtol=0, atol=0)
    y = convolve(x, weight.requires_grad_())
    y.sum().backward()  # whose gradient is one number, expanded
    exact = functional.conv2d(x, weight, padding=1)
    torch.testing.assert_close(weight.grad, torch.autograd.grad(exact.sum(), weight)[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("method", "side", "of_values", "of_weights"),
    [(winograd, 3, "convolve", "add_gradient"), (pointwise, 1, "multiply", "add_products")],
)
def test_only_the_gradients_that_are_needed(
    method: ModuleType, side: int, of_values: str, of_weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("this gradient is not needed")

    x, weight = torch.randn(2, 16, 9, 9), torch.randn(16, 16, side, side)
    monkeypatch.setattr(method, of_weights, never)
    convolve(x.requires_grad_(), weight).sum().backward()
    assert x.grad is not None
    monkeypatch.undo()
    y = convolve(x.detach(), weight.requires_grad_())
    monkeypatch.setattr(method, of_values, never)
    y.sum().backward()
    assert weight.grad is not None


def test_what_is_left_to_pytorch() -> None:
    x, weight, one = torch.zeros(1, 16, 9, 9), torch.zeros(16, 16, 3, 3), torch.zeros(16, 16, 1, 1)
    assert own_method(x, weight) is winograd
    assert own_method(x, one) is pointwise
    assert own_method(x, torch.zeros(16, 16, 5, 5)) is None
    assert own_method(x[:, :, :5], weight) is None
    for each in (weight, one):
        assert own_method(x, each[:8]) is None
        assert own_method(torch.zeros(1, 22, 9, 9), torch.zeros(16, 22, *each.shape[2:])) is None
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
