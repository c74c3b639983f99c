"""Remembers which network files were opened before: a quick way to know that a file is good without reading it.

A network that cannot be used has to be reported before the engine answers anything, but opening one takes longer than
a controller may wait for its first answer. So a file that was opened once is trusted until its size or time changes.
Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from go_rules.machine.directories import cache_root


def was_opened_before(path: Path, how: str = "") -> bool:
    """Whether this file, unchanged, was opened before with the options that `how` names."""
    try:
        return _marker(path, how).exists()
    except OSError:
        return False


def remember_opened(path: Path, how: str = "") -> None:
    """Remember that a file was opened with the options that `how` names. An unwritable cache is no error."""
    with contextlib.suppress(OSError):
        marker = _marker(path, how)
        marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        marker.touch()


def _marker(path: Path, how: str) -> Path:
    status = path.stat()
    identity = f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{how}"
    return cache_root() / "networks" / f"opened-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
