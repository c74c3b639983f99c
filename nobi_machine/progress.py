"""How far long work is, as one line on standard error: its status in words, or a bar for an amount that is known."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable

LINE_SECONDS = 10.0
"""Seconds between two lines where stderr is no terminal."""
TERMINAL_SECONDS = 1.0
"""Seconds between two states of the line that a terminal shows."""
BAR_SECONDS = 0.1
"""Seconds between two states of a bar."""
BAR_CELLS = 24


class StatusLine:
    """Shows how far the work is. On a terminal each status overwrites the one before; elsewhere each is a line."""

    def __init__(self, seconds: float = LINE_SECONDS) -> None:
        """Take the seconds between two lines where stderr is no terminal: 0 for no wait, math.inf for no lines."""
        self.is_terminal = sys.stderr.isatty()
        self._seconds = TERMINAL_SECONDS if self.is_terminal else seconds
        self._last_line = time.monotonic()
        self._cells = 0

    @property
    def is_due(self) -> bool:
        """Whether it is time for another status."""
        return time.monotonic() - self._last_line >= self._seconds

    def show(self, text: str, final: bool = False) -> None:
        """Show a status. Where stderr is no terminal, one is shown now and then, and the `final` one always."""
        is_due = final or self.is_due
        if is_due:
            self._last_line = time.monotonic()
        if self.is_terminal:
            self._rewrite(text)
            if final:
                self.end()
        elif is_due:
            self._write(text + "\n")

    def note(self, text: str) -> None:
        """Write something that is worth a line of its own."""
        self.clear()
        self._write(text + "\n")

    def end(self) -> None:
        """End the line, which stays where it is."""
        if self._cells:
            self._write("\n")
            self._cells = 0

    def clear(self) -> None:
        """Remove the line: what is written next stands in its place."""
        if self._cells:
            self._rewrite("")
            self._write("\r")

    def _rewrite(self, text: str) -> None:
        """Write over the line. It must not wrap: `\\r` goes back to the beginning of the last row only."""
        shown, cells = _cut(text, _columns() - 1)
        self._write("\r" + shown + " " * (self._cells - cells))
        self._cells = cells

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def in_percent(done: float, total: float) -> str:
    """Write how much of a total is done as text: `34%`."""
    return f"{done / total:.0%}"


def in_pieces(done: float, total: float) -> str:
    """Write how many of a number of things are done as text: `3/20`."""
    return f"{done:.0f}/{total:.0f}"


def in_megabytes(done: float, total: float) -> str:
    """Write how much of a number of bytes has come as text: `3.1/97.8 MB`."""
    return f"{done / 1e6:.1f}/{total / 1e6:.1f} MB"


class ProgressBar:
    """A bar on a terminal for work whose amount is known, with the time that is left; elsewhere nothing is shown.

    It is there from the first `update` on, and as a context it removes the bar at its end. What else is written to
    stderr meanwhile would stand behind the bar.
    """

    def __init__(
        self,
        title: str,
        total: float | None,
        done: float | None = 0.0,
        text: Callable[[float, float], str] = in_percent,
    ) -> None:
        """`done` of the amount `total` was done before: what the first `update` says, if it is None. `text` writes what
        is done, and the total, as text."""
        self.title, self.total, self.done = title, total, done or 0.0
        self._text = text
        self._before, self._started = done, time.monotonic()
        self._line = StatusLine(math.inf)
        self._shown = -math.inf

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.clear()

    def advance(self, amount: float = 1.0, words: str = "") -> None:
        """Show that so much more is done, with a few words about it."""
        self.update(self.done + amount, self.total, words)

    def update(self, done: float, total: float | None, words: str = "") -> None:
        """Show that so much of a total is done."""
        self.done, self.total = done, total
        self._before = done if self._before is None else self._before
        if words or time.monotonic() - self._shown >= BAR_SECONDS:
            self._show(words)

    def _show(self, words: str) -> None:
        parts = [self.title]
        if self.total:
            full = round(BAR_CELLS * min(1.0, self.done / self.total))
            parts += ["[" + "#" * full + "-" * (BAR_CELLS - full) + "]", self._text(self.done, self.total)]
            if self._before is not None and self.done > self._before:
                seconds = (time.monotonic() - self._started) / (self.done - self._before)
                parts.append(f"{duration(seconds * max(0.0, self.total - self.done))} left")
        self._line.show("  ".join([*parts, words]).rstrip())
        self._shown = time.monotonic()


def duration(seconds: float) -> str:
    """Write seconds as text: `45 s`, `12 min` or `3.2 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _columns() -> int:
    """The columns of the terminal of stderr, which need not be the one of stdout."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns


def _cut(text: str, cells: int) -> tuple[str, int]:
    """The beginning of a text that so many cells of a terminal have room for, and how many it takes."""
    taken = 0
    for place, character in enumerate(text):
        wide = unicodedata.east_asian_width(character) in "WF"
        width = 0 if unicodedata.combining(character) else 2 if wide else 1
        if taken + width > cells:
            return text[:place], taken
        taken += width
    return text, taken
