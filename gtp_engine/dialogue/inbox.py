"""The queue of lines between the thread that reads and the thread that carries commands out.

It knows the command that is running, since a line that arrives may have to stop it.

A script is a dialogue too (`printf 'genmove b\\nquit\\n' | nobi gtp`), so the end of the input hurries a command
only if it comes while that command runs, or waits to, and not in the same breath as it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.protocol import is_interrupt, parse_line

SAME_BREATH = 0.05
"""Seconds within which two lines count as written together."""


class Line(NamedTuple):
    """A line that has arrived."""

    text: str
    arrived: float
    """time.monotonic()."""


class Inbox:
    """A queue of lines that knows the running call and stops it when a line asks for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: deque[Line] = deque()
        self._closed = False
        self._call: Call | None = None
        self._last_arrival = -SAME_BREATH

    # --- The reading side -------------------------------------------------------------------------------------

    def put(self, text: str) -> bool:
        """Add a line that has arrived. Returns True if it asks to end the session while a command runs."""
        now = time.monotonic()
        with self._changed:
            interrupts = self._is_interruption(now)
            self._lines.append(Line(text, now))
            if self._call is not None and (self._call.ends_on_input or is_interrupt(text)):
                self._call.stop.set()
            self._changed.notify_all()
            command = parse_line(text) if interrupts else None
            return command is not None and command.name == "quit"

    def close(self) -> bool:
        """Say that no more lines will come. Waiting lines are still taken. Returns True if a command is running."""
        now = time.monotonic()
        with self._changed:
            self._closed = True
            if self._call is not None and self._call.ends_on_input:
                self._call.stop.set()
            self._changed.notify_all()
            return self._is_interruption(now)

    def clear(self) -> None:
        """Throw away the lines that wait, and accept no more."""
        with self._changed:
            self._lines.clear()
            self._closed = True
            self._changed.notify_all()

    def stop_call(self) -> None:
        """Ask the running call, if there is one, to stop."""
        with self._changed:
            if self._call is not None:
                self._call.stop.set()

    def _is_interruption(self, now: float) -> bool:
        in_one_breath = now - self._last_arrival < SAME_BREATH
        self._last_arrival = now
        return (self._call is not None or bool(self._lines)) and not in_one_breath

    # --- The working side -------------------------------------------------------------------------------------

    def take(self) -> Line | None:
        """Wait for the next line and return it. Returns None if there will be no more."""
        with self._changed:
            self._call = None
            self._changed.wait_for(lambda: self._lines or self._closed)
            return self._lines.popleft() if self._lines else None

    def begin(self, call: Call) -> None:
        """Say which call is running from now until the next `take`."""
        with self._changed:
            self._call = call

    def on_listen(self, call: Call) -> None:
        """Stop a call that begins to end on input, if input is waiting already."""
        with self._changed:
            if self._lines or self._closed:
                call.stop.set()
