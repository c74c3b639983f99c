"""Folders in which one process works at a time: two would overwrite each other's state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from training.errors import TrainingError
from training.files import make_folder, named_errors

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def folder_for_one(path: Path) -> Iterator[None]:
    """Keep other processes that use this function out of a folder, which is made if need be, while the body runs.

    The system gives a folder back when the process ends, however it does. Where it has no locks, nobody is kept out. A
    folder that was made for nothing, because the body failed, is removed. Raises TrainingError if another process has
    the folder.
    """
    is_new = not path.exists()
    make_folder(path)
    try:
        with _locked(path):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                path.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    with named_errors(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(f"{path}: another process is working in this folder") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)
