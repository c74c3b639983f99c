"""Lines for the user on stderr. Some GUIs read stderr as if it were GTP, so no line may look like a part of it."""

from __future__ import annotations

import contextlib
import sys


def note(text: str) -> None:
    """Write one line to stderr, in a form that no GUI takes for a reply, an analysis or an error.

    What cannot be printed becomes `?`, so that no name of a file or of an opponent reaches the terminal as an escape
    sequence. A stderr that is closed is no error.
    """
    text = text.replace("->", "to").replace("exception", "error").replace("Exception", "Error")
    raw("nobi: " + "".join(c if c.isprintable() else "?" for c in " ".join(text.split())))


def raw(line: str) -> None:
    """Write one line to stderr exactly as it is, for a program that expects this form."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
