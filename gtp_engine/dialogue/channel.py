"""Reading lines from stdin and writing replies to a stdout that no other code can write to."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

from gtp_engine.dialogue.protocol import MAX_LINE

CHUNK = 1 << 16


class Output:
    """Writes text to a file descriptor, from any thread. After a failure it discards all text."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self.broken = False
        self._on_broken = on_broken
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Write the whole text."""
        data = memoryview(text.encode("utf-8", "replace"))
        with self._lock:
            while data and not self.broken:
                try:
                    data = data[os.write(self.descriptor, data) :]
                except BlockingIOError:
                    # Whoever started us shares a non-blocking pipe with us.
                    select.select([], [self.descriptor], [])
                except OSError:
                    self.broken = True
                    self._on_broken()


def read_lines(descriptor: int, listener: int | None = None) -> Iterator[str]:
    """Yield lines as they arrive, without their newline, until the end of the input.

    A line longer than MAX_LINE is cut. The input also ends when nobody reads from the descriptor `listener` (our
    stdout) any more, on systems that tell so: otherwise an idle engine would never notice.
    """
    rest = b""
    skipping = False
    while chunk := _read(descriptor, listener):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not skipping:
                yield line.decode("utf-8", "replace")
            skipping = False
        if len(rest) > MAX_LINE:
            if not skipping:
                yield rest.decode("utf-8", "replace")
            skipping = True
            rest = b""
    if rest and not skipping:
        yield rest.decode("utf-8", "replace")


def _read(descriptor: int, listener: int | None) -> bytes:
    try:
        if listener is not None and hasattr(select, "poll"):
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.register(listener, 0)
            events = dict(poll.poll())
            if events.get(listener, 0) & (select.POLLERR | select.POLLNVAL):
                return b""
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


def guard_stdout() -> int:
    """Keep stdout for GTP: return a private descriptor of it, and send all other output of the process to stderr."""
    sys.stdout.flush()
    private = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.stderr
    return private
