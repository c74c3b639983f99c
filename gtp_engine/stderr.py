"""Lines for the user on stderr. Some GUIs read stderr as if it were the dialogue, so these stay clear of its forms."""

from __future__ import annotations

import contextlib
import sys


def note(text: str) -> None:
    """One line that no client takes for a reply, an analysis or an alarm; whoever does not read it does no harm."""
    text = text.replace("->", "to").replace("exception", "error").replace("Exception", "Error")
    raw("nobi: " + " ".join(text.split()))


def raw(line: str) -> None:
    """A line whose form a client asked for."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
