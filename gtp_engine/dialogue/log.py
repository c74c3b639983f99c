"""The log file: every GTP line and reply, and the tracebacks of internal errors."""

from __future__ import annotations

import threading
import time
import traceback
from pathlib import Path

from gtp_engine.stderr import note


class DialogueLog:
    """Appends to a log file. Without a path it does nothing.

    If the file cannot be written, the log ends with one line on stderr and the engine goes on.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._started = time.monotonic()

    def received(self, line: str) -> None:
        """Log a line that the controller sent."""
        self._add("<<", line)

    def sent(self, text: str) -> None:
        """Log a reply, or a part of one."""
        self._add(">>", text)

    def failure(self, error: BaseException) -> None:
        """Log the traceback of an internal error."""
        self._add("!!", "".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def _add(self, mark: str, text: str) -> None:
        if self._path is None:
            return
        stamp = f"{time.monotonic() - self._started:10.3f} {mark} "
        with self._lock:
            try:
                with self._path.open("a", encoding="utf-8", errors="replace") as file:
                    file.writelines(stamp + line + "\n" for line in text.splitlines() if line)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else error
                note(f"cannot write the log {self._path}: {reason}")
                self._path = None
