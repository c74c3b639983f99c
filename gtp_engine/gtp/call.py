"""A command while it is carried out, and the lines that wait meanwhile, since a line that arrives may have to stop it.

A `Call` is one GTP command with its arguments, its reply and the request to stop. The `Inbox` is the queue of lines
between the thread that reads and the thread that carries commands out.

A script is a dialogue too (`printf 'genmove b\\nquit\\n' | nobi gtp`), so the end of the input hurries a command
only if it comes while that command runs, or waits to, and not in one burst with it. After a `quit` that waits for
its turn the end says nothing new, so it hurries nobody.

Lines wait as the bytes that arrived, so they take hardly more memory than they have bytes. When MOST_WAITING of them
wait, nothing more is read until half of them are done. Whoever writes more then waits, as for any program that is
busy, and no line is lost. What lies beyond that, a `quit` too, is seen only when its turn comes; but an engine to which
nobody listens any more ends at once.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gtp_engine.gtp.protocol import (
    SYNTAX_ERROR,
    Command,
    GtpError,
    decode_line,
    format_header,
    format_response,
    is_interrupt,
    parse_line,
)
from gtp_engine.stdio import BURST_SECONDS


def discard(_text: str) -> None:
    """Throw text away, where a call has nobody to write to."""


@dataclass
class Controller:
    """What a dialogue has shown of the program at its other end."""

    draws: bool = False
    """Whether it is GoGui, which draws what it finds on stderr."""
    knows_who_chats: bool = False
    """Whether the first variation for gtp2ogs has been written to stderr."""


class Call:
    """One GTP command that is being carried out. Its handler gets it, and the loop can stop it."""

    def __init__(
        self,
        command: Command,
        write: Callable[[str], None] = discard,
        on_listen: Callable[[Call], None] | None = None,
        received: float | None = None,
        controller: Controller | None = None,
    ) -> None:
        """`write` sends text to the controller. `on_listen` is called when input begins to end this call."""
        self.command = command
        self.controller = controller or Controller()
        self.received = time.monotonic() if received is None else received
        """time.monotonic() at which its line arrived."""
        self.stop = threading.Event()
        """Set when the command has to end with what it has found: our own clock runs out, GoGui interrupts it, the
        session ends, or, where `ends_on_input`, a line arrives."""
        self.ends_on_input = False
        """Whether any line that arrives sets `stop`, as for analysis commands."""
        self.streaming = False
        """Whether the first part of the reply, its header included, has been sent."""
        self._write = write
        self._on_listen = on_listen

    # --- Arguments --------------------------------------------------------------------------------------------

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of the command."""
        return self.command.arguments

    def word(self, index: int) -> str:
        """Return the argument with this index, from 0. Raises GtpError if there is none."""
        if index >= len(self.words):
            raise GtpError(SYNTAX_ERROR)
        return self.words[index]

    def expect(self, least: int, most: int | None = None) -> None:
        """Raise GtpError unless the command has from `least` to `most` arguments; None stands for `least`."""
        if not least <= len(self.words) <= (least if most is None else most):
            raise GtpError(SYNTAX_ERROR)

    # --- Replies in parts -------------------------------------------------------------------------------------

    def end_on_input(self) -> None:
        """Let any input stop this command from now on. Input that is waiting already stops it at once."""
        self.ends_on_input = True
        if self._on_listen is not None:
            self._on_listen(self)

    def stream(self, line: str = "") -> None:
        """Send one line of a reply that is not complete yet. The first call sends the header, too."""
        header = "" if self.streaming else format_header(self.command.id) + "\n"
        self.streaming = True
        self._write(header + (line + "\n" if line else ""))

    def finish(self, text: str = "", ok: bool = True) -> None:
        """Send the whole reply, or what is still missing from a streamed one."""
        if not self.streaming:
            self._write(format_response(text, self.command.id, ok))
        elif ok and text:
            self._write(text + "\n\n")
        else:
            self._write("\n")


MOST_WAITING = 16 << 20
"""The bytes that may wait before reading pauses: hours of any real dialogue."""

PIECE_COST = 256
"""The bytes that a piece counts for besides its text, so that many small ones are bounded too."""

_MANY_BLANK = re.compile(rb"\n{3,}")
"""Blank lines in a row, which do no more than one of them."""


class Line(NamedTuple):
    """A line that has arrived."""

    data: bytes
    arrived: float
    """time.monotonic()."""


