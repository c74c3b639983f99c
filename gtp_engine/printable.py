"""Text from strangers, made safe to show: a peer's name or error must not command the user's terminal."""

from __future__ import annotations

LONGEST = 300
"""Characters that are shown of a stranger's text, unless the caller wants another number."""


def printable(text: str, longest: int = LONGEST) -> str:
    """Return `text` as one line without control characters, of at most `longest` characters.

    Runs of white space become one space. What cannot be printed is written as Python writes it (`\\x1b`): C0 and C1
    controls, DEL, marks that turn the direction of writing, invisible characters and lone surrogates. A text that is
    too long ends with `...`.
    """
    line = " ".join(text[: 4 * longest].split())
    shown = escaped(line)
    if len(shown) > longest or len(text) > 4 * longest:
        shown = shown[: max(0, longest - 3)] + "..."
    return shown


def escaped(text: str) -> str:
    """Return `text` with what cannot be printed, newlines included, written as Python writes it (`\\x1b`)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
