"""Files that are written whole or not at all: a crash or a full disk leaves the file that was there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE, PUBLIC = 0o600, 0o644
"""Permissions of a new file: for its owner alone, and for everybody to read."""


@contextmanager
def written_beside(path: Path, content: bytes, mode: int = PRIVATE, durable: bool = False) -> Iterator[Path]:
    """Write `content` to a temporary file in the folder of `path` and give its path to the body.

    The body may move it to where it belongs; what is still there at the end is removed. `durable` waits until the disk
    has the content, so that a power failure cannot leave an empty file. Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(mode)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, mode: int = PRIVATE, durable: bool = False) -> None:
    """Put a file with this content in place of whatever is at `path`, in one step. Raises OSError."""
    with written_beside(path, content, mode, durable) as temporary:
        os.replace(temporary, path)


def write_new(next_free: Callable[[], Path], content: bytes) -> None:
    """Write to the path that `next_free` returns, and never over a file that another process has put there meanwhile.

    `next_free` is asked again until its path is free. Raises OSError.
    """
    with written_beside(next_free(), content, PUBLIC, durable=True) as temporary:
        while True:
            try:
                os.link(temporary, next_free())
                return
            except FileExistsError:
                continue
