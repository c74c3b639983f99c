"""Locks between processes: one process compiles a kernel, and others that need it wait and then load its file.

The system takes a lock back from a process that ends. Nothing depends on these locks: where the system has none, where
their files cannot be written, or where a process keeps one for too long, every process compiles for itself.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from go_rules.machine.cache import usable_folder

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

LONGEST = 60.0
"""How many seconds to wait for a lock at most."""
POLL_SECONDS = 0.02

_held: dict[Path, int] = {}
"""The descriptor of each lock file that this process has locked."""


def acquire(path: Path) -> None:
    """Wait until no other process holds the lock of the file `path`, and take it; give up after LONGEST seconds."""
    if fcntl is None or path in _held:
        return
    folder = usable_folder(path.parent, create=True)
    if folder is None:
        return
    try:
        descriptor = os.open(_lock_of(folder / path.name), os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
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
            _held[path] = descriptor
            return
    os.close(descriptor)


def release(path: Path) -> None:
    """Give the lock of the file `path` back, if this process holds it."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.unlink(_lock_of(path))
        os.close(descriptor)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")
