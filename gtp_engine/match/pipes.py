"""The pipes from an engine: however much it writes, the referee keeps little of it and is never held up.

A thread reads each pipe. What is read is bounded, and beyond the bound nothing is read, so that an engine that floods a
pipe fills only the pipe and then waits. Threads look twice a second whether they are still wanted, because a process
that an engine left behind may hold its pipe open for ever (where the system cannot wait for a pipe with a limit, on
Windows, such a thread stays).
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from pathlib import Path
from typing import IO

from nobi_machine.files import append_regular
from nobi_machine.text import printable

CHUNK = 1 << 16
"""Bytes that are read at once."""
LOOK_UP_SECONDS = 0.5
"""How often a thread that waits for a pipe looks whether it is still wanted."""

MOST_LOGGED = 1 << 23
"""Bytes of a file for stderr. When it is full, it replaces the one that was full before it: the newest are kept."""
LOG_BURST = 2 * MOST_LOGGED
"""Bytes that an engine may write to stderr as fast as it can."""
LONGEST_TAIL = 2000
"""Bytes of the newest of it that are remembered too, to show its last line."""
LOG_RATE = float(1 << 20)
"""Bytes a second that it may write beyond that; then it waits, and does not keep the disk and our processor busy."""


class Incoming:
    """What has come through a pipe and was not taken yet: at most `most` bytes and one chunk."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        """Read `pipe`, which this object closes, in a thread."""
        self._pipe = pipe
        self._most = most
        self._waiting = bytearray()
        self._ended = self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, name="gtp-reader", daemon=True)
        self._thread.start()

    def take(self, seconds: float) -> bytes | None:
        """Take all that has come; wait up to `seconds` for something. Empty: nothing came. None: the pipe has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended, max(0.0, seconds))
            if not self._waiting and self._ended:
                return None
            taken = bytes(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
            return taken

    def close(self) -> None:
        """End the thread: nothing more is read, and the pipe is closed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _read(self) -> None:
        wait = Readiness(self._pipe)
        with contextlib.suppress(OSError, ValueError), self._pipe:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._most)
                    if self._closed:
                        break
                if not wait.within(LOOK_UP_SECONDS):
                    continue
                data = os.read(self._pipe.fileno(), CHUNK)
                if not data:
                    break
                with self._changed:
                    self._waiting += data
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class ErrorLog:
    """What an engine writes to stderr in a match: lines are counted, and the newest bytes are kept in two files.

    `PATH` grows to MOST_LOGGED bytes and then becomes `PATH.old`. The log outlives the engine's processes.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Without a path, nothing is kept."""
        self.path = path
        self._lines = 0
        self._tail = b""
        self._size = -1
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def follow(self, pipe: IO[bytes], closed: threading.Event) -> None:
        """Keep what comes through `pipe`, in a thread that closes the pipe in the end, until `closed`."""
        self.write(b"")  # so that there is a file for every process
        self._thread = threading.Thread(target=self._read, args=(pipe, closed), name="gtp-stderr", daemon=True)
        self._thread.start()

    def lines(self, seconds: float = 0.0) -> int:
        """Count the lines so far. Waits up to `seconds` for the pipe's end, where it is known to come."""
        if self._thread is not None and seconds:
            self._thread.join(seconds)
        return self._lines

    def last_line(self) -> str:
        """Return the last line so far that is not empty, in printable characters; empty if there is none."""
        text = self._tail.decode("utf-8", "replace").strip()
        return printable(text.splitlines()[-1]) if text else ""

    def write(self, data: bytes) -> None:
        """Count and keep `data`. A file that cannot be written loses it, and nothing else happens."""
        with self._lock:
            self._lines += data.count(b"\n")
            self._tail = (self._tail + data)[-LONGEST_TAIL:]
            if self.path is not None:
                with contextlib.suppress(OSError):
                    self._keep(self.path, data)

    def _read(self, pipe: IO[bytes], closed: threading.Event) -> None:
        wait = Readiness(pipe)
        credit, before = float(LOG_BURST), time.monotonic()
        with contextlib.suppress(OSError, ValueError), pipe:
            while not closed.is_set():
                if not wait.within(LOOK_UP_SECONDS):
                    continue
                data = os.read(pipe.fileno(), CHUNK)
                if not data:
                    break
                self.write(data)
                now = time.monotonic()
                credit, before = min(LOG_BURST, credit + LOG_RATE * (now - before)) - len(data), now
                if credit < 0:
                    closed.wait(-credit / LOG_RATE)

    def _keep(self, path: Path, data: bytes) -> None:
        if self._size < 0:
            self._size = path.stat().st_size if path.exists() else 0
        if path.is_symlink():  # planted: nothing outside the match's folder is written
            return
        if self._size and self._size + len(data) > MOST_LOGGED:
            os.replace(path, path.with_name(path.name + ".old"))
            self._size = 0
        append_regular(path, data)
        self._size += len(data)


class Readiness:
    """Waits until a pipe can be read, with a limit; where the system has no such wait it says yes at once."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._poll = None
        if hasattr(select, "poll") and os.name == "posix":
            self._poll = select.poll()
            self._poll.register(pipe.fileno(), select.POLLIN)

    def within(self, seconds: float) -> bool:
        """Wait up to `seconds` until a read would return at once, and return whether it would."""
        return self._poll is None or bool(self._poll.poll(1000 * seconds))
