"""Where the project keeps files of its own on a user's machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Return the directory for files that can be made again: `$NOBI_CACHE_DIR`, or else the user's cache directory."""
    root = os.environ.get("NOBI_CACHE_DIR")
    if not root:
        from platformdirs import user_cache_dir

        root = user_cache_dir("nobi", appauthor=False)
    return Path(root)
