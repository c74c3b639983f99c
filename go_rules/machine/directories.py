"""Where the project keeps files of its own on a user's machine."""

from __future__ import annotations

import os
from pathlib import Path

NOWHERE = Path(os.devnull, "nobi")
"""Stands for a folder of a user who has no home: nothing is in it, and nobody can make it."""


def cache_root() -> Path:
    """Return the directory for files that can be made again: `$NOBI_CACHE_DIR`, or else the user's cache directory.

    NOWHERE if neither is known.
    """
    return _named("NOBI_CACHE_DIR") or _of_user("cache")


def config_root() -> Path:
    """Return the directory of the configuration: `$NOBI_CONFIG_DIR`, or else where the system has such files.

    NOWHERE if neither is known.
    """
    return _named("NOBI_CONFIG_DIR") or _of_user("config")


def data_root() -> Path:
    """Return the directory for files that a user asked for and that stay: `$NOBI_DATA_DIR`, or else where the system
    has such files.

    NOWHERE if neither is known.
    """
    return _named("NOBI_DATA_DIR") or _of_user("data")


def expand_home(path: str) -> Path:
    """Put a user's home in place of a `~` at the beginning; where it is not known, the path stays as it is."""
    return Path(os.path.expanduser(path))


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _of_user(kind: str) -> Path:
    """What the system has for files of such a kind. Some versions of platformdirs raise an error where there is no
    home, others return a path below the current directory, where anybody may have put something."""
    import platformdirs

    try:
        found = Path(getattr(platformdirs, f"user_{kind}_dir")("nobi", appauthor=False))
    except (RuntimeError, KeyError, OSError):
        return NOWHERE
    return found if found.is_absolute() else NOWHERE
