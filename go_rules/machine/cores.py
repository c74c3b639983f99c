"""The processor cores that this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Count the cores that this process may run on, at least 1. An affinity mask, as containers set it, counts."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
