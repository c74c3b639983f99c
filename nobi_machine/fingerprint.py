"""A hash of a module's source and of all that it imports, to tell which code a stored result was computed with.

Compiled kernels, converted networks and calibrations are kept in files that have such a hash in their names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

PROJECT_IMPORT = re.compile(
    r"^from ((?:nobi_machine|go_rules|nets|search|training|benchmarks)[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE
)
"""An import of our own at the top of a module. Imports inside functions are not followed."""


@cache
def source_fingerprint(module: str) -> str:
    """Compute a SHA-256 in hexadecimal of a module's source and of all of ours that it imports, directly or not."""
    digest = hashlib.sha256()
    for name in sorted(_reachable(module)):
        digest.update(name.encode())
        digest.update(_source(name))
    return digest.hexdigest()


def _reachable(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += _imported(name)
    return found


@cache
def _imported(module: str) -> tuple[str, ...]:
    """Our modules that a module imports itself."""
    found = []
    for origin, names in PROJECT_IMPORT.findall(_source(module).decode("utf-8", "replace")):
        found.append(origin)
        if hasattr(sys.modules.get(origin), "__path__"):
            # What is imported from a package may be its modules.
            found += [f"{origin}.{imported}" for imported in re.findall(r"\w+", names)]
    return tuple(found)


@cache
def _source(module: str) -> bytes:
    loaded = sys.modules.get(module)
    path = getattr(loaded, "__file__", None)
    if path is None:
        spec = importlib.util.find_spec(module)
        path = spec.origin if spec else None
    try:
        return Path(path).read_bytes() if path else b""
    except OSError:
        return b""
