"""Which files and folders no other user can have written: those whose content may be executed or trusted.

Windows tells no owners to Python, so there everything counts as trusted: its users' folders are private by default.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from pathlib import Path

HAS_OWNERS = hasattr(os, "geteuid")
ADMINISTRATOR = 0

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def read_trusted(path: Path, most_bytes: int) -> bytes:
    """Read a regular file that belongs to this user or the administrator, and that nobody else may write.

    Its folder must be one that `trusted_folder` returned. Kind, owner and mode are those of the file that was opened,
    whatever the name means a moment later; a symbolic link is not followed. Raises OSError.
    """
    descriptor = os.open(path, _READ)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            raise OSError(errno.EINVAL, "not a file of ours", str(path))
        if not _is_ours(status):
            raise OSError(errno.EPERM, "other users may have written it", str(path))
        return file.read(status.st_size)


def trusted_folder(folder: Path) -> Path:
    """Return the real path of a folder where no other user can put anything, nor replace it or a folder above it.

    Folders above may be writable by others if they are sticky, as /tmp is: there nobody can replace what is another's.
    A group whose only member is this user is nobody else. Raises OSError, whose `strerror` is the reason.
    """
    real = Path(os.path.realpath(folder, strict=True))
    for place in (real, *real.parents):
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(place))
        is_sticky = place != real and bool(status.st_mode & stat.S_ISVTX)
        if not _is_ours(status, is_sticky):
            raise PermissionError(errno.EPERM, "other users may write there", str(place))
    return real


def _is_ours(status: os.stat_result, may_be_writable: bool = False) -> bool:
    if not HAS_OWNERS:
        return True
    if status.st_uid not in (ADMINISTRATOR, os.geteuid()):
        return False
    by_others = status.st_mode & stat.S_IWOTH
    by_group = status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid)
    return may_be_writable or not (by_others or by_group)


@functools.cache
def _is_private(group: int) -> bool:
    """Whether a group is this user's own: it has the user's name and no other members, as many systems arrange it.

    There new folders are writable by their group, which is no danger.
    """
    import grp
    import pwd

    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group == user.pw_gid and entry.gr_name == user.pw_name and set(entry.gr_mem) <= {user.pw_name}
