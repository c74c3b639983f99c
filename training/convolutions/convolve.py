"""Convolutions by the quickest method that there is: on a processor our own products of matrices, for 3x3 by Winograd's
method, else PyTorch's."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from training.convolutions import pointwise, winograd


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Convolve x [N, C, S, S] by `weight` [O, C, K, K], K odd, with zeros around the board, and add a bias [O] or
    [N, O]."""
    ours = own_method(x, weight)
    if ours is not None:
        y = ours(x, weight)
    elif bias is None or bias.ndim == 1:
        return functional.conv2d(x, weight, bias, padding="same")
    else:
        y = functional.conv2d(x, weight, padding="same")
    return y if bias is None else y.add_(bias[..., None, None].to(y.dtype))


def own_method(x: Tensor, weight: Tensor) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Return what convolves x by `weight` in fp32 on a processor, or None where PyTorch has to."""
    is_lower = torch.is_autocast_enabled("cpu")
    if x.device.type != "cpu" or is_lower or not x.dtype == weight.dtype == torch.float32:
        return None
    for method in (winograd, pointwise):
        if method.is_suited(x, weight):
            return method.convolution
    return None
