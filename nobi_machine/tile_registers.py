"""Intel's tile registers (AMX): Linux gives them to a process that asks for them."""

from __future__ import annotations

import ctypes
import platform
import sys
from copy import copy
from functools import lru_cache
from typing import TypeVar

Features = TypeVar("Features", bound=dict[str, bool])

TILES = "amx-"
"""How LLVM's names of the processor's features for them begin."""
SYSTEM_CALL = 158
"""`arch_prctl` of Linux on x86-64."""
REQUEST, TILE_DATA = 0x1023, 18
"""ARCH_REQ_XCOMP_PERM, and the number of the state that is asked for (Linux, Documentation/arch/x86/xstate.rst)."""


def without_refused_tiles(features: Features) -> Features:
    """Return what this process may use of a processor's features, by LLVM's names."""
    tiles = [name for name, has in features.items() if has and name.startswith(TILES)]
    if not tiles or may_use_tiles():
        return features
    usable = copy(features)
    usable.update(dict.fromkeys(tiles, False))
    return usable


@lru_cache(maxsize=1)
def may_use_tiles() -> bool:
    """Ask for tile registers, for this process, and return whether it may use them.

    It may not where the processor or the system has none, and where a stack for signals is too small to save them."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        return bool(ctypes.CDLL(None).syscall(SYSTEM_CALL, REQUEST, TILE_DATA) == 0)
    except (OSError, AttributeError):
        return False
