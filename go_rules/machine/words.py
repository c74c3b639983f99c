"""The words of a command line that somebody wrote as one text."""

from __future__ import annotations

import shlex
import sys

ESCAPE = "" if sys.platform == "win32" else "\\"
"""What takes the meaning from the character after it. On Windows paths have backslashes."""


def split_command(text: str) -> list[str]:
    """Return the words of a command: as a shell reads them, but on Windows a backslash is a character like any other.

    Raises ValueError where a quotation does not end.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ESCAPE
    return list(lexer)
