"""Every file that somebody names is opened here: read with limits, and written whole or not at all.

Reading takes regular files only, and no more of them than the caller allows, so that no FIFO, device or endless file
can hold the engine up or fill its memory. Writing puts a complete file in place in one step: a crash or a full disk
leaves what was there. Every error is an OSError whose `strerror` is a reason in plain words, for one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

Name = str | os.PathLike[str]

PRIVATE, PUBLIC = 0o600, 0o666
"""Permissions of a new file, less what the user's umask takes away: for its owner alone, and for everybody."""

READ_SECONDS = 300.0
"""The longest that reading one file may take. A file that trickles, as some in /proc or on a network do, ends there."""
CHUNK = 1 << 16
"""How much is read at once of a file that does not say how large it is."""

LEFT_BEHIND_SECONDS = 3600.0
"""A temporary file of this age belongs to no process that still writes it."""

_TEMPORARY = re.compile(r"\.new-[0-9a-f]{16}")
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""How file systems say that they have no hard links."""


# --- Reading ------------------------------------------------------------------------------------------------------


def read_regular(path: Name, most_bytes: int) -> bytes:
    """Read a regular file of at most `most_bytes`. A symbolic link is followed.

    Raises OSError, also for a folder, a FIFO, a device, a file that is too large, and one that yields nothing.
    """
    with _opened(path) as descriptor:
        return _content(descriptor, path, most_bytes)


@contextmanager
def opened_regular(path: Name) -> Iterator[BinaryIO]:
    """Open a regular file for a body that reads parts of it; `read_regular` says what is refused. Raises OSError."""
    with _opened(path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        yield file


def read_owned(path: Name, most_bytes: int, is_trusted: Callable[[os.stat_result], bool] | None = None) -> bytes:
    """Read a regular file that nobody but its owner may write, and whose owner is this user or the administrator.

    For files whose content is trusted; `is_trusted` is for a rule other than `is_ours`. A symbolic link is refused.
    Where the system has no owners (Windows), every regular file is read. Raises OSError.
    """
    with _opened(path, getattr(os, "O_NOFOLLOW", 0)) as descriptor:
        if not (is_trusted or is_ours)(os.fstat(descriptor)):
            raise OSError(errno.EPERM, "others may have written it", str(path))
        return _content(descriptor, path, most_bytes)


def is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user or the administrator, and nobody else may write to it.

    Always true where the system has no owners (Windows).
    """
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & _OTHERS_MAY_WRITE


@contextmanager
def _opened(path: Name, more_flags: int = 0) -> Iterator[int]:
    """A descriptor of a regular file. The kind is that of what was opened, not of what the name meant a moment ago."""
    descriptor = _open(path, _READ | more_flags)
    with _closed_after(descriptor):
        _require_regular(os.fstat(descriptor).st_mode, path)
        yield descriptor


def _content(descriptor: int, path: Name, most_bytes: int) -> bytes:
    limit = time.monotonic() + READ_SECONDS
    size = os.fstat(descriptor).st_size  # 0 for most files in /proc, whatever they hold
    parts: list[bytes] = []
    held = 0
    while max(size, held) <= most_bytes:
        try:
            part = os.read(descriptor, max(size - held, CHUNK) + 1)
        except BlockingIOError:
            raise OSError(errno.EAGAIN, "yields nothing", str(path)) from None
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)
        held += len(part)
        if time.monotonic() > limit:
            raise OSError(errno.ETIMEDOUT, "takes too long to read", str(path))
    amount = f"{most_bytes / 1e6:.0f} MB" if most_bytes >= 1_000_000 else f"{most_bytes} bytes"
    raise OSError(errno.EFBIG, f"larger than {amount}", str(path))


# --- Writing ------------------------------------------------------------------------------------------------------


