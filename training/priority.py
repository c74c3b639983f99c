"""Giving way: long work at the lowest priority, while the machine does whatever else it has to."""

from __future__ import annotations

import ctypes
import os
import sys

LOWEST = 19
"""The priority of processes that get what time the others leave, on systems where `nice` sets it."""
IDLE_PRIORITY_CLASS = 0x40
"""The same on Windows."""


def give_way() -> None:
    """Let all other processes go first, from now on and until this one ends; so do those that it starts later."""
    if sys.platform == "win32":
        this_process = ctypes.c_void_p(-1)
        ctypes.windll.kernel32.SetPriorityClass(this_process, IDLE_PRIORITY_CLASS)
    else:
        os.nice(LOWEST)
