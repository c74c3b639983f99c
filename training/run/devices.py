"""The device to train on, and what it is good at."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn import functional

from training.errors import TrainingError

Network = TypeVar("Network", bound=nn.Module)

TRIAL_SHAPE = (32, 64, 19, 19)
TRIALS = 5
"""Of each kind, in turns; the first ones warm up, and the fastest count."""


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


@cache
def is_faster_in_bf16(device: torch.device) -> bool:
    """Whether convolutions of bf16 are faster there than those of fp32. Processors that multiply bf16 are tried: some
    take longer for it."""
    if device.type == "cuda":
        return True
    has_bf16 = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    if has_bf16 is None or not has_bf16():
        return False
    low, full = _convolution(torch.bfloat16), _convolution(torch.float32)
    trials = [(_seconds(low), _seconds(full)) for _ in range(TRIALS)]
    return min(trial[0] for trial in trials) < min(trial[1] for trial in trials)


def _convolution(kind: torch.dtype) -> Callable[[], None]:
    """One as students have them, forward and back."""
    positions = torch.ones(TRIAL_SHAPE).to(kind, memory_format=torch.channels_last).requires_grad_()
    weights = torch.ones(TRIAL_SHAPE[1], TRIAL_SHAPE[1], 3, 3).to(kind, memory_format=torch.channels_last)
    weights.requires_grad_()

    def learn() -> None:
        functional.conv2d(positions, weights, padding=1).sum().backward()

    return learn


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
