"""Sums and maxima over boards, against PyTorch's functions."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from training.convolutions.pooling import pooled

SHAPES = {
    # boards, channels, height, width
    "one small board": (1, 16, 2, 3),
    "full size, several chunks": (60, 32, 19, 19),
    "higher than wide": (5, 48, 13, 7),
}


@pytest.mark.parametrize("is_rectified", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", SHAPES)
def test_values_and_gradients(case: str, kind: torch.dtype, has_mask: bool, is_rectified: bool) -> None:
    """Rectified, many points of a channel share the maximum 0; points off the board have it too."""
    torch.manual_seed(len(case))
    boards, channels, height, width = SHAPES[case]
    x = torch.randn(boards, channels, height, width)
    mask = (torch.rand(boards, 1, height, width) > 0.3).float()
    mask[:, :, 0, 0] = 1.0
    if is_rectified:
        x = (x - 2.0).relu()
    if has_mask:
        x = x * mask
    x = x.to(kind).requires_grad_()
    sums, maxima = pooled(x, mask if has_mask else None)
    wide = x.double()
    want_sums = wide.sum((2, 3))
    want_maxima = (torch.where(mask > 0, wide, -1e9) if has_mask else wide).amax((2, 3))
    assert sums.dtype == maxima.dtype == torch.float32
    torch.testing.assert_close(sums.double(), want_sums, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(maxima.double(), want_maxima, rtol=0, atol=0)
    upstream = torch.randn(2, boards, channels)
    (found,) = torch.autograd.grad((sums, maxima), x, list(upstream))
    (want,) = torch.autograd.grad((want_sums, want_maxima), x, list(upstream.double()))
    assert found.dtype == kind
    torch.testing.assert_close(found.double(), want.double(), rtol=0.004 if kind == torch.bfloat16 else 1e-5, atol=1e-5)


def test_what_is_no_number_stays_visible() -> None:
    x = torch.ones(1, 16, 2, 2)
    x[0, 3, 1, 1] = float("nan")
    sums, _ = pooled(x, None)
    assert sums.isnan().sum() == 1
