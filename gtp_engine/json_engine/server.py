"""The JSON engine as a process: lines come in, lines of JSON go out, and the end.

One thread loads the networks and then reads; one writes; the main thread waits for the end. At the end of the input
all that was asked is answered first, unless that was declined. A signal, or a listener who is gone, ends everything
within a second: what is being searched replies with what it has found, and what waits replies that it has nothing.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from gtp_engine.json_engine.engine import JsonEngine, Send
from gtp_engine.session.log import DialogueLog
from gtp_engine.stdio import EXIT_DONE, EXIT_FAILURE, GRACE, MAX_LINE, End, LineServer, serve
from nobi_machine.streams import note

MOST_WAITING = 64 << 20
"""Bytes that may wait before whoever has more to say has to wait, too."""
BEHIND = 1 << 20
"""Bytes that wait where our listener reads too slowly for reports in between."""


class Outbox:
    """Lines of JSON on their way out. Any thread may put some in."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` writes a text as a whole, however long that takes."""
        self._write = write
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._writing = False
        self._hurried = False
        threading.Thread(target=self._work, name="writing", daemon=True).start()

    @property
    def is_behind(self) -> bool:
        """Whether so much waits that what is not needed should not be sent."""
        return self._bytes > BEHIND

    def put(self, message: dict[str, Any]) -> None:
        """Send an object as a line. Waits while too much waits to be written."""
        line = encoded(message) + "\n"
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < MOST_WAITING or self._hurried)
            self._lines.append(line)
            self._bytes += len(line)
            self._changed.notify_all()

    def begin_shutdown(self) -> None:
        """Let nobody wait any more, since the process is about to end."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()

    def await_empty(self, until: float) -> bool:
        """Wait until all is written, or until that time.monotonic(). Returns whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._lines or self._writing), until - time.monotonic())

    def _work(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._lines)
                text = "".join(self._lines)
                self._lines.clear()
                self._writing = True
            self._write(text)
            with self._changed:
                self._bytes -= len(text)
                self._changed.notify_all()


def encoded(message: dict[str, Any]) -> str:
    """Write an object as one line of JSON, its keys in alphabetical order as KataGo writes them."""
    try:
        return msgspec.json.encode(message, order="sorted").decode()
    except UnicodeEncodeError:  # half of a character, such as "\ud800", that a query had in its id
        return json.dumps(message, sort_keys=True, separators=(",", ":"))


FINISH_CHECK = 0.02
"""Seconds between two looks whether everything is answered."""

READY = "Started, ready to begin handling requests"
"""The end of KataGo's words on stderr, for which scripts wait."""

TOO_LONG = f"Request line is longer than {MAX_LINE} bytes, ignoring"


class JsonServer(LineServer):
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
        super().__init__(log, stdin, stdout)
        self._make_engine = make_engine
        self._is_patient = is_patient
        self._outbox = Outbox(self._write)
        self._engine: JsonEngine | None = None

    def run(self) -> int:
        """Run the session and return the exit code of the process."""
        self._output.write("")
        threading.Thread(target=self._load_and_read, name="reading", daemon=True).start()
        end = self._await_end()
        if not end.is_hasty:
            end = self._finish(end)
        if end.is_hasty and self._engine is not None:
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
                if other.is_hasty:
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
            note(READY)
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
            self._ends.put(End(EXIT_FAILURE, True))
        if self._input.has_listener():
            self._ends.put(End(EXIT_DONE, not self._is_patient))
        else:
            self._ends.put(End(EXIT_FAILURE, True))


def run_session(
    make_engine: Callable[[Send, Callable[[], bool]], JsonEngine], is_patient: bool, log: DialogueLog
) -> NoReturn:
    """Answer queries on stdin and stdout, and end the process; this function does not return.

    The arguments are those of `JsonServer`.
    """
    serve(lambda stdin, stdout: JsonServer(make_engine, is_patient, log, stdin, stdout))
