"""Lines for the user on stderr. Some GUIs read stderr as if it were GTP, so no line may look like a part of it.

Lizzie takes a line with ` -> ` in it for a candidate move, and fails where it is none. Ogatak shows a line that has
`exception` in it in a window, and does nothing else. So a file keeps its name even if that word is a part of it: a
window with the true name is better than a name that no file has.
"""

from __future__ import annotations

import contextlib
import re
import sys

from go_rules.machine.printable import printable

LONGEST_NOTE = 2000
"""Characters of the longest note."""
FILE_NAME = re.compile(r"[/\\]|\.\w")
"""What a word that names a file has in it."""


def note(text: str) -> None:
    """Write one line to stderr, in a form that no GUI takes for a reply, an analysis or an error.

    Control characters, which a text from a file or a peer may hold, are written out. A stderr that is closed is no
    error.
    """
    raw("nobi: " + " ".join(map(_harmless, printable(text, LONGEST_NOTE).split(" "))))


def raw(line: str) -> None:
    """Write one line to stderr exactly as it is, for a program that expects this form."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _harmless(word: str) -> str:
    if word in ("->", "→"):  # a terminal that has no arrow shows the second as the first
        return "to"
    return word if FILE_NAME.search(word) else word.replace("exception", "error").replace("Exception", "Error")
