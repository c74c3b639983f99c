"""Where the project keeps files of its own on a user's machine, and the cache: files that can be made again, each bound
to its key, and nobody else's work.

Compiled kernels are executed and cached networks choose the moves, so whoever can write such a file plays, and more,
with the user's rights. So an entry is used only if its file and its folder belong to this user or to the administrator,
and if nobody else may write to them or put another folder in their place. Windows tells no owners to Python, so there
everything counts as trusted: its users' folders are private by default. An entry begins with a checksum over its key
and its content: what is damaged or another key's is as good as missing.

A cache changes nothing but time. What cannot be read is made again, and what cannot be written stays in memory, which
is said once on stderr.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import stat
import sys
import time
from pathlib import Path

from nobi_machine.files import is_ours, read_owned, written_beside
from nobi_machine.text import escaped

NOWHERE = Path(os.devnull, "nobi")
"""Stands for a folder of a user who has no home: nothing is in it, and nobody can make it."""


def cache_root() -> Path:
    """Return the directory for files that can be made again: `$NOBI_CACHE_DIR`, else the user's cache, else NOWHERE."""
    return _root("cache")


def config_root() -> Path:
    """Return the directory of the configuration: `$NOBI_CONFIG_DIR`, else where the system has such, else NOWHERE."""
    return _root("config")


def data_root() -> Path:
    """Return the directory for files that a user asked for and that stay: `$NOBI_DATA_DIR`, else where the system has
    such, else NOWHERE."""
    return _root("data")


def expand_home(path: str) -> Path:
    """Put a user's home in place of a `~` at the beginning; where it is not known, the path stays as it is."""
    return Path(os.path.expanduser(path))


def _root(kind: str) -> Path:
    """What a variable names for files of such a kind, else what the system has for them. Some versions of platformdirs
    raise an error where there is no home, others return a path below the current directory, where anybody may have put
    something."""
    if named := os.environ.get(f"NOBI_{kind.upper()}_DIR"):
        return Path(named)
    import platformdirs

    try:
        found = Path(getattr(platformdirs, f"user_{kind}_dir")("nobi", appauthor=False))
    except (RuntimeError, KeyError, OSError):
        return NOWHERE
    return found if found.is_absolute() else NOWHERE


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
        if not is_private(status, is_above=place != real):
            raise PermissionError(errno.EPERM, "other users may write there", str(place))
    return real


def is_private(status: os.stat_result, is_above: bool = False) -> bool:
    """Return whether nobody but this user and the administrator can write to a file or folder; of one that `is_above`
    others, whether nobody can replace what lies there.

    Its group may write to it if this user is the only member: programs that install files leave them so where the
    system is arranged like that.
    """
    if is_ours(status):
        return True
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


FOLDER_MODE = 0o700
CHECKSUM_BYTES = 32
MAX_BYTES = 3 << 30
"""The largest entry; a converted network of the largest size is smaller."""

_ready: dict[Path, Path] = {}
"""The folders that were found to be ours, and their paths without symbolic links."""
_problem: str | None = None
_pruned: set[Path] = set()


def read_entry(path: Path, key: str) -> bytes | None:
    """Return the content that `write_entry` put at `path` under this key; None if there is none to be trusted."""
    folder = usable_folder(path.parent, create=False)
    if folder is None:
        return None
    try:
        found = entry_content(read_owned(folder / path.name, MAX_BYTES), key)
    except (OSError, MemoryError):
        return None
    if found is not None:
        with contextlib.suppress(OSError):  # a cache that is only read serves as well
            os.utime(folder / path.name)
    return found


def entry_content(entry: bytes, key: str) -> bytes | None:
    """Return the content of an entry; None if it is damaged or not this key's. Raises MemoryError."""
    content = memoryview(entry)[CHECKSUM_BYTES:]
    return bytes(content) if _checksum(key, content) == entry[:CHECKSUM_BYTES] else None


def write_entry(path: Path, key: str, content: bytes, unused_days: float) -> None:
    """Keep `content` at `path` under a key, and once in a process delete what nobody has read for `unused_days`.

    Where that is impossible, it is said once on stderr and nothing else happens.
    """
    folder = usable_folder(path.parent, create=True)
    if folder is None:
        return
    try:
        with written_beside(folder / path.name, _checksum(key, content) + content) as whole:
            _put(whole, folder / path.name)
        if folder not in _pruned:
            _pruned.add(folder)
            _prune(folder, unused_days)
    except OSError as error:
        _report(folder, error)


def usable_folder(folder: Path, create: bool) -> Path | None:
    """Return the real path of a folder in which only this user and the administrator can have put anything.

    None if there is no such folder, and if it cannot be made. Unless it is merely missing, that is said on stderr.
    """
    if folder in _ready and not (create and not _ready[folder].is_dir()):
        return _ready[folder]
    try:
        if NOWHERE in (folder, *folder.parents):
            raise FileNotFoundError(errno.ENOENT, "no home is known, and NOBI_CACHE_DIR names no folder", "~")
        if create:
            _make(folder)
        elif not os.path.lexists(folder):
            return None
        _ready[folder] = trusted_folder(folder)
    except (OSError, ValueError) as error:
        _report(folder, error)
        return None
    return _ready[folder]


def problem() -> str | None:
    """Return why nothing, or not all, is kept in the cache, in one line; None as far as nothing went wrong."""
    return _problem


def _report(folder: Path, error: OSError | ValueError) -> None:
    """Say on stderr, once in a process, that nothing is kept in a folder."""
    global _problem
    if _problem is not None:
        return
    place = getattr(error, "filename", None) or folder
    reason = getattr(error, "strerror", None) or error
    _problem = escaped(f"{place}: {reason}")
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"nobi: the cache cannot be used, so every start takes longer: {_problem}", file=sys.stderr, flush=True)


def _checksum(key: str, content: bytes | memoryview) -> bytes:
    name = key.encode("utf-8", "surrogateescape")
    digest = hashlib.sha256(len(name).to_bytes(8, "little") + name)
    digest.update(content)
    return digest.digest()


def _make(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone. Raises OSError."""
    if not folder.is_dir():
        if folder.parent != folder:
            _make(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(FOLDER_MODE)


def _put(whole: Path, path: Path) -> None:
    """Move a file to where it belongs. A folder in its place has no business there and is deleted. Raises OSError."""
    try:
        os.replace(whole, path)
    except OSError:
        if not path.is_dir():
            raise
        import shutil

        shutil.rmtree(path)
        os.replace(whole, path)


def _prune(folder: Path, unused_days: float) -> None:
    """Delete files that nobody has read for so long. Raises OSError."""
    now = time.time()
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < now - unused_days * 86400:
                path.unlink()
