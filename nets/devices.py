"""The devices that can compute a network, by the names of `--device`: the package that brings each, and its defaults.

Devices are onnxruntime's execution providers. Which of them are there depends on the package of onnxruntime that is
installed; whether one starts, on the machine's drivers. Only this module imports onnxruntime, and only once a network
is opened; else it is light: the command line lists the names.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType

AUTO = "auto"
SIMULATED = "simulated:"
"""How the names of devices begin that take time and compute nothing."""
LONGEST_CALL = 10.0
"""Seconds of theirs."""
USUAL_BATCH = 4
"""Positions of an evaluation where nothing speaks for more or fewer: they share what it costs besides the network, and
are not too many to be chosen before a search knows what the others are worth."""


class MissingDevice(ValueError):
    """A device is missing here, or there is none of this name; the text says why, in one line."""


@dataclass(frozen=True)
class Device:
    """One way to compute a network."""

    name: str
    """What `--device` calls it."""
    provider: str
    """onnxruntime's name of its execution provider."""
    package: str
    """The package that brings the provider, worded to follow `it comes with`."""
    precisions: tuple[str, ...]
    """The precisions it computes in; `auto` takes the first that loses little enough."""
    is_concurrent: bool = True
    """Whether several threads may call it at once."""
    needs_cuda: bool = False
    """Whether CUDA's libraries have to be loaded first."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The provider's own options."""
    needs: str = ""
    """What a user should check if the device does not start."""
    simulated: tuple[float, float] | None = None
    """Seconds of a call and of each of its positions, for a device that only takes the time (graph/simulated.py)."""


_CUDA_NEEDS = "it needs an NVIDIA driver and the libraries of onnxruntime-gpu[cuda,cudnn]"

CPU = Device("cpu", "CPUExecutionProvider", "onnxruntime", ("int16", "fp32"))

DEVICES = (
    Device(
        "cuda",
        "CUDAExecutionProvider",
        "the package onnxruntime-gpu, installed instead of onnxruntime",
        ("fp16", "fp32"),
        needs_cuda=True,
        # fp32 means fp32.
        options={"cudnn_conv_algo_search": "HEURISTIC", "use_tf32": "0"},
        needs=_CUDA_NEEDS,
    ),
    Device(
        "tensorrt",
        "TensorrtExecutionProvider",
        "the package onnxruntime-gpu, installed instead of onnxruntime, and the package tensorrt",
        ("fp16", "fp32"),
        # Building its engines takes minutes the first time.
        needs_cuda=True,
        needs=f"{_CUDA_NEEDS}, and the package tensorrt",
    ),
    Device(
        "directml",
        "DmlExecutionProvider",
        "the package onnxruntime-directml (Windows), installed instead of onnxruntime",
        ("fp16", "fp32"),
        is_concurrent=False,
        needs="it needs a GPU with DirectX 12",
    ),
    Device(
        "coreml",
        "CoreMLExecutionProvider",
        "the package onnxruntime on a Mac",
        ("fp32", "fp16"),
        options={"ModelFormat": "MLProgram"},
        needs="it needs macOS 12 or newer",
    ),
    Device(
        "openvino",
        "OpenVINOExecutionProvider",
        "the package onnxruntime-openvino, installed instead of onnxruntime",
        ("fp32", "fp16"),
    ),
    Device(
        "migraphx",
        "MIGraphXExecutionProvider",
        "the package onnxruntime-migraphx (AMD), installed instead of onnxruntime",
        ("fp16", "fp32"),
        needs="it needs ROCm",
    ),
    CPU,
)
"""All devices."""

RUNTIMES = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-directml",
    "onnxruntime-openvino",
    "onnxruntime-migraphx",
)
"""The packages that bring the module onnxruntime; one of them is installed."""

NAMES = (AUTO, CPU.name, *(device.name for device in DEVICES if device is not CPU))
"""The values of `--device`."""


def named_device(name: str) -> Device:
    """Return the device that `--device` names, whether it is here or not. Raises MissingDevice for any other text.

    `auto` is the processor: no accelerator has been faster yet.
    """
    if name.startswith(SIMULATED):
        with contextlib.suppress(ValueError):
            seconds, each = (float(text) for text in name.removeprefix(SIMULATED).split(":"))
            if 0.0 <= seconds <= LONGEST_CALL and 0.0 <= each <= LONGEST_CALL:
                return Device(name, "simulated", "", ("fp32",), simulated=(seconds, each))
        raise MissingDevice(f"a simulated device is {SIMULATED}SECONDS:SECONDS_PER_POSITION, not {name[:40]!r}")
    device = next((device for device in DEVICES if device.name == (CPU.name if name == AUTO else name)), None)
    if device is None:
        raise MissingDevice(f"unknown device {name[:40]!r} (known: {', '.join(NAMES)})")
    return device


def device_for(name: str, offered: Callable[[], Sequence[str]]) -> Device:
    """Return the device that `--device` names. Raises MissingDevice.

    `offered` returns onnxruntime's providers; it is not called for the processor.
    """
    device = named_device(name)
    if device is CPU or device.simulated is not None:
        return device
    if device.provider not in (providers := offered()):
        there = ", ".join(devices_among(providers))
        raise MissingDevice(f"device {name} is not here (there is: {there}); it comes with {device.package}")
    return device


def devices_among(providers: Sequence[str]) -> list[str]:
    """Return the names of the devices with these providers, and of the processor."""
    return [device.name for device in DEVICES if device is CPU or device.provider in providers]


def runtime_version() -> str:
    """Return the version of the installed onnxruntime."""
    return str(onnxruntime_module().__version__)


def offered_providers() -> list[str]:
    """Return what the installed onnxruntime was built with; none of it need work on this machine."""
    return list(onnxruntime_module().get_available_providers())


@lru_cache(maxsize=1)
def onnxruntime_module() -> ModuleType:
    """Import onnxruntime so that it tells its makers nothing. By default it keeps an identifier of this machine and
    a database of what it did in the user's cache directory, and sends that over the network (its Privacy.md)."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported; processes that we start inherit it
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # builds for Windows that report to the system read no variable
    return onnxruntime
