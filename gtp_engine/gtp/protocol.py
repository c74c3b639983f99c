"""GTP 2 as text: a line becomes a Command, and an answer becomes the text of a reply. Nothing here does I/O.

Source: "Specification of the Go Text Protocol, version 2, draft 2" (Gunnar Farnebäck, 2002), sections 2 and 3.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from go_rules.points import COLOURS, VertexError, from_vertex
from nobi_machine.text import parse_integer, parse_json, parse_number

N = TypeVar("N", int, float)

MAX_ID = 2**31 - 1

INTERRUPT_COMMENT = "# interrupt"
"""The comment with which GoGui asks to end the running command."""

SYNTAX_ERROR = "syntax error"
ILLEGAL_MOVE = "illegal move"

_CONTROL = {code: None for code in (*range(32), 127) if code not in (9, 10)}
_VERTEX = re.compile(r"[A-HJ-Za-hj-z][0-9]{1,2}|pass", re.IGNORECASE)


class GtpError(Exception):
    """A command failed. The text is the reply, and the engine goes on."""


class GtpQuit(Exception):
    """The engine has to end after its reply."""


@dataclass(frozen=True)
class Command:
    """The parts of one command line."""

    id: str | None
    """The identity number as it was written, for the reply to repeat."""
    name: str
    """The command's name; empty if the line has none."""
    arguments: tuple[str, ...] = ()
    text: str = ""
    """All arguments as they were written, with the spaces between them."""


# --- Lines and replies --------------------------------------------------------------------------------------------


def clean_line(line: str) -> str:
    """Clean a line as section 2.2 says: no control characters, no comment, spaces for tabs, no space at the ends."""
    return without_controls(line).partition("#")[0].strip(" ")


def without_controls(line: str) -> str:
    """Return a line without control characters and without the byte order mark of some systems, and spaces for tabs."""
    return line.removeprefix("\ufeff").translate(_CONTROL).replace("\t", " ").strip("\n")


def decode_line(line: bytes) -> str:
    """Decode a line as it arrived. Bytes that are not UTF-8 are kept the way Python keeps them in names of files, so
    that any file can be named; no command has them, and in a reply they become `?`."""
    return line.decode("utf-8", "surrogateescape")


def is_interrupt(line: str) -> bool:
    """Return whether a raw line is INTERRUPT_COMMENT, in any letter case and with any spaces."""
    return " ".join(line.lower().split()) == INTERRUPT_COMMENT


def parse_line(line: str) -> Command | None:
    """Read the command in a raw line; None for a line that gets no reply because it is blank or only a comment.

    An identity number without a command, or one of more than 31 bits, gives a Command without name.
    """
    line = clean_line(line)
    return _parse(line) if line else None


def parse_long_line(start: str) -> Command | None:
    """Make a Command without name that stands for a line of more than MAX_LINE bytes, which begins with `start`.

    It has the identity number of the line. A line that is only a comment gets no reply, as in `parse_line`: None.
    """
    line = clean_line(start)
    if not line:
        return None if "#" in start else Command(None, "")
    return Command(_parse(line).id, "")


def _parse(line: str) -> Command:
    first, _, rest = line.partition(" ")
    id_: str | None = None
    if first.isascii() and first.isdigit():
        if len(first) > 10 or int(first) > MAX_ID:
            # Nothing that we could repeat is an identity number, so the reply goes without.
            return Command(None, "")
        id_ = first
        first, _, rest = rest.strip(" ").partition(" ")
    text = rest.strip(" ")
    return Command(id_, first, tuple(text.split()), text)


def format_header(id_: str | None, ok: bool = True) -> str:
    """Write the start of a reply: `=` or `?`, and the identity number if there is one."""
    return ("=" if ok else "?") + (id_ or "")


def format_response(text: str, id_: str | None, ok: bool = True) -> str:
    """Write the whole reply, with one blank line at its end and none inside."""
    lines = [line for line in text.splitlines() if line.strip()]
    return f"{format_header(id_, ok)} " + "\n".join(lines) + "\n\n"


# --- Arguments ----------------------------------------------------------------------------------------------------


def interpret_integer(text: str, low: float = -math.inf, high: float = math.inf) -> int:
    """Read a whole number within bounds. Raises GtpError if the text is none."""
    return _number(parse_integer, text, low, high)


def interpret_float(text: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Read a finite decimal number within bounds. Raises GtpError if the text is none."""
    return _number(parse_number, text, low, high)


def _number(parse: Callable[[str], N], text: str, low: float, high: float) -> N:
    with contextlib.suppress(ValueError):
        if low <= (value := parse(text)) <= high:
            return value
    raise GtpError(SYNTAX_ERROR)


def interpret_boolean(text: str) -> bool:
    """Read `true` or GoGui's `1` as True, `false` or `0` as False. Raises GtpError for any other text."""
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise GtpError(SYNTAX_ERROR)
    return values[text.lower()]


def interpret_object(text: str) -> dict[str, Any]:
    """Read an object in JSON. Raises GtpError if the text is none."""
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise GtpError(SYNTAX_ERROR)
    return value


def interpret_colour(text: str) -> int:
    """Read BLACK or WHITE from a colour's name or its first letter. Raises GtpError for any other text."""
    if not is_colour(text):
        raise GtpError(SYNTAX_ERROR)
    return COLOURS[text.lower()]


def is_colour(text: str) -> bool:
    """Return whether `interpret_colour` accepts this text."""
    return text.lower() in COLOURS


def interpret_vertex(text: str, width: int, height: int) -> int:
    """Read a point or PASS. Raises GtpError for text that is no vertex, and for a vertex that is not on the board."""
    if not _VERTEX.fullmatch(text):
        raise GtpError(SYNTAX_ERROR)
    try:
        return from_vertex(text, width, height)
    except VertexError:
        raise GtpError(ILLEGAL_MOVE) from None


def interpret_stones(words: tuple[str, ...], width: int, height: int) -> list[tuple[int, int]]:
    """Read pairs (colour, point) from `B D4 W Q16 ...`. Raises GtpError."""
    if len(words) % 2:
        raise GtpError(SYNTAX_ERROR)
    colours = map(interpret_colour, words[::2])
    return [(colour, interpret_vertex(word, width, height)) for colour, word in zip(colours, words[1::2], strict=True)]
