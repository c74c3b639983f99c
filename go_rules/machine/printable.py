"""Text from strangers, made safe to show: a name, a path or an error must not command the user's terminal."""

from __future__ import annotations

import os

LONGEST = 300
"""Characters that are shown of a stranger's text, unless the caller wants another number."""
LONGEST_SHOWN = 60
"""Characters that are shown of a value."""


def printable(text: str, longest: int = LONGEST) -> str:
    """Return `text` as one line without control characters, of at most `longest` characters.

    Runs of white space become one space. What cannot be printed is written as `escaped` does it. A text that is too
    long ends with `...`.
    """
    line = escaped(" ".join(text[: 4 * longest].split()))
    return _cut(line if len(text) <= 4 * longest else line + "...", longest)


def shown(value: object) -> str:
    """Return a value as a part of a message of one line, of at most LONGEST_SHOWN characters; '' for an empty text."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # an integer of too many digits, or too deep a list
        text = f"such {type(value).__name__}"
    return _cut(escaped(text[: LONGEST_SHOWN + 1]), LONGEST_SHOWN) or "''"


def printable_path(path: str | os.PathLike[str]) -> str:
    """Return a path as a part of a message of one line."""
    return escaped(str(path))


def escaped(text: str) -> str:
    """Return `text` with what cannot be printed written as Python writes it (`\\x1b`).

    That is newlines and other controls of C0 and C1, DEL, marks that turn the direction of writing, invisible
    characters and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else line[: max(0, longest - 3)] + "..."
