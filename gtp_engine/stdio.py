"""Lines in from stdin and text out to stdout, for a process that speaks a protocol, and how such a process ends.

Lines are read in pieces as they arrive, and whole replies are written from any thread. The end comes by a signal, by an
order of the process's own, or because nobody listens any more, and it waits for no thread.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import NamedTuple, NoReturn

from gtp_engine.errors import explain
from gtp_engine.session.log import DialogueLog
from nobi_machine.streams import guard_stdin, guard_stdout, note

MAX_LINE = 1 << 20
"""The longest line in bytes. A longer one is refused as a whole."""
CHUNK = 1 << 16
BURST_SECONDS = 0.05
"""Seconds within which two lines count as written together."""
RETRY_SECONDS = 0.01

GRACE = 0.7
"""Seconds that what runs may still take to reply once the session has to end."""
WAKE_UP = 0.2
"""Seconds after which the main thread, which waits for the end, looks for signals. A signal that comes to another
thread, or just before the wait begins, does not end the wait, and on Windows none does."""

EXIT_DONE, EXIT_FAILURE = 0, 1


class Output:
    """Writes text to a file descriptor, from any thread. After a failure it discards all text."""

    def __init__(self, descriptor: int, on_broken: Callable[[OSError], None]) -> None:
        self.descriptor = descriptor
        self.broken = False
        self._on_broken = on_broken
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Write the whole text. An empty one shows whether anything can be written at all."""
        data = memoryview(text.encode("utf-8", "replace"))
        with self._lock:
            while not self.broken:
                try:
                    data = data[os.write(self.descriptor, data) :]
                except BlockingIOError:
                    # Whoever started us shares a non-blocking pipe with us.
                    _await(writing=[self.descriptor])
                except OSError as error:
                    self.broken = True
                    self._on_broken(error)
                if not data:
                    return


class Input:
    """Reads the lines of a file descriptor in pieces, as they arrive."""

    def __init__(self, descriptor: int, listener: int | None = None) -> None:
        """`listener` is our stdout. The input also ends when nobody reads from that any more, on systems that tell so:
        otherwise an idle engine would never notice."""
        self._descriptor = descriptor
        self._listener = listener
        self.error: OSError | None = None
        """Why the input ended, if it did so by a failure."""
        self.arrived_in_burst = True
        """Whether we never had to wait for the last piece, or for the end, longer than for something written together
        with what came before it. It may have been there for long, if we were too busy to read."""

    def pieces(self) -> Iterator[bytes]:
        """Yield what arrives until the end of the input: whole lines, each with its newline except the input's last.

        Of a line longer than MAX_LINE the first MAX_LINE + 1 bytes come, alone in a piece, as soon as they are there,
        and the rest is dropped.
        """
        line, skipping = bytearray(), False
        self.arrived_in_burst = True
        while chunk := self._read():
            head, newline, others = chunk.partition(b"\n")
            if not skipping:
                line += head
                if len(line) > MAX_LINE:
                    yield bytes(line[: MAX_LINE + 1])
                    self.arrived_in_burst = True
                    line, skipping = bytearray(), True
            if newline:
                end = others.rfind(b"\n") + 1
                piece = others[:end] if skipping else bytes(line) + newline + others[:end]
                if piece:
                    yield piece
                    self.arrived_in_burst = True
                line, skipping = bytearray(others[end:]), False
        if line:
            yield bytes(line)

    def has_listener(self) -> bool:
        """Return, without waiting, whether anybody still reads what we write, as far as the system tells."""
        return not self._listener_is_gone(0)

    def _read(self) -> bytes:
        """The next bytes; none at the end of the input."""
        asked, was_there = time.monotonic(), self._has_input()
        try:
            return self._wait_and_read()
        finally:
            self.arrived_in_burst &= was_there or time.monotonic() - asked < BURST_SECONDS

    def _has_input(self) -> bool:
        """Whether bytes, or the end of the input, can be read without waiting, as far as the system tells."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return any(event & (select.POLLIN | select.POLLHUP) for _, event in poll.poll(0))

    def _wait_and_read(self) -> bytes:
        while True:
            if self._listener_is_gone(None):
                return b""
            try:
                return os.read(self._descriptor, CHUNK)
            except BlockingIOError:
                # Whoever started us shares a non-blocking pipe with us.
                _await(reading=[self._descriptor])
            except OSError as error:
                self.error = error
                return b""

    def _listener_is_gone(self, milliseconds: int | None) -> bool:
        """Wait that long for input, None without end, and tell whether nobody reads what we write.

        The descriptor is ours and open. So an answer that it is none (POLLNVAL) means only that the system cannot say,
        as macOS cannot of terminals and other devices.
        """
        if self._listener is None or not hasattr(select, "poll"):
            return False
        poll = select.poll()
        if milliseconds is None:
            poll.register(self._descriptor, select.POLLIN)
        poll.register(self._listener, 0)
        events = dict(poll.poll(milliseconds))
        return bool(events.get(self._listener, 0) & select.POLLERR)


def _await(reading: Sequence[int] = (), writing: Sequence[int] = ()) -> None:
    """Wait until a descriptor is ready, or for a moment where the system tells that of sockets alone (Windows)."""
    try:
        select.select(reading, writing, [])
    except OSError:
        time.sleep(RETRY_SECONDS)


class End(NamedTuple):
    """The order to end the process."""

    code: int
    is_hasty: bool
    """Whether what has arrived already gets no reply any more."""


class LineServer:
    """A process that answers lines on its stdin with lines on its stdout. Protocols add how they read and answer."""

    def __init__(self, log: DialogueLog, stdin: int, stdout: int) -> None:
        """`stdin` and `stdout` are descriptors."""
        self._log = log
        self._output = Output(stdout, self._writing_failed)
        self._input = Input(stdin, stdout)
        self._ends: queue.SimpleQueue[End] = queue.SimpleQueue()
        """Signal handlers may put into a SimpleQueue."""

    def run(self) -> int:
        """Answer until the end, and return the exit code of the process."""
        raise NotImplementedError

    def end_on_signals(self) -> None:
        """Have SIGTERM, SIGINT and SIGHUP end the session, but under `nohup` not SIGHUP. For the main thread only."""

        def on_signal(number: int, _frame: FrameType | None) -> None:
            self._ends.put(End(128 + number, True))

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)
        hangup = getattr(signal, "SIGHUP", None)
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
            signal.signal(hangup, on_signal)

    def _await_end(self) -> End:
        """Wait for the order to end, and let signals be handled meanwhile. For the main thread."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._ends.get(timeout=WAKE_UP)

    def _write(self, text: str) -> None:
        self._log.sent(text)
        self._output.write(text)

    def _writing_failed(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            note(f"cannot write to stdout: {error.strerror}")
        self._ends.put(End(EXIT_FAILURE, True))

    def _fail(self, error: BaseException) -> None:
        """End the session for a failure that no single line is the cause of."""
        self._log.failure(error)
        note(explain(error))
        self._ends.put(End(EXIT_FAILURE, True))


def serve(make_server: Callable[[int, int], LineServer]) -> NoReturn:
    """Serve on stdin and stdout, and end the process at once with the exit code; this function does not return.

    `make_server` gets two descriptors that are ours alone. Leaving by `os._exit` is deliberate: searching, loading and
    compiling threads may be anywhere, and neither waiting for them nor taking the interpreter down around them ends in
    time.
    """
    server = make_server(guard_stdin(), guard_stdout())
    server.end_on_signals()
    code = server.run()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.close()
    os._exit(code)
