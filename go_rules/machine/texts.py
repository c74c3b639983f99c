"""What somebody wrote, turned into values: the one place that decodes text and reads numbers and JSON, whoever sent
them.

Python's own `int`, `float` and `json.loads` take more than a protocol means: underscores, the digits of every script,
infinities, names that occur twice. They also fail in ways of their own on a very long or very deep text.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from typing import Any

from go_rules.machine.printable import shown

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
            parse_constant=_refuse,
            object_pairs_hook=as_object,
        )
    except (ValueError, RecursionError):
        raise ValueError("JSON") from None
    if repeated:
        raise RepeatedName(repeated[0], value)
    return value


def _integer_or_float(text: str) -> int | float:
    return parse_integer(text) if _INTEGER.fullmatch(text) else parse_number(text)


def _refuse(constant: str) -> float:
    raise ValueError(constant)
