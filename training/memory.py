"""Memory of tensors: what a step has freed the next one uses again."""

from __future__ import annotations

import ctypes
from functools import lru_cache

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Parameters of glibc's `mallopt` (malloc.h)."""
LARGE_BYTES = (1 << 30, 1 << 25)
"""Pieces from this size on are still given back at once: the larger of what this glibc takes."""


@lru_cache(maxsize=1)
def keep_freed_memory() -> bool:
    """Have the C library keep memory that tensors have freed. Return whether it does; only glibc can be asked.

    A batch's activations are some megabytes each. By default glibc gives memory back as soon as more is free than twice
    the largest piece, and the system fills the next step's pages with zeros: a tenth of a step's time.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # no glibc
        return False
    is_kept = any(mallopt(MMAP_THRESHOLD, size) for size in LARGE_BYTES)
    return bool(is_kept and mallopt(TRIM_THRESHOLD, -1))
