"""What the cache directory keeps of networks: what was made from their files, and that they were opened before.

Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from nobi_machine.cache import cache_root, read_entry, write_entry

# --- Conversions and calibrations ------------------------------------------------------------------------------------
# A conversion that somebody else has planted, or another network's, would play badly in silence. So only entries of our
# own are used, each under its own key (nobi_machine/cache.py).

UNUSED_DAYS = 90


def networks_directory() -> Path:
    """Return the folder for what is made from networks, in the user's cache directory."""
    return cache_root() / "networks"


def cached(name: str, key: str, derive: Callable[[], bytes]) -> bytes:
    """Return the content stored in the file `name` under `key`. If there is none, `derive` makes it first.

    The key says all that the content depends on; the name may be shorter.
    """
    path = networks_directory() / name
    found = read_entry(path, key)
    if found is None:
        found = derive()
        write_entry(path, key, found, UNUSED_DAYS)
    return found


# --- Files that were opened before -----------------------------------------------------------------------------------
# A network that cannot be used has to be reported before the engine answers anything, but opening one takes longer than
# a controller may wait for its first answer. So a file that was opened once is trusted until its size or time changes.
# How fast this machine computes its network is remembered in the same way.


def was_opened_before(path: Path, how: str = "") -> bool:
    """Return whether this file, unchanged, was opened before with the options that `how` names."""
    return _read(path, how) is not None


def remember_opened(path: Path, how: str = "") -> None:
    """Remember that a file was opened with the options that `how` names. An unwritable cache is no error."""
    if not was_opened_before(path, how):
        _write(path, how, b"")


def remember(path: Path, how: str, text: str) -> None:
    """Remember something that was measured with a file's network, in the way that `how` names. An unwritable cache is
    no error."""
    _write(path, f"measured {how}", text.encode())


def remembered(path: Path, how: str) -> str | None:
    """Return what `remember` was last given for this file, unchanged, and the same `how`; None if nothing."""
    found = _read(path, f"measured {how}")
    return None if found is None else found.decode()


def _read(path: Path, how: str) -> bytes | None:
    with contextlib.suppress(OSError):
        return read_entry(*_marker(path, how))
    return None


def _write(path: Path, how: str, content: bytes) -> None:
    with contextlib.suppress(OSError):
        write_entry(*_marker(path, how), content, UNUSED_DAYS)


def _marker(path: Path, how: str) -> tuple[Path, str]:
    """The file that stands for a network's file, and the key to it. Raises OSError."""
    status = path.stat()
    key = f"{path.resolve()}\n{status.st_size}\n{status.st_mtime_ns}\n{how}"
    name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return networks_directory() / f"opened-{name}", key
