"""The only module that imports onnxruntime, and only once a network is opened."""

from __future__ import annotations

import os
from functools import lru_cache
from types import ModuleType


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
