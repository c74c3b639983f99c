"""A stdin and a stdout that are ours alone: other code in the process reads nothing meant for us, and writes to nobody
who talks to us."""

from __future__ import annotations

import os
import sys


def guard_stdin() -> int:
    """Keep stdin for the caller: return a private descriptor of it, and let all other code find an empty one.

    Windows needs that. While a thread there waits for bytes from a pipe, whoever asks the system about the same pipe
    waits too, and libraries ask about stdin as they are loaded, numpy among them: the engine would not start before the
    next command arrived (https://github.com/numpy/numpy/issues/24290). Elsewhere it keeps other code and processes that
    we start from reading what is meant for us.
    """
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return private


def guard_stdout() -> int:
    """Keep stdout for GTP: return a private descriptor of it, and send all other output of the process to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.stderr
    return private
