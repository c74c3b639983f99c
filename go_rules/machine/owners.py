"""Which folders no other user can have put anything in: those whose files may be executed or trusted.

Windows tells no owners to Python, so there everything counts as trusted: its users' folders are private by default.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from pathlib import Path

from go_rules.machine.files import is_ours

ADMINISTRATOR = 0


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
        if not (is_ours(status) or _is_safe(status, is_above=place != real)):
            raise PermissionError(errno.EPERM, "other users may write there", str(place))
    return real


def is_private(status: os.stat_result) -> bool:
    """Return whether nobody but this user and the administrator can write to a file or folder.

    Its group may write to it if this user is the only member: programs that install files leave them so where the
    system is arranged like that.
    """
    return is_ours(status) or _is_safe(status, is_above=False)


def _is_safe(status: os.stat_result, is_above: bool) -> bool:
    """Whether a folder that is writable by others than its owner cannot be used by other users to harm this one."""
    if status.st_uid not in (ADMINISTRATOR, os.geteuid()):
        return False
    if is_above and status.st_mode & stat.S_ISVTX:
        return True
    return not status.st_mode & stat.S_IWOTH and _is_own_group(status.st_gid)


@functools.cache
def _is_own_group(group: int) -> bool:
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
