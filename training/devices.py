"""The device to train on, what it computes faster in, and code that is compiled for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch
from torch import nn

from nobi_machine.progress import StatusLine
from training.errors import TrainingError

Network = TypeVar("Network", bound=nn.Module)
Result = TypeVar("Result")

TRIAL_SIZE = 1024
TRIALS = 5
"""How often each precision is tried, in turns. The first trial warms up, and the fastest counts."""

BF16_CAPABILITY = 8
"""The first compute capability of NVIDIA's GPUs that multiply bf16; older ones compute it in float32."""
COMPILED_VARIANTS = 64
"""How many versions of a module's compiled code torch may keep."""


def place_on(network: Network, device: torch.device) -> Network:
    """Move a network to the device, with channels last in memory, where convolutions are fastest."""
    return network.to(device=device, memory_format=torch.channels_last)


class Compilation:
    """Modules with compiled code, as long as it works. Those of one kind share their code."""

    def __init__(self, modules: list[nn.Module], dynamic: bool = True) -> None:
        """Compile the modules; torch does that when they are first used. `dynamic`: for tensors of any size at once,
        else for each shape anew."""
        self._modules, self._dynamic = modules, dynamic
        if modules:
            limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
            setattr(torch._dynamo.config, limit, COMPILED_VARIANTS)
        for module in modules:
            module.compile(dynamic=dynamic)

    @property
    def is_used(self) -> bool:
        """Whether there is compiled code, and it has not failed."""
        return bool(self._modules)

    def run(self, work: Callable[[], Result]) -> Result:
        """Do some work with the modules. Where their compiled code fails, say so, and do it again without any."""
        if not self.is_used:
            return work()
        try:
            return work()
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception as error:  # compilers have many errors of their own
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            StatusLine().note(f"the networks go on without compiled code: {reason[:200]}")
        for module in self._modules:
            module._compiled_call_impl = None
        self._modules = []
        if self._dynamic:  # else what is compiled of other modules is kept
            torch._dynamo.reset()
        return work()


def choose_device(name: str) -> torch.device:
    """Return the device for the setting run.device: `auto`, `cpu` or `cuda`. Raises TrainingError."""
    if name == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            "there is no CUDA device that PyTorch can use; install its build for one (pytorch.org), or: run.device=cpu"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


@cache
def is_faster_in_bf16(device: torch.device) -> bool:
    """Return whether matrices are multiplied faster in bf16 than in fp32. Processors that can multiply bf16 are tried,
    since some take longer for it."""
    if device.type == "cuda":
        return bool(torch.cuda.get_device_capability(device)[0] >= BF16_CAPABILITY)
    if not multiplies_bf16():
        return False
    trials = [(_seconds_to_multiply(torch.bfloat16), _seconds_to_multiply(torch.float32)) for _ in range(TRIALS)]
    low, full = map(min, zip(*trials, strict=True))
    return bool(low < full)


def multiplies_bf16() -> bool:
    """Return whether the processor has instructions that multiply bf16, as far as this version of PyTorch knows."""
    has_bf16 = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return has_bf16 is not None and bool(has_bf16())


def _seconds_to_multiply(kind: torch.dtype) -> float:
    matrix = torch.ones(TRIAL_SIZE, TRIAL_SIZE, dtype=kind)
    began = time.perf_counter()
    matrix @ matrix
    return time.perf_counter() - began
