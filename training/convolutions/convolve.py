"""Convolutions by the quickest method that there is: Winograd's on a processor, else PyTorch's."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from training.convolutions.winograd import convolution, is_suited


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Convolve x [N, C, S, S] by `weight` [O, C, K, K], K odd, with zeros around the board, and add a bias [O] or
    [N, O]."""
    if is_suited(x, weight):
        y = convolution(x, weight)
    elif bias is None or bias.ndim == 1:
        return functional.conv2d(x, weight, bias, padding="same")
    else:
        y = functional.conv2d(x, weight, padding="same")
    return y if bias is None else y.add_(bias[..., None, None].to(y.dtype))
