"""Writing files whole or not at all: what a crash or a full disk interrupts leaves the file that was there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from training.errors import TrainingError


def write_whole(path: Path, content: bytes) -> None:
    """Replace `path`. Raises TrainingError."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise TrainingError(f"{path}: {error.strerror or error}") from None


def make_folder(path: Path) -> None:
    """Create a folder, its parents too, unless it is there. Raises TrainingError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(f"{path}: {error.strerror or error}") from None
