"""A person at a terminal: what a command shows while it works and when it has finished, and what it is told."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_IN_FILES = 160
"""Columns of tables where stdout is no terminal."""
LONGEST_ANSWER = 200
"""Bytes of a line that are read as one answer."""


def tables_console() -> Console:
    """Return what prints tables on stdout."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_IN_FILES)


def answers(prompt: str, console: Console) -> Iterator[str]:
    """Iterate over the lines of stdin, without spaces around them, each after a prompt. Empty ones are left out."""
    while True:
        console.print(prompt, end="")
        sys.stdout.flush()
        raw = sys.stdin.buffer.readline(LONGEST_ANSWER) if sys.stdin else b""
        if not raw:
            console.print()
            return
        if line := raw.decode("utf-8", "replace").strip():
            yield line


@contextlib.contextmanager
def progress_bar(title: str, total: int, done: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on stderr while the body runs, if that is a terminal: of games, or of what else there is to do.

    The body gets a function to call after each of them, with a few words about it.
    """
    if not sys.stderr.isatty():
        yield lambda last: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=2) as progress:
        task = progress.add_task(title, total=total, completed=done, last="")
        yield lambda last: progress.update(task, advance=1, last=last)
