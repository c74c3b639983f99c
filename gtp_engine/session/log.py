"""The log file: every GTP line and reply, and the tracebacks of internal errors."""

from __future__ import annotations

import threading
import time
import traceback
from pathlib import Path

from nobi_machine.files import append_regular
from nobi_machine.streams import note
from nobi_machine.text import escaped, printable_path


class DialogueLog:
    """Appends to a log file. Without a path it does nothing.

    Control characters are written out (`\\x1b`): a log is read in a terminal, and its lines come from strangers.

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

    def remark(self, text: str) -> None:
        """Log a line that the user was told."""
        self._add("--", text)

    def failure(self, error: BaseException) -> None:
        """Log the traceback of an internal error."""
        self._add("!!", "".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def _add(self, mark: str, text: str) -> None:
        if self._path is None:
            return
        stamp = f"{time.monotonic() - self._started:10.3f} {mark} "
        with self._lock:
            try:
                lines = "".join(stamp + escaped(line) + "\n" for line in text.splitlines() if line)
                append_regular(self._path, lines.encode("utf-8", "replace"))
            except OSError as error:
                note(f"cannot write the log {printable_path(self._path)}: {error.strerror}")
                self._path = None
