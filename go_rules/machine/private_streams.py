"""A stdin and a stdout that are ours alone: other code in the process reads nothing meant for us, and writes to nobody
who talks to us. And a stderr that nobody needs to read."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import TextIO, cast

MOST_WAITING = 1 << 20
"""Characters that wait for a reader of stderr; what comes after them is lost."""
PATIENCE = 0.1
"""Seconds that whoever flushes stderr waits for its reader, once: then not until something is read again."""
LAST_PATIENCE = 0.5
"""Seconds that the end of the process waits for that."""


def guard_stdin() -> int:
    """Keep stdin for the caller: return a private descriptor of it, and let all other code find an empty one.

    Windows needs that. While a thread there waits for bytes from a pipe, whoever asks the system about the same pipe
    waits too, and libraries ask about stdin as they are loaded, numpy among them: the engine would not start before the
    next command arrived (https://github.com/numpy/numpy/issues/24290). Elsewhere it keeps other code and processes that
    we start from reading what is meant for us.
    """
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return private


def guard_stdout() -> int:
    """Keep stdout for GTP: return a private descriptor of it, and send all other output of the process to stderr, where
    it is lost if nobody reads it."""
    sys.stdout.flush()
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _lose_what_nobody_reads()
    sys.stdout = sys.stderr
    return private


@contextlib.contextmanager
def lossy_stderr() -> Iterator[None]:
    """Keep a full stderr that nobody reads from stopping the body, which may go on to `guard_stdout`.

    Whatever ends the body is still to be explained, and the process may end right after that: by then all is written,
    and stderr is what it was, which waits for its reader.
    """
    plain = sys.stderr
    _lose_what_nobody_reads()
    lossy = sys.stderr
    try:
        yield
    finally:
        if isinstance(lossy, LossyStream):
            lossy.drain()
        sys.stderr = plain


def _lose_what_nobody_reads() -> None:
    if not isinstance(sys.stderr, LossyStream):
        with contextlib.suppress(RuntimeError):  # no more threads: then stderr stays as it is
            sys.stderr = cast(TextIO, LossyStream(sys.stderr))


class LossyStream(io.TextIOBase):
    """Writes to another stream in a thread of its own. Who writes does not wait for a reader, and what no reader takes
    is lost: a program that started us and forgets to read our stderr must not stop us when the pipe is full."""

    def __init__(self, stream: TextIO) -> None:
        """Raises RuntimeError where the system gives no more threads."""
        self._stream = stream
        self._changed = threading.Condition()
        self._texts: deque[str] = deque()
        self._waiting = 0
        self._is_stuck = False
        threading.Thread(target=self._work, name="stderr", daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override] # it cannot be set
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, text: str, /) -> int:
        """Have the text written as a whole, or lose it as a whole."""
        with self._changed:
            if self._waiting + len(text) <= MOST_WAITING:
                self._texts.append(text)
                self._waiting += len(text)
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Wait until all is written, for PATIENCE at most."""
        self._await_reader(PATIENCE)

    def close(self) -> None:
        """Wait until all is written, for LAST_PATIENCE at most. The other stream stays open."""
        self._await_reader(LAST_PATIENCE)

    def drain(self) -> None:
        """Wait until all is written, however long that takes."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)

    def _await_reader(self, seconds: float) -> None:
        with self._changed:
            if not self._is_stuck:
                self._is_stuck = not self._changed.wait_for(lambda: not self._waiting, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._texts)
                text = self._texts.popleft()
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(text)
                self._stream.flush()
            with self._changed:
                self._waiting -= len(text)
                self._is_stuck = False
                self._changed.notify_all()
