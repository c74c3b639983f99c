"""Files made from networks and kept in the user's cache directory: conversions and calibrations.

An entry is a checksum and a payload, written whole and renamed into place. What cannot be read is derived again, what
cannot be written is used from memory: the cache costs or saves time and changes nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from go_rules.machine.directories import cache_root
from go_rules.machine.files import write_whole

CHECKSUM_BYTES = 32
UNUSED_DAYS = 90


def networks_directory() -> Path:
    return cache_root() / "networks"


def cached(key: str, derive: Callable[[], bytes]) -> bytes:
    """Return the payload stored under `key`, part of a file's name. If there is none, `derive` makes it first."""
    path = networks_directory() / key
    found = _read(path)
    if found is None:
        found = derive()
        _write(path, found)
    return found


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    payload = content[CHECKSUM_BYTES:]
    if hashlib.sha256(payload).digest() != content[:CHECKSUM_BYTES]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return payload


def _write(path: Path, payload: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, hashlib.sha256(payload).digest() + payload)
        _prune(path.parent)
    except OSError:
        pass


def _prune(directory: Path) -> None:
    """Delete files that were not used for UNUSED_DAYS, and files that an interrupted process left behind."""
    oldest = time.time() - UNUSED_DAYS * 86400
    for path in directory.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
