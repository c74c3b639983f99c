"""Turns between processes: one compiles a kernel, and others that need it meanwhile wait for it and load it.

A turn is a lock on a file, which the system takes back from a process that ends. Nothing depends on turns: where there
are no such locks, or no place for them, or somebody takes too long, all compile for themselves.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

LONGEST = 60.0
"""Seconds that anyone is waited for."""
POLL_SECONDS = 0.02

_taken: dict[Path, int] = {}
"""Descriptors of the files that this process has locked."""


def take_turn(path: Path) -> None:
    """Return when no other process is making the file `path`, or when that takes too long."""
    if fcntl is None or path in _taken:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(_lock_of(path), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(POLL_SECONDS)
        except OSError:
            break
        else:
            _taken[path] = descriptor
            return
    os.close(descriptor)


def end_turn(path: Path) -> None:
    """Let others have `path`."""
    descriptor = _taken.pop(path, None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.unlink(_lock_of(path))
        os.close(descriptor)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")
