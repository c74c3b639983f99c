"""Lines for the user on stderr. Some GUIs read stderr as if it were GTP, so no line may look like a part of it."""

from __future__ import annotations

import contextlib
import sys

from go_rules.machine.printable import printable

LONGEST_NOTE = 2000
"""Characters of the longest note."""


def note(text: str) -> None:
    """Write one line to stderr, in a form that no GUI takes for a reply, an analysis or an error.

    Control characters, which a text from a file or a peer may hold, are written out. A stderr that is closed is no
    error.
    """
    text = text.replace("->", "to").replace("exception", "error").replace("Exception", "Error")
    raw("nobi: " + printable(text, LONGEST_NOTE))


def raw(line: str) -> None:
    """Write one line to stderr exactly as it is, for a program that expects this form."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
