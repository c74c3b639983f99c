"""Bias, ReLU and the cut to the boards in one pass, against PyTorch's functions, and who is given to it."""

# ruff: noqa: E402
from __future__ import annotations

from contextlib import nullcontext
from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from torch import Tensor

from training.config import NetworkConfig
from training.convolutions.dense import is_suited
from training.convolutions.rectify import rectified, rectified_sum
from training.student.board import Board
from training.student.network import Student

SHAPES = {
    # boards, channels, height, width
    "one small board": (1, 16, 2, 3),
    "full size, several chunks": (23, 64, 19, 19),
    "higher than wide": (5, 48, 13, 7),
    "one point wide": (2, 32, 5, 1),
}


def example(shape: tuple[int, ...], kind: torch.dtype, is_each: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x, a bias for all boards or for each, a mask, and a gradient of the result."""
    generator = torch.Generator().manual_seed(sum(shape))
    boards, channels, height, width = shape
    x = torch.randn(shape, generator=generator).to(kind)
    bias = torch.randn((boards, channels) if is_each else (channels,), generator=generator)
    mask = (torch.rand(boards, 1, height, width, generator=generator) > 0.3).float()
    return x, bias, mask, torch.randn(shape, generator=generator).to(kind)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("is_each", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", SHAPES)
def test_values_and_gradients(
    case: str, kind: torch.dtype, has_mask: bool, is_each: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    x, bias, mask, upstream = example(SHAPES[case], kind, is_each)
    x.requires_grad_()
    bias.requires_grad_()
    y = rectified(x, bias, mask if has_mask else None, in_place=False)
    sums = x.double() + bias.double()[..., None, None]
    want = sums.relu() * (mask.double() if has_mask else 1.0)
    assert y.dtype == kind
    torch.testing.assert_close(y, want.to(kind), rtol=0, atol=1e-6)  # bf16: the very numbers
    for given, exact in zip(
        torch.autograd.grad(y, (x, bias), upstream),
        torch.autograd.grad(want, (x, bias), upstream.double()),
        strict=True,
    ):
        torch.testing.assert_close(given.double(), exact.double(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_what_is_overwritten_is_what_may_be(kind: torch.dtype) -> None:
    x, bias, mask, upstream = example((3, 32, 9, 9), kind, False)
    for each in (x, x.contiguous(memory_format=torch.channels_last)):
        before = each.clone()
        start = each.clone(memory_format=torch.preserve_format).requires_grad_()
        twice = start * 2.0
        y = rectified(twice, bias, mask, in_place=True)
        torch.testing.assert_close(y, rectified(before * 2.0, bias, mask, in_place=False))
        assert (y.data_ptr() == twice.data_ptr()) == each.is_contiguous(memory_format=torch.channels_last)
        (gradient,) = torch.autograd.grad(y, start, upstream)
        torch.testing.assert_close(gradient, torch.where(y > 0, upstream, 0.0) * 2.0)
        rectified(each, bias, mask, in_place=False)
        torch.testing.assert_close(each, before)


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", SHAPES)
def test_the_sum_of_a_block_with_what_follows(case: str, kind: torch.dtype, has_mask: bool) -> None:
    x, bias, mask, upstream = example(SHAPES[case], kind, False)
    added, for_total = (torch.randn(x.shape).to(kind) for _ in range(2))
    mask = mask if has_mask else None
    leaves = [each.requires_grad_() for each in (x, added, bias)]
    total, y = rectified_sum(x, added * 1.0, bias, mask)
    exact_total = x.double() + added.double()
    exact = (exact_total + bias.double()[:, None, None]).relu() * (1.0 if mask is None else mask.double())
    torch.testing.assert_close(total, exact_total.to(kind), rtol=0, atol=1e-6)
    torch.testing.assert_close(y, exact.to(kind), rtol=0, atol=1e-6)
    tolerance = 1e-5 if kind == torch.float32 else 0.01
    for use, exact_use in (
        ((total, y), (exact_total, exact)),
        ((y,), (exact,)),
        ((total,), (exact_total,)),
    ):
        given = [for_total if each is total else upstream for each in use]
        options = {"retain_graph": True, "allow_unused": True}
        found = torch.autograd.grad(use, leaves, given, **options)
        wanted = torch.autograd.grad(exact_use, leaves, [each.double() for each in given], **options)
        for one, want in zip(found, wanted, strict=True):
            if want is None:
                assert one is None
                continue
            torch.testing.assert_close(one.double(), want.double(), rtol=tolerance, atol=1e-4)


def test_the_sum_overwrites_only_what_is_added() -> None:
    x, bias, _, _ = example((3, 32, 9, 9), torch.bfloat16, False)
    for added in (x * 2.0, (x * 2.0).contiguous(memory_format=torch.channels_last)):
        before = x.clone()
        total, _ = rectified_sum(x, added, bias, None)
        torch.testing.assert_close(x, before)
        torch.testing.assert_close(total, before * 3.0)
        assert (total.data_ptr() == added.data_ptr()) == added.is_contiguous(memory_format=torch.channels_last)


def test_a_view_is_added_too() -> None:
    """What attention adds is a view of tokens, which autograd lets nobody overwrite."""
    x, bias, _, upstream = example((3, 32, 9, 9), torch.float32, False)
    tokens = torch.randn(3, 81, 32, requires_grad=True)
    added = (tokens * 2.0).view(3, 9, 9, 32).permute(0, 3, 1, 2)
    total, y = rectified_sum(x, added, bias, None)
    torch.testing.assert_close(total, x + added)
    (gradient,) = torch.autograd.grad(y, tokens, upstream)
    want = torch.where(y > 0, upstream, 0.0) * 2.0
    torch.testing.assert_close(gradient, want.permute(0, 2, 3, 1).flatten(1, 2))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_part_of_the_channels_in_another_kind(kind: torch.dtype) -> None:
    whole = torch.randn(5, 64, 7, 9).to(kind).contiguous(memory_format=torch.channels_last)
    bias, mask = torch.randn(32), (torch.rand(5, 1, 7, 9) > 0.3).float()
    for x in (whole[:, 16:48], whole[:, 16:48, :5], whole[:, 16:48].contiguous()):
        own_mask = mask[:, :, : x.shape[2]]
        y = rectified(x, bias, own_mask, in_place=True, kind=torch.float32)
        assert y.dtype == torch.float32
        torch.testing.assert_close(y, (x.float() + bias[:, None, None]).relu() * own_mask)


def test_what_is_no_number_stays_visible() -> None:
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 3.0e38] * 4).view(1, 16, 1, 1)
    for kind in (torch.float32, torch.bfloat16):
        y = rectified(x.to(kind), torch.zeros(16), None, in_place=False)
        torch.testing.assert_close(y, x.to(kind).relu(), equal_nan=True)


def test_what_is_left_to_pytorch() -> None:
    x = torch.zeros(1, 16, 9, 9)
    assert is_suited(x, 48)
    assert is_suited(x.bfloat16(), 16)
    assert not is_suited(x, 40)
    assert not is_suited(x.double(), 16)
    assert not is_suited(x.to("meta"), 16)


def learned(seed: int, norm: str, is_own: bool, low: bool) -> list[Tensor]:
    """Return the outputs of a student with random weights for random boards of two sizes, and the gradients of its
    weights."""
    torch.manual_seed(seed)
    student = Student(NetworkConfig(blocks=3, channels=32, pooling_every=2, norm=norm))
    for parameter in student.parameters():
        parameter.data += 0.02 * torch.randn(parameter.shape)
    spatial = (torch.rand(5, 22, 9, 9) > 0.7).float()
    spatial[:, 0] = 1.0
    spatial[:3, :, 7:] = 0.0
    spatial[:3, :, :, 6:] = 0.0
    own = nullcontext() if is_own else patch("training.student.layers.is_suited", return_value=False)
    with torch.autocast("cpu", torch.bfloat16, enabled=low), own:
        outputs = student(spatial, torch.randn(5, 19), fills_canvas=False)
    sum(part.float().clamp(min=-50.0).square().mean() for part in outputs).backward()
    found = [*outputs, *(parameter.grad for parameter in student.parameters())]
    return [each.detach().float().clamp(min=-50.0) for each in found]


@pytest.mark.parametrize("norm", ["none", "fixed"])
def test_a_student_is_as_exact_with_it(norm: str) -> None:
    def error(is_own: bool, low: bool) -> float:
        """Return the root mean square, over all outputs and gradients, of what they are off, as a share of them."""
        shares = [
            (one - want).norm() / want.norm()
            for seed in range(5)
            for one, want in zip(learned(seed, norm, is_own, low), learned(seed, norm, False, False), strict=True)
        ]
        return float(torch.stack(shares).square().mean().sqrt())

    assert error(is_own=True, low=False) < 1e-5
    assert error(is_own=True, low=True) < 1.25 * error(is_own=False, low=True)


def test_bf16_is_not_widened_by_a_mask() -> None:
    x = torch.ones(2, 16, 9, 9, dtype=torch.bfloat16)
    spatial = torch.zeros(2, 22, 9, 9)
    spatial[:, 0, :7, :7] = 1.0
    cut = Board.of(spatial, fills_canvas=False).cut(x)
    assert cut.dtype == torch.bfloat16
    assert cut.sum() == 2 * 16 * 49
