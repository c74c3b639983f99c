"""One command while it is carried out: its arguments, what it may stream, and when it has to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gtp_engine.dialogue.protocol import SYNTAX_ERROR, Command, GtpError, Response, format_header, format_response


def discard(_text: str) -> None:
    """A sink for text that nobody reads."""


class Call:
    """Handed to a command's handler; the loop keeps hold of it to stop it."""

    command: Command
    received: float
    """time.monotonic() at which its line arrived."""
    stop: threading.Event
    """Set when the command shall end with what it has: GoGui's interrupt, or the session ends."""
    ends_on_input: bool = False
    """Analysis: whatever arrives sets `stop`."""
    streaming: bool = False
    """The reply's header is out already."""

    def __init__(
        self,
        command: Command,
        write: Callable[[str], None] = discard,
        on_listen: Callable[[Call], None] | None = None,
        received: float | None = None,
    ) -> None:
        """`write` puts text on stdout; `on_listen` is told when this call starts to end on input."""
        self.command = command
        self.received = time.monotonic() if received is None else received
        self.stop = threading.Event()
        self._write = write
        self._on_listen = on_listen

    # --- Arguments --------------------------------------------------------------------------------------------

    @property
    def words(self) -> tuple[str, ...]:
        return self.command.arguments

    def word(self, index: int) -> str:
        """An argument that must be there. Raises GtpError."""
        if index >= len(self.words):
            raise GtpError(SYNTAX_ERROR)
        return self.words[index]

    # --- Replies in parts -------------------------------------------------------------------------------------

    def end_on_input(self) -> None:
        """From now on any input stops this command, input that waits already included."""
        self.ends_on_input = True
        if self._on_listen is not None:
            self._on_listen(self)

    def stream(self, line: str = "") -> None:
        """Send a line of a reply that is still growing; the first call sends the header, too."""
        header = "" if self.streaming else format_header(self.command.id) + "\n"
        self.streaming = True
        self._write(header + (line + "\n" if line else ""))

    def finish(self, response: Response) -> None:
        """Send the whole reply, or what is missing of a streamed one."""
        if not self.streaming:
            self._write(format_response(response, self.command.id))
        elif response.ok and response.text:
            self._write(response.text + "\n\n")
        else:
            self._write("\n")
