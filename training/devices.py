"""The device to train on, and what it is good at."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import nn

from training.errors import TrainingError

Network = TypeVar("Network", bound=nn.Module)


def placed(network: Network, device: torch.device) -> Network:
    """On the device, channels last in memory: what convolutions are fastest in."""
    network.to(device=device)
    # torch's annotations leave this form of it out.
    to_format: Any = network.to
    to_format(memory_format=torch.channels_last)
    return network


def device_of(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            "there is no CUDA device that PyTorch can use; install its build for one (pytorch.org), or: run.device=cpu"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def multiplies_bf16(device: torch.device) -> bool:
    """Whether products of bf16 are faster there than those of fp32."""
    if device.type == "cuda":
        return True
    has_bf16 = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return bool(has_bf16()) if has_bf16 is not None else False
