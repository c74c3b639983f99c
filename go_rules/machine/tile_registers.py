"""Intel's tile registers (AMX): Linux gives them to a process that asks for them."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import lru_cache

TILES = "amx-"
"""How LLVM's names of the processor's features for them begin."""
SYSTEM_CALL = 158
"""`arch_prctl` of Linux on x86-64."""
REQUEST, TILE_DATA = 0x1023, 18
"""ARCH_REQ_XCOMP_PERM, and the number of the state that is asked for (Linux, Documentation/arch/x86/xstate.rst)."""


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