class Inbox:
    """A queue of lines that knows the running call and stops it when a line asks for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pieces: deque[Line] = deque()
        """Lines that arrived together, not split yet."""
        self._lines: deque[Line] = deque()
        """The lines of the piece that is being carried out."""
        self._waiting = 0
        self._paused = False
        self._closed = False
        self._will_quit = False
        self._call: Call | None = None
        self._last_arrival = -BURST_SECONDS

    # --- The reading side -------------------------------------------------------------------------------------

    def put(self, piece: bytes, arrived_in_burst: bool = False) -> bool:
        """Add lines that have arrived together. Returns True if they ask to end the session while a command runs.

        `arrived_in_burst`: they were written together with the lines before them, as far as the channel could tell.
        """
        now = time.monotonic()
        with self._changed:
            interrupts = self._is_interruption(now, arrived_in_burst)
            piece = _MANY_BLANK.sub(b"\n\n", piece)
            self._pieces.append(Line(piece, now))
            self._waiting += len(piece) + PIECE_COST
            if self._call is not None and (self._call.ends_on_input or _has_interrupt(piece)):
                self._call.stop.set()
            self._changed.notify_all()
            quits = _has_quit(piece)
            self._will_quit |= quits
            return interrupts and quits

    def await_room(self, seconds: float) -> bool:
        """Wait so many seconds until half of MOST_WAITING bytes are done, if they wait. Returns whether to read on.

        What is read after a pause may have been written long ago, so it counts as written with what came before it.
        """
        with self._changed:
            if self._waiting < MOST_WAITING and not self._paused:
                return True
            self._paused = not self._changed.wait_for(lambda: self._waiting <= MOST_WAITING // 2, seconds)
            self._last_arrival = time.monotonic()
            return not self._paused

    def close(self, arrived_in_burst: bool = False) -> bool:
        """Say that no more lines will come. Waiting lines are still taken. Returns True if that ends the session now.

        `arrived_in_burst`: the end came together with the last lines, as far as the channel could tell.
        """
        now = time.monotonic()
        with self._changed:
            self._closed = True
            if self._call is not None and self._call.ends_on_input:
                self._call.stop.set()
            self._changed.notify_all()
            return self._is_interruption(now, arrived_in_burst) and not self._will_quit

    def clear(self) -> None:
        """Throw away the lines that wait, and accept no more."""
        with self._changed:
            self._lines.clear()
            self._pieces.clear()
            self._waiting = 0
            self._closed = True
            self._changed.notify_all()

    def stop_call(self) -> None:
        """Ask the running call, if there is one, to stop."""
        with self._changed:
            if self._call is not None:
                self._call.stop.set()

    def _is_interruption(self, now: float, arrived_in_burst: bool) -> bool:
        in_burst = arrived_in_burst or now - self._last_arrival < BURST_SECONDS
        self._last_arrival = now
        return (self._call is not None or self._has_lines()) and not in_burst

    def _has_lines(self) -> bool:
        return bool(self._lines or self._pieces)

    # --- The working side -------------------------------------------------------------------------------------

    def take(self) -> Line | None:
        """Wait for the next line and return it, without its newline. Returns None if there will be no more."""
        with self._changed:
            self._call = None
            if not self._lines:
                self._changed.wait_for(lambda: self._pieces or self._closed)
                if not self._pieces:
                    return None
                piece, arrived = self._pieces.popleft()
                self._waiting -= len(piece) + PIECE_COST
                self._changed.notify_all()
                self._lines.extend(Line(line, arrived) for line in piece.removesuffix(b"\n").split(b"\n"))
            return self._lines.popleft()

    def begin(self, call: Call) -> None:
        """Say which call is running from now until the next `take`."""
        with self._changed:
            self._call = call

    def on_listen(self, call: Call) -> None:
        """Stop a call that begins to end on input, if input is waiting already."""
        with self._changed:
            if self._has_lines() or self._closed:
                call.stop.set()


def _has_interrupt(piece: bytes) -> bool:
    return b"interrupt" in piece.lower() and any(is_interrupt(decode_line(line)) for line in piece.split(b"\n"))


def _has_quit(piece: bytes) -> bool:
    if b"quit" not in piece:
        return False
    commands = (parse_line(decode_line(line)) for line in piece.split(b"\n"))
    return any(command is not None and command.name == "quit" for command in commands)
