"""Where the project keeps files of its own on a user's machine. Imports nothing heavy."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`$NOBI_CACHE_DIR`, or the user's cache directory: whatever lies there can be made again."""
    root = os.environ.get("NOBI_CACHE_DIR")
    if not root:
        from platformdirs import user_cache_dir

        root = user_cache_dir("nobi", appauthor=False)
    return Path(root)
