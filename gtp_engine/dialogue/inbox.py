"""Lines between the reading thread and the one that carries commands out, and what their arrival does to a running one.

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
    text: str
    arrived: float
    """time.monotonic()."""


class Inbox:
    """A queue of lines that knows the call being carried out."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: deque[Line] = deque()
        self._closed = False
        self._call: Call | None = None
        self._last_arrival = -SAME_BREATH

    # --- The reading side -------------------------------------------------------------------------------------

    def put(self, text: str) -> bool:
        """A line has arrived. True if it asks for the end of the session while a command runs."""
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
        """No more lines will come; those that wait are still taken. True if that interrupts a running command."""
        now = time.monotonic()
        with self._changed:
            self._closed = True
            if self._call is not None and self._call.ends_on_input:
                self._call.stop.set()
            self._changed.notify_all()
            return self._is_interruption(now)

    def clear(self) -> None:
        """Drop what waits, and take no more."""
        with self._changed:
            self._lines.clear()
            self._closed = True
            self._changed.notify_all()

    def stop_call(self) -> None:
        with self._changed:
            if self._call is not None:
                self._call.stop.set()

    def _is_interruption(self, now: float) -> bool:
        in_one_breath = now - self._last_arrival < SAME_BREATH
        self._last_arrival = now
        return (self._call is not None or bool(self._lines)) and not in_one_breath

    # --- The working side -------------------------------------------------------------------------------------

    def take(self) -> Line | None:
        """The next line; waits for it. None when there will be none."""
        with self._changed:
            self._call = None
            self._changed.wait_for(lambda: self._lines or self._closed)
            return self._lines.popleft() if self._lines else None

    def begin(self, call: Call) -> None:
        """This call is carried out now, until the next `take`."""
        with self._changed:
            self._call = call

    def on_listen(self, call: Call) -> None:
        """A call starts to end on input: input that waits already ends it."""
        with self._changed:
            if self._lines or self._closed:
                call.stop.set()
