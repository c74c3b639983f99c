"""A person at a terminal: the tables that a command shows, and the lines that it is told."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_IN_FILES = 160
"""Columns of tables where stdout is no terminal."""
LONGEST_ANSWER = 4096
"""Bytes of a line that is read as an answer: the name of a file has as many on Linux."""


def amount(count: int, noun: str) -> str:
    """Write a number of things as text: `1 game`, `2 games`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def tables_console() -> Console:
    """Return what prints tables on stdout."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_IN_FILES)


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", left: Collection[str] = ()
) -> None:
    """Print a table on stdout. Headings and cells are plain text, never markup.

    The columns of the headings in `left` have their text at the left, all others have numbers, at the right.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left")
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading in left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    tables_console().print(table)


def answers(prompt: str, console: Console) -> Iterator[str]:
    """Iterate over the lines of stdin, without spaces around them, each after a prompt.

    Empty lines are left out. So are those of more than LONGEST_ANSWER bytes, with a line that says so. A person at a
    terminal can edit a line and have earlier ones back with the arrow keys. Text is decoded as file names are: what
    is no text names the file that has the same bytes for its name.
    """
    read = _read_edited if _can_edit_lines() else _read
    while (line := read(prompt, console)) is not None:
        if len(line) > LONGEST_ANSWER:
            console.print(f"that line is too long: {LONGEST_ANSWER} bytes at most")
        elif answer := line.decode(sys.getfilesystemencoding(), "surrogateescape").strip():
            yield answer
    console.print()


def _can_edit_lines() -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stdout.isatty():
        return False
    with contextlib.suppress(ImportError):  # Windows has none, and edits lines by itself
        import readline  # noqa: F401 - input() uses it from now on

        return True
    return False


def _read_edited(prompt: str, _console: Console) -> bytes | None:
    """A line from a terminal; None at the end of the input. The prompt is readline's, which has to know its length."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    try:
        return os.fsencode(input(prompt))
    except EOFError:
        return None


def _read(prompt: str, console: Console) -> bytes | None:
    """A line from a pipe; None at the end of the input. Of one that is too long only the beginning is kept."""
    console.print(prompt, end="")
    sys.stdout.flush()
    raw = sys.stdin.buffer.readline(LONGEST_ANSWER + 1) if sys.stdin else b""
    rest = raw if len(raw) > LONGEST_ANSWER else b""
    while rest and not rest.endswith(b"\n"):
        rest = sys.stdin.buffer.readline(LONGEST_ANSWER)
    return raw.removesuffix(b"\n") if raw else None
