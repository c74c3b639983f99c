"""PyTorch layers with the weights of a KataGo network's layers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.katago.model import Activation, Convolution, FloatArray


class Convolve(nn.Conv2d):
    """A convolution that takes inputs of any precision and computes in that of its weights."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.to(self.weight.dtype))


class Multiply(nn.Linear):
    """A matrix product that takes inputs of any precision and computes in that of its weights."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.to(self.weight.dtype))


def convolution(layer: Convolution) -> Convolve:
    """Return a zero-padded convolution, without its bias."""
    outputs, inputs, rows, columns = layer.weights.shape
    dilation = layer.dilation
    padding = (rows // 2 * dilation[0], columns // 2 * dilation[1])
    result = Convolve(inputs, outputs, (rows, columns), padding=padding, dilation=dilation, bias=False)
    result.weight = nn.Parameter(torch.from_numpy(layer.weights.copy()))
    return result


def dense(matrix: FloatArray, bias: FloatArray | None = None) -> Multiply:
    """Return a layer that computes x @ matrix + bias, for a matrix [in, out]."""
    result = Multiply(matrix.shape[0], matrix.shape[1], bias=bias is not None)
    result.weight = nn.Parameter(torch.from_numpy(np.ascontiguousarray(matrix.T)))
    if bias is not None:
        result.bias = nn.Parameter(torch.from_numpy(bias.copy()))
    return result


def constant(array: FloatArray) -> nn.Parameter:
    """Return weights that are used as they are."""
    return nn.Parameter(torch.from_numpy(array.copy()))


def activate(x: Tensor, activation: Activation | None) -> Tensor:
    """Apply an activation to x; None is the identity."""
    if activation is Activation.RELU:
        return functional.relu(x)
    if activation is Activation.MISH:
        return functional.mish(x)
    return functional.silu(x) if activation is Activation.SILU else x
