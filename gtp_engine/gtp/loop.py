"""The GTP loop: one thread reads lines, one carries commands out, and the main thread waits for the end.

Reading never waits for a search, so whatever arrives can stop one. The end may come as `quit`, as the end of the
input, as a signal, or because nobody reads our replies any more; each leaves what runs GRACE seconds to reply. A `quit`
or the end of the input, which wait for nothing themselves, leave commands before them LOADING_GRACE to begin.
The process then ends without waiting for any thread.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.errors import explain
from gtp_engine.gtp.call import Call, Controller, Inbox, Line
from gtp_engine.gtp.commands import TAKING_FILES, carry_out
from gtp_engine.gtp.protocol import decode_line, parse_line, parse_long_line, without_controls
from gtp_engine.session.log import ENGINE, DialogueLog
from gtp_engine.session.session import Session
from gtp_engine.stdio import EXIT_DONE, EXIT_FAILURE, GRACE, MAX_LINE, WAKE_UP, End, LineServer, serve
from gtp_engine.version import VERSION
from nobi_machine.streams import note

if TYPE_CHECKING:
    from search.player import Player

LISTENER_CHECK = 0.2
"""Seconds between two looks at our listener while nothing is read."""

LOADING_GRACE = 10.0
"""Seconds that commands which were given before a `quit` may still wait for the engine to be loaded."""

READY = "GTP ready"
"""LizGoban waits for these words of KataGo's on stderr before it sends anything, where the user wants that."""


class Loop(LineServer):
    """One GTP session from its first line to its end."""

    def __init__(self, session: Session, stdin: int, stdout: int) -> None:
        super().__init__(session.log, stdin, stdout)
        self._session = session
        self._inbox = Inbox()
        self._last_reply = 0.0
        self._controller = Controller()

    def run(self) -> int:
        """Run the session and return the exit code of the process."""
        self._output.write("")
        note(READY)
        self._session.loader.on_failure = self._fail
        self._session.loader.begin()
        threading.Thread(target=self._read, name="reading", daemon=True).start()
        working = threading.Thread(target=self._work, name="commands", daemon=True)
        working.start()
        end = self._await_end()
        if not end.is_hasty:
            end = self._await_loading(end, working)
        if end.is_hasty:
            self._inbox.clear()
        self._session.begin_shutdown()
        self._inbox.stop_call()
        working.join(GRACE)
        return end.code

    def _await_loading(self, end: End, working: threading.Thread) -> End:
        """Let the commands that were given before the end wait for what they need, for LOADING_GRACE at most. Returns
        an end that could not wait so long, or `end`."""
        until = time.monotonic() + LOADING_GRACE
        while self._session.loader.is_loading and working.is_alive() and time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                if (other := self._ends.get(timeout=WAKE_UP)).is_hasty:
                    return other
        return end

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
            self._ends.put(End(EXIT_DONE, False))

    def _handle(self, line: Line) -> bool:
        """Reply to a line; False after the last one."""
        text = decode_line(line.data)
        command = (parse_line if len(line.data) <= MAX_LINE else parse_long_line)(text)
        if command is not None and command.name in TAKING_FILES:
            self._session.log.shorten(command.text)
        self._session.log.received(without_controls(text))
        if command is None:
            return True
        # A pipelined command's time starts when the one before it has its reply.
        received = max(line.arrived, self._last_reply)
        call = Call(command, self._write, self._inbox.on_listen, received, self._controller)
        self._inbox.begin(call)
        if self._session.shutting_down:
            call.stop.set()
        goes_on = carry_out(self._session, call)
        self._last_reply = time.monotonic()
        if goes_on:
            try:
                self._session.after_reply()
            except Exception as error:  # such as no room for another thread: without pondering the dialogue goes on
                self._session.log.failure(error)
                note(explain(error))
        return goes_on


def run_gtp(
    settings: EngineSettings,
    make_player: Callable[[DialogueLog], Player],
    on_compile: Callable[[], None] = lambda: None,
    named: Iterable[str] = (),
    remarks: Iterable[str] = (),
) -> NoReturn:
    """Speak GTP on stdin and stdout, and end the process; this function does not return.

    `make_player` is called in another thread, with the log. `on_compile` is called there once, if anything has to be
    compiled. `named`: as in `Session`. `remarks`: lines for the log, about the start.
    """
    session = Session(settings, lambda: make_player(session.log), on_compile, named)
    session.log.fact(ENGINE, {"version": VERSION, "python": sys.version.split()[0], "system": sys.platform})
    for remark in remarks:
        session.log.remark(remark)
    serve(lambda stdin, stdout: Loop(session, stdin, stdout))
