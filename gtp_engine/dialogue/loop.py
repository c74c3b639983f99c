"""The GTP loop: one thread reads lines, one carries commands out, and the main thread waits for the end.

Reading never waits for a search, so whatever arrives can stop one. The end may come as `quit`, as the end of the
input, as a signal, or because nobody reads our replies any more; each leaves what runs GRACE seconds to reply.
The process then ends without waiting for any thread.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from gtp_engine.commands import carry_out
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.dialogue.call import Call
from gtp_engine.dialogue.channel import Input, Output
from gtp_engine.dialogue.ending import EXIT_DONE, EXIT_FAILURE, GRACE, await_order, handle_signals, leave
from gtp_engine.dialogue.engine import Engine
from gtp_engine.dialogue.inbox import Inbox, Line
from gtp_engine.dialogue.protocol import MAX_LINE, decode_line, parse_line, parse_long_line
from gtp_engine.errors import explain
from nobi_machine.streams import guard_stdin, guard_stdout, note

if TYPE_CHECKING:
    from search.player import Player

LISTENER_CHECK = 0.2
"""Seconds between two looks at our listener while nothing is read."""

READY = "GTP ready"
"""LizGoban waits for these words of KataGo's on stderr before it sends anything, where the user wants that."""


class End(NamedTuple):
    """The order to end the session now."""

    code: int
    drop_input: bool
    """Whether lines that have arrived already get no reply any more."""


class Loop:
    """One GTP session from its first line to its end."""

    def __init__(self, engine: Engine, input_descriptor: int, output_descriptor: int) -> None:
        self._engine = engine
        self._inbox = Inbox()
        self._output = Output(output_descriptor, self._writing_failed)
        self._input = Input(input_descriptor, output_descriptor)
        self._ends: queue.SimpleQueue[End | None] = queue.SimpleQueue()
        """None once the last reply is out. Signal handlers may put into a SimpleQueue."""
        self._last_reply = 0.0

    def run(self) -> int:
        """Run the session and return the exit code of the process."""
        self._output.write("")
        note(READY)
        self._engine.loader.on_failure = self._loading_failed
        self._engine.loader.begin()
        threading.Thread(target=self._read, name="reading", daemon=True).start()
        threading.Thread(target=self._work, name="commands", daemon=True).start()
        end = await_order(self._ends)
        if end is None:
            return EXIT_DONE
        if end.drop_input:
            self._inbox.clear()
        self._engine.begin_shutdown()
        self._inbox.stop_call()
        deadline = time.monotonic() + GRACE
        with contextlib.suppress(queue.Empty):
            while self._ends.get(timeout=max(0.0, deadline - time.monotonic())) is not None:
                pass
        return end.code

    def end_on_signals(self) -> None:
        """Let signals end the session. For the main thread only."""
        handle_signals(lambda code: self._ends.put(End(code, True)))

    # --- The reading thread -----------------------------------------------------------------------------------

    def _read(self) -> None:
        for piece in self._input.pieces():
            if self._inbox.put(piece, self._input.arrived_in_burst):
                self._ends.put(End(EXIT_DONE, False))
            while not self._inbox.await_room(LISTENER_CHECK):
                if not self._input.has_listener():
                    self._ends.put(End(EXIT_FAILURE, True))
                    return
        if self._input.error is not None:
            note(f"cannot read from stdin: {self._input.error.strerror}")
            self._ends.put(End(EXIT_FAILURE, False))
        if self._inbox.close(self._input.arrived_in_burst):
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
        text = decode_line(line.data)
        self._engine.log.received(text)
        command = (parse_line if len(line.data) <= MAX_LINE else parse_long_line)(text)
        if command is None:
            return True
        # A pipelined command's time starts when the one before it has its reply.
        call = Call(command, self._write, self._inbox.on_listen, max(line.arrived, self._last_reply))
        self._inbox.begin(call)
        if self._engine.shutting_down:
            call.stop.set()
        goes_on = carry_out(self._engine, call)
        self._last_reply = time.monotonic()
        if goes_on:
            try:
                self._engine.after_reply()
            except Exception as error:  # such as no room for another thread: without pondering the dialogue goes on
                self._engine.log.failure(error)
                note(explain(error))
        return goes_on

    def _write(self, text: str) -> None:
        self._engine.log.sent(text)
        self._output.write(text)

    def _writing_failed(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            note(f"cannot write to stdout: {error.strerror}")
        self._ends.put(End(EXIT_FAILURE, True))

    # --- The loading thread -----------------------------------------------------------------------------------

    def _loading_failed(self, error: BaseException) -> None:
        self._engine.log.failure(error)
        note(explain(error))
        self._ends.put(End(EXIT_FAILURE, True))


def run_gtp(
    settings: EngineSettings,
    make_player: Callable[[], Player],
    on_compile: Callable[[], None] = lambda: None,
    named: Iterable[str] = (),
    remarks: Iterable[str] = (),
) -> NoReturn:
    """Speak GTP on stdin and stdout, and end the process; this function does not return.

    `make_player` is called in another thread. `on_compile` is called there once, if anything has to be compiled.
    `named`: as in `Engine`. `remarks`: lines for the log, about the start.
    """
    engine = Engine(settings, make_player, on_compile, named)
    for remark in remarks:
        engine.log.remark(remark)
    loop = Loop(engine, guard_stdin(), guard_stdout())
    loop.end_on_signals()
    leave(loop.run())
