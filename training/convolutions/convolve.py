"""Convolutions by the quickest method that there is: on a processor our own products of matrices, for 3x3 by Winograd's
method, else PyTorch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.convolutions import pointwise, winograd


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Convolve x [N, C, H, W] by `weight` [O, C, K, K], K odd, with zeros around the board, and add a bias [O] or
    [N, O]."""
    method = own_method(x, weight)
    if method is not None:
        y = _Convolution.apply(method, x, weight)
    elif bias is None or bias.ndim == 1:
        return functional.conv2d(x, weight, bias, padding="same")
    else:
        y = functional.conv2d(x, weight, padding="same")
    return y if bias is None else y.add_(bias[..., None, None].to(y.dtype))


def own_method(x: Tensor, weight: Tensor) -> ModuleType | None:
    """Return the module that convolves x by `weight` in fp32 on a processor, or None where PyTorch has to."""
    is_lower = torch.is_autocast_enabled("cpu")
    if x.device.type != "cpu" or is_lower or not x.dtype == weight.dtype == torch.float32:
        return None
    return next((method for method in (winograd, pointwise) if method.is_suited(x, weight)), None)


class _Convolution(torch.autograd.Function):
    """A convolution by the functions of a module beside this one: its values and both gradients."""

    @staticmethod
    def forward(context: Any, method: Any, x: Tensor, weight: Tensor) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)
        context.method = method
        context.save_for_backward(x, weight)
        return method.convolution(x, weight)

    @staticmethod
    def backward(context: Any, dy: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        method, (x, weight) = context.method, context.saved_tensors
        dy = dy.contiguous(memory_format=torch.channels_last)
        _, for_x, for_weight = context.needs_input_grad
        back = method.convolution(dy, weight.flip(2, 3).transpose(0, 1)) if for_x else None
        return None, back, method.weight_gradient(x, dy) if for_weight else None
