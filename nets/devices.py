"""The devices that can compute a network, by the names of `--device`: the package that brings each, and its defaults.

Devices are onnxruntime's execution providers. Which of them are there depends on the package of onnxruntime that is
installed; whether one starts, on the machine's drivers. Only this module imports onnxruntime, and only once a network
is opened; else it is light: the command line lists the names.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
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
    """The package of onnxruntime that has the provider, with the extras that pip is asked for."""
    precisions: tuple[str, ...]
    """The precisions it computes in; `auto` takes the first that loses little enough."""
    is_concurrent: bool = True
    """Whether several threads may call it at once."""
    needs_cuda: bool = False
    """Whether CUDA's libraries have to be loaded first."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The provider's own options."""
    fp16_options: Mapping[str, str] = field(default_factory=dict)
    """Further ones for a network in fp16."""
    needs: str = ""
    """What a user should check if the device does not start."""
    on: str = ""
    """The only system that the package is for."""
    libraries: str = ""
    """The package of the device's own libraries, as pip is asked for it; its module, of the same name, loads them."""
    library: str = ""
    """One of these, by which a system is seen to have them without the package."""
    is_slow_to_start: bool = False
    """Whether it takes minutes to prepare for a network."""
    simulated: tuple[float, float] | None = None
    """Seconds of a call and of each of its positions, for a device that only takes the time (graph/simulated.py)."""

    @property
    def module(self) -> str:
        """The module of `libraries`."""
        return self.libraries.partition("<")[0]


_CUDA_NEEDS = "it needs an NVIDIA driver and the libraries of onnxruntime-gpu[cuda,cudnn]"

CPU = Device("cpu", "CPUExecutionProvider", "onnxruntime", ("int16", "fp32"))

DEVICES = (
    Device(
        "cuda",
        "CUDAExecutionProvider",
        "onnxruntime-gpu[cuda,cudnn]",
        ("fp16", "fp32"),
        needs_cuda=True,
        # fp32 means fp32. Every session has memory of its own: it grows by what is needed, not to a power of two.
        options={
            "cudnn_conv_algo_search": "HEURISTIC",
            "use_tf32": "0",
            "arena_extend_strategy": "kSameAsRequested",
        },
        needs=_CUDA_NEEDS,
    ),
    Device(
        "tensorrt",
        "TensorrtExecutionProvider",
        "onnxruntime-gpu[cuda,cudnn]",
        ("fp16", "fp32"),
        needs_cuda=True,
        # Its engines keep to fp32 unless they are allowed fp16.
        fp16_options={"trt_fp16_enable": "1"},
        needs=f"{_CUDA_NEEDS}, and the package tensorrt",
        libraries="tensorrt<11",
        library="nvinfer",
        is_slow_to_start=True,
    ),
    Device(
        "directml",
        "DmlExecutionProvider",
        "onnxruntime-directml",
        ("fp16", "fp32"),
        is_concurrent=False,
        needs="it needs a GPU with DirectX 12",
        on="Windows",
    ),
    Device(
        "coreml",
        "CoreMLExecutionProvider",
        "onnxruntime",
        ("fp32", "fp16"),
        options={"ModelFormat": "MLProgram"},
        needs="it needs macOS 12 or newer",
        on="a Mac",
    ),
    Device(
        "openvino",
        "OpenVINOExecutionProvider",
        "onnxruntime-openvino",
        ("fp32", "fp16"),
    ),
    Device(
        "migraphx",
        "MIGraphXExecutionProvider",
        "onnxruntime-migraphx",
        ("fp16", "fp32"),
        needs="it needs ROCm",
    ),
    CPU,
)
"""All devices."""

RUNTIMES = tuple(dict.fromkeys(device.package.partition("[")[0] for device in (CPU, *DEVICES)))
"""The packages that bring the module onnxruntime, the processor's first. All have the same files: of several that are
installed the last one plays."""

NAMES = (AUTO, CPU.name, *(device.name for device in DEVICES if device is not CPU))
"""The values of `--device`."""


def named_device(name: str) -> Device:
    """Return the device that `--device` names, whether it is here or not. Raises MissingDevice for any other text.

    `auto` is the processor: only a search can tell whether a device is faster (gtp_engine/device_choice.py).
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
        missing = f"device {name} is not here (there is: {', '.join(devices_among(providers))})"
        if overwritten := _overwritten(device):
            raise MissingDevice(f"{missing}: {overwritten}")
        on = device.on and f" on {device.on}"
        raise MissingDevice(f'{missing}; it comes with pip install "{device.package}"{on}')
    if device.libraries and importlib.util.find_spec(device.module) is None:
        from ctypes.util import find_library

        if find_library(device.library) is None:
            raise MissingDevice(f'device {name} needs the package {device.module}: pip install "{device.libraries}"')
    return device


def accelerator(precision: str = "auto") -> Device | None:
    """Return the device for `auto` to compare with the processor: the first one that the installed onnxruntime has, and
    that computes in this precision; None if there is none. What comes with onnxruntime itself nobody has asked for, so
    that is for those who name it, and onnxruntime is imported only where another package of it is installed.

    Raises MissingDevice where a package for one is installed and the processor's has taken its place.
    """
    devices = [each for each in DEVICES if each.package != CPU.package and not each.is_slow_to_start]
    if not any(installed_version(each.package) for each in devices):
        return None
    providers = offered_providers()
    here = [each for each in devices if each.provider in providers]
    for device in devices if not here else ():
        if overwritten := _overwritten(device):
            raise MissingDevice(f"device {device.name} is not here: {overwritten}")
    return next((each for each in here if precision in ("auto", *each.precisions)), None)


def installed_version(package: str) -> str:
    """Return the version of a package that pip, or another installer, has installed; '' where it is not. Extras after
    its name do not count."""
    from importlib.metadata import PackageNotFoundError, version

    with contextlib.suppress(PackageNotFoundError):
        return version(package.partition("[")[0])
    return ""


def _overwritten(device: Device) -> str:
    """Why the provider of a device whose package is installed is not there, and what to do; '' without that package."""
    package = device.package.partition("[")[0]
    if package == CPU.package or not installed_version(package):
        return ""
    return f"another package was installed over {package}, with the same files: {_mend(package)}"


def _mend(package: str) -> str:
    return f"pip install --force-reinstall --no-deps {package}"


def driver() -> str:
    """Return what Linux says of NVIDIA's driver and cards; '' elsewhere and without them."""
    texts = []
    with contextlib.suppress(OSError):
        texts = [Path("/sys/module/nvidia/version").read_text()]
        for each in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
            texts += [line for line in each.read_text().splitlines() if line.startswith("Model")]
    return " ".join(" ".join(texts).split())


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
    a database of what it did in the user's cache directory, and sends that over the network (its Privacy.md).

    Raises MissingDevice where it cannot be imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported; processes that we start inherit it
    try:
        import onnxruntime

        onnxruntime.disable_telemetry_events()  # builds for Windows that report to the system read no variable
    except (ImportError, AttributeError) as error:  # a package that was removed takes files of another one with it
        package = next((each for each in reversed(RUNTIMES) if installed_version(each)), CPU.package)
        reason = str(error).partition("\n")[0][:200]
        raise MissingDevice(f"onnxruntime does not start ({reason}): {_mend(package)}") from None
    return onnxruntime