@contextmanager
def written_beside(path: Path, content: bytes, mode: int = PRIVATE, durable: bool = False) -> Iterator[Path]:
    """Write `content` to a temporary file in the folder of `path` and give its path to the body.

    The body may move it to where it belongs; what is still there at the end is removed. `durable` waits until the disk
    has the content, so that a power failure cannot leave an empty file. Raises OSError.
    """
    _remove_left_behind(path.parent)
    temporary = path.parent / f".new-{os.urandom(8).hex()}"
    with _named(path):
        descriptor = _open(temporary, _WRITE | os.O_EXCL, mode)
    try:
        with _named(path), _closed_after(descriptor):
            _write(descriptor, content, durable)
        yield temporary
    finally:
        with contextlib.suppress(OSError):  # it is no part of what was asked for, and goes when it is old
            os.unlink(temporary)


def put_in_place(temporary: Path, path: Path, like_before: bool = False) -> None:
    """Move what `written_beside` has written to `path`, in one step, in place of what is there.

    `like_before`: with the permissions of what is there. Raises OSError.
    """
    with _named(path):
        if like_before:
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)


def _remove_left_behind(folder: Path) -> None:
    """Remove, once in a process, the temporary files in a folder that killed processes left there."""
    if folder in _looked_through:
        return
    _looked_through.add(folder)
    latest = time.time() - LEFT_BEHIND_SECONDS
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                if _TEMPORARY.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < latest:
                    os.unlink(entry)


_looked_through = set[Path]()


def write_whole(path: Path, content: bytes, mode: int = PRIVATE, durable: bool = False) -> None:
    """Put a file with this content in place of the file at `path`, if there is one, in one step.

    A symbolic link there is replaced itself and not followed. Raises OSError, also where `path` is a folder, a FIFO or
    a device.
    """
    try:
        before = os.lstat(path).st_mode
    except FileNotFoundError:
        before = stat.S_IFREG
    if not stat.S_ISLNK(before):
        _require_regular(before, path)
    with written_beside(path, content, mode, durable) as temporary:
        put_in_place(temporary, path)


def write_new(next_free: Callable[[], Path], content: bytes) -> None:
    """Write to the path that `next_free` returns, and never over a file that another process has put there meanwhile.

    `next_free` is asked again until its path is free. Raises OSError.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            create_whole(next_free(), content)
            return


def create_whole(path: Path, content: bytes) -> None:
    """Write a new file, which appears at `path` complete or not at all.

    Raises OSError, and FileExistsError where the name is taken, even by a symbolic link to nothing.
    """
    with written_beside(path, content, PUBLIC, durable=True) as temporary:
        try:
            os.link(temporary, path)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_LINKS:
                raise OSError(error.errno, error.strerror, str(path)) from None
            # No hard links here. The name is taken first, so that nothing is overwritten, and then replaced.
            os.close(_open(path, _WRITE | os.O_EXCL, PUBLIC))
            try:
                put_in_place(temporary, path)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                raise


def append_regular(path: Path, content: bytes, durable: bool = False) -> None:
    """Append to a regular file, which is created where there is none, all of the content or nothing of it.

    It never waits for who reads. Raises OSError.
    """
    descriptor = _open(path, _WRITE | os.O_APPEND | getattr(os, "O_NONBLOCK", 0), PUBLIC)
    with _named(path), _closed_after(descriptor):
        status = os.fstat(descriptor)
        _require_regular(status.st_mode, path)
        _write(descriptor, content, durable, status.st_size)


@contextmanager
def _closed_after(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes, durable: bool, start: int = 0) -> None:
    """Write all of the content; where that fails, cut the file off at `start`. Raises OSError."""
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if durable:
            os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, start)
        raise


# --- Opening and its errors ---------------------------------------------------------------------------------------


def _open(path: Name, flags: int, mode: int = PUBLIC) -> int:
    try:
        return os.open(path, flags, mode)
    except ValueError:  # a zero byte, or text that no file's name can have
        raise OSError(errno.EINVAL, "not a name that a file can have", str(path)) from None
    except PermissionError:
        if os.path.isdir(path):  # all that Windows says of a folder
            raise OSError(errno.EISDIR, "a folder, not a file", str(path)) from None
        raise


@contextmanager
def _named(path: Name) -> Iterator[None]:
    """Let an error of the body name the file that the caller knows: a full disk names none, others a temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _require_regular(mode: int, path: Name) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "a folder, not a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
