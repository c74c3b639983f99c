"""Files that work depends on while it goes on: results of two contents must never be mixed."""

from __future__ import annotations

import errno
import functools
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from nobi_machine.files import read_regular

MOST_BYTES = 1 << 32


class Inputs:
    """Files by what they are for, and what they contained when they were first read."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Read the files. Raises OSError."""
        self.files = dict(files)
        self._seen = {name: _state(path) for name, path in self.files.items()}
        self.hashes = {name: _hash(path, self._seen[name]) for name, path in self.files.items()}
        """SHA-256 of their contents, in hexadecimal."""

    def content(self, name: str) -> bytes:
        """Read a file again. Raises OSError, also where it has changed."""
        path = self.files[name]
        content = read_regular(path, MOST_BYTES)
        if sha256(content) != self.hashes[name]:
            raise OSError(errno.ESTALE, "changed while it was in use", str(path))
        return content

    def check(self) -> None:
        """Raise OSError where a file has changed. This is cheap: only a file that was written is read."""
        for name, path in self.files.items():
            state = _state(path)
            if state != self._seen[name]:
                self.content(name)
                self._seen[name] = state


def sha256(content: bytes) -> str:
    """Return the hash of a content in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


@functools.lru_cache(64)
def _hash(path: Path, _state: tuple[int, ...]) -> str:
    """The hash of a file in this state: the matches of a tournament have the same ones."""
    return sha256(read_regular(path, MOST_BYTES))


def _state(path: Path) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
