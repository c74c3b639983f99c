"""Text from strangers: decoded, turned into values, and made safe to show, in one place, whoever sent it.

Python's own `int`, `float` and `json.loads` take more than a protocol means: underscores, the digits of every script,
infinities, names that occur twice. They also fail in ways of their own on a very long or very deep text. And a name, a
path or an error that is shown must not command the user's terminal.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import shlex
import sys
from collections import Counter
from typing import Any

MOST_DIGITS = 18
"""Of a whole number: every such number fits into 64 bits."""
LONGEST_NUMBER = 400
"""Characters of a decimal number. The largest double has 309 digits, the smallest one 324 zeros."""

_INTEGER = re.compile(rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


def decode_text(content: bytes, errors: str = "strict") -> str:
    """Decode a file in UTF-8, or in UTF-16 that begins with its mark, which `>` writes in Windows' PowerShell.

    `errors`: as `bytes.decode` takes it. Raises UnicodeDecodeError where that is "strict".
    """
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig", errors)


def parse_integer(text: str) -> int:
    """Read a whole number of at most MOST_DIGITS ASCII digits, with or without a sign. Raises ValueError."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("a whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Read a finite number in decimal or scientific notation, in ASCII. Raises ValueError."""
    value = float(text) if len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(value):
        raise ValueError("a number")
    return value


class RepeatedName(ValueError):
    """An object in JSON names something twice."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(f"{shown(name)} occurs twice in an object")
        self.value = value
        """All of the JSON, in which the last one counts."""


def parse_json(text: str) -> Any:
    """Read JSON whose numbers are those of this module; whole ones of more digits are floats. Raises ValueError, which
    is RepeatedName where an object names something twice."""
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append(Counter(name for name, _ in pairs).most_common(1)[0][0])
        return found

    try:
        value = json.loads(
            text,
            parse_int=_integer_or_float,
            parse_float=parse_number,
            parse_constant=parse_number,  # to which nan and infinities are no numbers
            object_pairs_hook=as_object,
        )
    except (ValueError, RecursionError):
        raise ValueError("JSON") from None
    if repeated:
        raise RepeatedName(repeated[0], value)
    return value


def _integer_or_float(text: str) -> int | float:
    return parse_integer(text) if _INTEGER.fullmatch(text) else parse_number(text)


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


ESCAPE = "" if sys.platform == "win32" else "\\"
"""What takes the meaning from the character after it. On Windows paths have backslashes."""


def split_command(text: str) -> list[str]:
    """Return the words of a command: as a shell reads them, but on Windows a backslash is a character like any other.

    Raises ValueError where a quotation does not end.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ESCAPE
    return list(lexer)
