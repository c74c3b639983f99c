"""A session of the JSON engine as a process: stdin, stdout, signals, and the end.

One thread loads the networks and then reads; one writes; the main thread waits for the end. At the end of the input
all that was asked is answered first, unless that was declined. A signal, or a listener who is gone, ends everything
within a second: what is being searched replies with what it has found, and what waits replies that it has nothing.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from gtp_engine.dialogue.channel import Input, Output
from gtp_engine.dialogue.ending import EXIT_DONE, EXIT_FAILURE, GRACE, await_order, handle_signals, leave
from gtp_engine.dialogue.log import DialogueLog
from gtp_engine.dialogue.protocol import MAX_LINE
from gtp_engine.errors import explain
from gtp_engine.json_engine.engine import JsonEngine, Send
from gtp_engine.json_engine.outbox import Outbox
from nobi_machine.streams import guard_stdin, guard_stdout, note

FINISH_CHECK = 0.02
"""Seconds between two looks whether everything is answered."""

READY = "Started, ready to begin handling requests"
"""The end of KataGo's words on stderr, for which scripts wait."""

TOO_LONG = f"Request line is longer than {MAX_LINE} bytes, ignoring"


class End(NamedTuple):
    """The order to end the session."""

    code: int
    is_patient: bool
    """Whether everything is answered first."""


class Session:
    """One session from its start to its end."""

    def __init__(
        self,
        make_engine: Callable[[Send, Callable[[], bool]], JsonEngine],
        is_patient: bool,
        log: DialogueLog,
        stdin: int,
        stdout: int,
    ) -> None:
        """`make_engine` loads the networks; it gets what sends a reply, and what says that replies wait.

        `is_patient`: whether what was asked before the end of the input is answered.
        """
        self._make_engine = make_engine
        self._is_patient = is_patient
        self._log = log
        self._output = Output(stdout, self._writing_failed)
        self._outbox = Outbox(self._write)
        self._input = Input(stdin, stdout)
        self._engine: JsonEngine | None = None
        self._ends: queue.SimpleQueue[End] = queue.SimpleQueue()

    def end_on_signals(self) -> None:
        """Let signals end the session. For the main thread only."""
        handle_signals(lambda code: self._ends.put(End(code, False)))

    def run(self) -> int:
        """Run the session and return the exit code of the process."""
        self._output.write("")
        threading.Thread(target=self._load_and_read, name="reading", daemon=True).start()
        end = await_order(self._ends)
        if end.is_patient:
            end = self._finish(end)
        if not end.is_patient and self._engine is not None:
            self._hurry(self._engine)
        return end.code

    # --- The main thread --------------------------------------------------------------------------------------

    def _finish(self, end: End) -> End:
        """Wait until everything is answered. Returns an end that could not wait so long, or `end`."""
        engine = self._engine
        assert engine is not None
        engine.close()
        while not (engine.is_done() and self._outbox.await_empty(time.monotonic())):
            with contextlib.suppress(queue.Empty):
                other = self._ends.get(timeout=FINISH_CHECK)
                if not other.is_patient:
                    return other
        return end

    def _hurry(self, engine: JsonEngine) -> None:
        """Answer what is open with what is known, as far as a moment is enough for that."""
        until = time.monotonic() + GRACE
        self._outbox.begin_shutdown()
        engine.close()
        engine.terminate()
        while not engine.is_done() and time.monotonic() < until:
            time.sleep(FINISH_CHECK)
        self._outbox.await_empty(until)

    # --- The reading thread -----------------------------------------------------------------------------------

    def _load_and_read(self) -> None:
        try:
            engine = self._engine = self._make_engine(self._outbox.put, lambda: self._outbox.is_behind)
            engine.start()
        except BaseException as error:
            self._fail(error)
            return
        note(READY)
        try:
            for piece in self._input.pieces():
                for line in piece.removesuffix(b"\n").split(b"\n"):
                    self._log.received(line.decode("utf-8", "replace"))
                    if len(line) > MAX_LINE:
                        self._outbox.put({"error": TOO_LONG})
                    else:
                        engine.read(line)
        except BaseException as error:
            self._fail(error)
            return
        if self._input.error is not None:
            note(f"cannot read from stdin: {self._input.error.strerror}")
            self._ends.put(End(EXIT_FAILURE, False))
        if self._input.has_listener():
            self._ends.put(End(EXIT_DONE, self._is_patient))
        else:
            self._ends.put(End(EXIT_FAILURE, False))

    def _fail(self, error: BaseException) -> None:
        self._log.failure(error)
        note(explain(error))
        self._ends.put(End(EXIT_FAILURE, False))

    # --- The writing thread -----------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        self._log.sent(text)
        self._output.write(text)

    def _writing_failed(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            note(f"cannot write to stdout: {error.strerror}")
        self._ends.put(End(EXIT_FAILURE, False))


def run_session(
    make_engine: Callable[[Send, Callable[[], bool]], JsonEngine], is_patient: bool, log: DialogueLog
) -> NoReturn:
    """Answer queries on stdin and stdout, and end the process; this function does not return.

    The arguments are those of `Session`.
    """
    session = Session(make_engine, is_patient, log, guard_stdin(), guard_stdout())
    session.end_on_signals()
    leave(session.run())
