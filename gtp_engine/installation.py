"""Whether the installed files are still ours: another distribution may have packages of the same names, and installers
write over what is there, and remove it with that distribution.

It is asked only where something has failed, so a start does not pay for it: modules are imported when they are needed.
None of them is ours: whatever is damaged, this can still be said.
"""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

FOLDER = Path(__file__).resolve().parents[1]
"""The folder that holds Nobi's packages: site-packages, or a checkout, whose files no installer touches."""
NAME = "nobi"
"""What installers call us."""
REMEDY = "install Nobi again, into an environment of its own, as pipx does"


@functools.cache
def damage() -> str:
    """Say in a part of a line which of the installed files are no longer ours, and whose they are.

    Return '' where all are as they were installed, and where nothing tells how that was, as in a checkout.
    """
    with contextlib.suppress(Exception):  # whatever this stumbles on, something else has failed that is to be reported
        return _damage()
    return ""


def _damage() -> str:
    from importlib.metadata import distributions

    here = [str(FOLDER)]
    changed = [
        path
        for ours in distributions(name=NAME, path=here)
        for path, digest in _recorded(ours).items()
        if digest and _digest(path) != digest
    ]
    if not changed:
        return ""
    files = changed[0] + (f" and {len(changed) - 1} other files" if len(changed) > 1 else "")
    for other in distributions(path=here):
        if not _recorded(other).keys().isdisjoint(changed) and other.metadata["Name"] != NAME:
            return f"the package {other.metadata['Name']} {other.version} has overwritten {files} of Nobi's"
    return f"Nobi is not as it was installed: {files} changed or missing"


def _recorded(distribution: Distribution) -> dict[str, str]:
    """The files that a distribution has installed, and the SHA-256 digests of them, '' where it tells none."""
    import csv

    rows = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    return {row[0]: row[1].removeprefix("sha256=") for row in rows if len(row) == 3}


def _digest(path: str) -> str:
    """The digest of a file as it is now, in the form of RECORD; '' if it is not there."""
    import base64
    import hashlib

    try:
        content = (FOLDER / path).read_bytes()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
