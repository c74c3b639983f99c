"""What waits to be written to stdout: whole lines of JSON, written by a thread of their own."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

MOST_WAITING = 64 << 20
"""Bytes that may wait before whoever has more to say has to wait, too."""
BEHIND = 1 << 20
"""Bytes that wait where our listener reads too slowly for reports in between."""


class Outbox:
    """Lines of JSON on their way out. Any thread may put some in."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` writes a text as a whole, however long that takes."""
        self._write = write
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._writing = False
        self._hurried = False
        threading.Thread(target=self._work, name="writing", daemon=True).start()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits that what is not needed should not be sent."""
        return self._bytes > BEHIND

    def put(self, message: dict[str, Any]) -> None:
        """Send an object as a line. Waits while too much waits to be written."""
        line = encoded(message) + "\n"
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < MOST_WAITING or self._hurried)
            self._lines.append(line)
            self._bytes += len(line)
            self._changed.notify_all()

    def begin_shutdown(self) -> None:
        """Let nobody wait any more, since the process is about to end."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()

    def await_empty(self, until: float) -> bool:
        """Wait until all is written, or until that time.monotonic(). Returns whether it is."""
        with self._changed:
            while self._lines or self._writing:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 1.0))
            return True

    def _work(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._lines)
                text = "".join(self._lines)
                self._lines.clear()
                self._writing = True
            self._write(text)
            with self._changed:
                self._bytes -= len(text)
                self._changed.notify_all()


def encoded(message: dict[str, Any]) -> str:
    """Write an object as one line of JSON, its keys in alphabetical order as KataGo writes them."""
    try:
        return msgspec.json.encode(message, order="sorted").decode()
    except UnicodeEncodeError:  # half of a character, such as "\ud800", that a query had in its id
        return json.dumps(message, sort_keys=True, separators=(",", ":"))
