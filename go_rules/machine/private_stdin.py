"""A stdin that is ours alone, for a process in which a thread waits for what another process writes."""

from __future__ import annotations

import os


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
