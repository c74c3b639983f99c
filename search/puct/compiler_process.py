"""Starting the child process that compiles ahead (compile_ahead.py): light, for it is done before the search is
imported."""

from __future__ import annotations

import subprocess
import sys

import go_rules.machine.jit
from go_rules.machine.cores import usable_cores

_child: subprocess.Popen[bytes] | None = None
"""Kept, since it ends when our end of its pipe is closed: at the latest with this process."""


def help_compiling() -> None:
    """Start the child, once, if this process had to compile anything: then it will have to compile all the rest too."""
    global _child
    if _child is not None or go_rules.machine.jit.compilations == 0 or usable_cores() < 2:
        return
    command = [sys.executable, "-m", "search.puct.compile_ahead"]
    try:
        _child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return
