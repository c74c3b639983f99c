"""Files made from networks and kept in the user's cache directory: conversions and calibrations.

A conversion that somebody else has planted, or another network's, would play badly in silence. So only entries of our
own are used, each under its own key (nobi_machine/cache.py). Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nobi_machine.cache import cache_root, read_entry, write_entry

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
