"""Starts the second process, whose program is compile_ahead.py.

It is started before this process imports the search, so this module imports next to nothing.
"""

from __future__ import annotations

import subprocess

import go_rules.compilation.jit
from go_rules.machine.cores import usable_cores
from go_rules.machine.launch import python_command

_child: subprocess.Popen[bytes] | None = None
"""The process ends when our end of its pipe is closed. The reference keeps the pipe open as long as we live."""


def start_compiler_process() -> None:
    """Start the second process, once, if this one had to compile anything: then all the rest must be compiled too."""
    global _child
    if _child is not None or go_rules.compilation.jit.compilations == 0 or usable_cores() < 2:
        return
    command = python_command("search.puct.compile_ahead")
    try:
        _child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return
