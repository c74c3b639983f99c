"""Locks between processes: one compiles a kernel and the others wait for it; one works in a folder and no other may.

The system takes a lock back from a process that ends. Where lock files cannot be written, or where a process takes too
long, every process compiles for itself. A file system without locks keeps nobody out of a folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from nobi_machine.cache import usable_folder

if sys.platform == "win32":
    import msvcrt

    TAKEN_NUMBERS = (errno.EACCES, errno.EDEADLK, 0)
    """How the system says that another process has a lock; Wine says nothing."""

    def _lock(descriptor: int) -> None:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in TAKEN_NUMBERS:
                raise BlockingIOError from None
            raise

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        """Lock an open file or folder. Raises BlockingIOError where another process has done so, or another OSError."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


LONGEST = 60.0
"""How many seconds to wait for a lock at most. After one that was waited for in vain, none is waited for."""
POLL_SECONDS = 0.02

_held: dict[Path, int] = {}
"""The descriptor of each lock file that this process has locked."""
waited_in_vain = False
"""Whether this process has waited for a lock in vain."""


def acquire(path: Path) -> None:
    """Wait until no other process holds the lock of the file `path`, and take it; give up after LONGEST seconds."""
    global waited_in_vain
    if path in _held:
        return
    folder = usable_folder(path.parent, create=True)
    if folder is None:
        return
    try:
        descriptor = os.open(_lock_of(folder / path.name), os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        return
    deadline = time.monotonic() + (0.0 if waited_in_vain else LONGEST)
    while True:
        try:
            _lock(descriptor)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                if not waited_in_vain:
                    waited_in_vain = True
                    _say_that_it_was_in_vain()
                break
            time.sleep(POLL_SECONDS)
        except OSError:
            break
        else:
            _held[path] = descriptor
            return
    os.close(descriptor)


def _say_that_it_was_in_vain() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(
            f"nobi: another process has been preparing the same for {LONGEST:.0f} seconds; has it been stopped? "
            "This one goes on without it",
            file=sys.stderr,
            flush=True,
        )


def release(path: Path) -> None:
    """Give the lock of the file `path` back, if this process holds it."""
    descriptor = _held.pop(path, None)
    if descriptor is not None:
        _remove(_lock_of(path), descriptor)


@contextlib.contextmanager
def folder_for_one(path: Path) -> Iterator[None]:
    """Keep other processes that use this function out of a folder, which is made if need be, while the body runs.

    A folder that was made for nothing, because the body failed, is removed. Raises OSError, also if another process has
    the folder.
    """
    try:
        path.mkdir(parents=True)
        is_new = True
    except FileExistsError:
        if not path.is_dir():
            raise
        is_new = False
    with _locked(path):
        try:
            yield
        finally:
            if is_new:
                with contextlib.suppress(OSError):  # it is not empty
                    path.rmdir()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    beside = None
    if sys.platform == "win32":  # where only files can be locked
        beside = Path(f"{path.resolve()}.lock")
        descriptor = os.open(beside, os.O_CREAT | os.O_RDWR)
    else:
        descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            _lock(descriptor)
        except BlockingIOError:
            raise OSError(errno.EBUSY, "another process is working in this folder", str(path)) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        if beside is None:
            os.close(descriptor)
        else:
            _remove(beside, descriptor)


def _remove(lock: Path, descriptor: int) -> None:
    """Remove a lock file that this process has locked, and give the lock back."""
    if sys.platform == "win32":  # where no file can be removed that is open
        os.close(descriptor)
    with contextlib.suppress(OSError):
        os.unlink(lock)
    if sys.platform != "win32":
        os.close(descriptor)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")
