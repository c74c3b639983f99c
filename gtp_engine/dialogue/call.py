"""A `Call` is one GTP command while it is carried out: its arguments, its reply, and the request to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gtp_engine.dialogue.protocol import SYNTAX_ERROR, Command, GtpError, Response, format_header, format_response


def discard(_text: str) -> None:
    """Throw text away, where a call has nobody to write to."""


class Call:
    """One GTP command that is being carried out. Its handler gets it, and the loop can stop it."""

    command: Command
    received: float
    """time.monotonic() at which its line arrived."""
    stop: threading.Event
    """Set when the command has to end with what it has found: our own clock runs out, GoGui interrupts it, the session
    ends, or, where `ends_on_input`, a line arrives."""
    ends_on_input: bool = False
    """Whether any line that arrives sets `stop`, as for analysis commands."""
    streaming: bool = False
    """Whether the first part of the reply, its header included, has been sent."""

    def __init__(
        self,
        command: Command,
        write: Callable[[str], None] = discard,
        on_listen: Callable[[Call], None] | None = None,
        received: float | None = None,
    ) -> None:
        """`write` sends text to the controller. `on_listen` is called when input begins to end this call."""
        self.command = command
        self.received = time.monotonic() if received is None else received
        self.stop = threading.Event()
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

    def finish(self, response: Response) -> None:
        """Send the whole reply, or what is still missing from a streamed one."""
        if not self.streaming:
            self._write(format_response(response, self.command.id))
        elif response.ok and response.text:
            self._write(response.text + "\n\n")
        else:
            self._write("\n")
