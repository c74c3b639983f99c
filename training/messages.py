"""What training tells its user: errors of one line, and how far long work is."""

from __future__ import annotations

import sys
import time

LINE_SECONDS = 10.0
"""Seconds between two lines where the output is not a terminal."""
TERMINAL_SECONDS = 1.0
"""Seconds between two states of the line that a terminal shows."""


class TrainingError(Exception):
    """A run that cannot start or go on. The text is one line, fit for a user."""


class StatusLine:
    """Shows on standard error how far the work is. On a terminal each status overwrites the one before."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last_line = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another status."""
        return time.monotonic() - self._last_line >= (TERMINAL_SECONDS if self._is_terminal else LINE_SECONDS)

    def show(self, text: str, final: bool = False) -> None:
        """Show a status. Where the output is not a terminal, one is shown now and then, and the `final` one always."""
        is_due = final or self.is_due
        if is_due:
            self._last_line = time.monotonic()
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[2K{text}" + ("\n" if final else ""))
        elif is_due:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """Write something that is worth a line of its own."""
        sys.stderr.write(("\r\x1b[2K" if self._is_terminal else "") + text + "\n")
        sys.stderr.flush()
