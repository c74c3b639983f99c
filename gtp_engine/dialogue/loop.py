"""The GTP loop: one thread reads lines, one carries commands out, and the main thread waits for the end.

Reading never waits for a search, so whatever arrives can stop one. The end may come as `quit`, as the end of the
input, as a signal, or because nobody reads our replies any more; each leaves what runs GRACE seconds to reply.
The process then ends without waiting for any thread.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from gtp_engine.commands import carry_out
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.channel import Output, guard_stdout, read_lines
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.inbox import Inbox, Line
from gtp_engine.dialogue.protocol import MAX_LINE, Command, parse_line
from gtp_engine.errors import explain
from gtp_engine.stderr import note

if TYPE_CHECKING:
    from search.player import Player

GRACE = 0.7
"""Seconds that a running command may still take once the session is ending."""
WAKE_UP = 0.5 if os.name == "nt" else None
"""Windows delivers no signal to a thread that waits without end."""

EXIT_DONE, EXIT_FAILURE = 0, 1


class End(NamedTuple):
    """The order to end the session now."""

    code: int
    drop_input: bool
    """Whether lines that have arrived already get no reply any more."""


class Loop:
    """One GTP session from its first line to its end."""

    def __init__(self, engine: Engine, input_descriptor: int, output_descriptor: int) -> None:
        self._engine = engine
        self._input = input_descriptor
        self._inbox = Inbox()
        self._output = Output(output_descriptor, on_broken=lambda: self._ends.put(End(EXIT_FAILURE, True)))
        self._ends: queue.SimpleQueue[End | None] = queue.SimpleQueue()
        """None once the last reply is out. Signal handlers may put into a SimpleQueue."""
        self._last_reply = 0.0

    def run(self) -> int:
        """Run the session and return the exit code of the process."""
        self._engine.loader.on_failure = self._loading_failed
        self._engine.loader.begin()
        threading.Thread(target=self._read, name="reading", daemon=True).start()
        threading.Thread(target=self._work, name="commands", daemon=True).start()
        end = self._next_end(WAKE_UP, forever=True)
        if end is None:
            return EXIT_DONE
        if end.drop_input:
            self._inbox.clear()
        self._engine.hurry()
        self._inbox.stop_call()
        deadline = time.monotonic() + GRACE
        with contextlib.suppress(queue.Empty):
            while self._next_end(max(0.0, deadline - time.monotonic())) is not None:
                pass
        return end.code

    def handle_signals(self) -> None:
        """Let SIGTERM and SIGINT end the session. Only the main thread may call this."""

        def on_signal(number: int, _frame: FrameType | None) -> None:
            self._ends.put(End(128 + number, True))

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)

    def _next_end(self, timeout: float | None, forever: bool = False) -> End | None:
        while True:
            try:
                return self._ends.get(timeout=timeout)
            except queue.Empty:
                if not forever:
                    raise

    # --- The reading thread -----------------------------------------------------------------------------------

    def _read(self) -> None:
        for text in read_lines(self._input, self._output.descriptor):
            if self._inbox.put(text):
                self._ends.put(End(EXIT_DONE, False))
        if self._inbox.close():
            self._ends.put(End(EXIT_DONE, False))

    # --- The working thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while (line := self._inbox.take()) is not None:
                if not self._handle(line):
                    return
        finally:
            self._ends.put(None)

    def _handle(self, line: Line) -> bool:
        """Reply to a line; False after the last one."""
        self._engine.log.received(line.text)
        command = parse_line(line.text) if len(line.text) <= MAX_LINE else Command(None, "")
        if command is None:
            return True
        # A pipelined command's time starts when the one before it has its reply.
        call = Call(command, self._write, self._inbox.on_listen, max(line.arrived, self._last_reply))
        self._inbox.begin(call)
        if self._engine.hurried:
            call.stop.set()
        goes_on = carry_out(self._engine, call)
        self._last_reply = time.monotonic()
        if goes_on:
            self._engine.after_reply()
        return goes_on

    def _write(self, text: str) -> None:
        self._engine.log.sent(text)
        self._output.write(text)

    # --- The loading thread -----------------------------------------------------------------------------------

    def _loading_failed(self, error: BaseException) -> None:
        self._engine.log.failure(error)
        note(explain(error))
        self._ends.put(End(EXIT_FAILURE, True))


def run_gtp(
    settings: EngineSettings, make_player: Callable[[], Player], on_compile: Callable[[], None] = lambda: None
) -> int:
    """Speak GTP on stdin and stdout, and end the process; this function does not return.

    `make_player` is called in another thread. `on_compile` is called there once, if anything has to be compiled.

    Leaving by `os._exit` is deliberate: searching, loading and compiling threads may be anywhere, and neither
    waiting for them nor taking the interpreter down around them ends in time.
    """
    loop = Loop(Engine(settings, make_player, on_compile), 0, guard_stdout())
    loop.handle_signals()
    code = loop.run()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    os._exit(code)
