"""Writing files whole or not at all: what a crash or a full disk interrupts leaves the file that was there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from training.errors import TrainingError


def write_whole(path: Path, content: bytes) -> None:
    """Replace `path`. Raises TrainingError."""
    with _written(path, content) as temporary:
        os.replace(temporary, path)


def write_new(next_free: Callable[[], Path], content: bytes) -> None:
    """Write to `next_free()`, and never over what another process has put there meanwhile. Raises TrainingError."""
    with _written(next_free(), content) as temporary:
        while True:
            try:
                os.link(temporary, next_free())
                return
            except FileExistsError:
                continue


@contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """A temporary file beside `path`, for the body to put in its place."""
    temporary = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        yield temporary
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Create a folder, its parents too, unless it is there. Raises TrainingError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
