"""The engines that stories are told to: one in this thread whose player knows nothing, and `nobi` itself."""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import subprocess
import tempfile
import threading
from dataclasses import replace
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from gtp_engine import command_line
from gtp_engine.configuration.settings import EngineSettings
from nets.evaluator import ConstantEvaluator
from tests.gtp_engine.clients.talk import GaveUp
from tests.gtp_engine.fakes import Dialogue
from tests.systems import PATIENCE


@lru_cache
def settings_of(arguments: tuple[str, ...]) -> EngineSettings:
    """The settings of the engine that `nobi` would start with these arguments."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"NOBI_CONFIG_DIR": folder}),
        patch("gtp_engine.gtp.loop.run_gtp", return_value=0) as started,
    ):
        assert command_line.run([*arguments]) == 0, arguments
    settings: EngineSettings = started.call_args.args[0]
    return settings


class FakePartner:
    """An engine in this thread, with a board of 9x9. An analysis ends with its first report."""

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self.dialogue = Dialogue(settings=replace(settings_of(arguments), size="9"))
        self.dialogue.player.evaluator = ConstantEvaluator()
        self._errors = io.StringIO()

    def send(self, line: str) -> str:
        with contextlib.redirect_stderr(self._errors):
            return self.dialogue.send(line)

    def analyse(self, line: str, end: str) -> tuple[str, str]:
        return self.send(line), self.send(end)

    def errors(self) -> list[str]:
        lines = self._errors.getvalue().splitlines()
        self._errors.truncate(0)
        self._errors.seek(0)
        return lines


KEPT = ("kata-get-params", "kata-get-rules")
"""What is asked at the start, and set again before each story."""
RESET = ("kata-time_settings none", "boardsize 9", "clear_board", "komi 7.5")
"""What clears the traces of one story before the next, besides rules and parameters."""


class Piped:
    """A process with pipes, whose lines are read as they come."""

    def __init__(self, command: list[str], stderr: int) -> None:
        pipe = subprocess.PIPE
        self.process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, bufsize=0)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _line(self) -> str:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise GaveUp(f"no answer within {PATIENCE:.0f} s") from None
        if not line:
            raise GaveUp("the engine has ended")
        return line.decode()

    def _say(self, line: str) -> None:
        self.process.stdin.write(f"{line}\n".encode())

    def end(self) -> None:
        """End the process by the end of its input."""
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)


class GtpProcess(Piped):
    """`nobi gtp` with pipes. Several stories may be told to it, one after another."""

    def __init__(self, nobi: list[str], arguments: tuple[str, ...]) -> None:
        self._errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        self._shown = 0
        super().__init__([*nobi, *arguments, "--set", "size=9"], self._errors.fileno())
        self._first = [f"{name.replace('get', 'set')} {self.send(name)[2:].strip()}" for name in KEPT]

    def renew(self) -> None:
        """Set everything as it was at the start."""
        for line in (*self._first, *RESET):
            if not self.send(line).startswith("="):
                raise GaveUp(f"what the engine says of itself is refused: {line}")
        self.errors()

    def _reply(self, text: str = "") -> str:
        """What is left of a reply of which `text` has been read, and that before it."""
        while not text.endswith("\n\n"):
            text += self._line()
        return text

    def send(self, line: str) -> str:
        self._say(line)
        return self._reply()

    def analyse(self, line: str, end: str) -> tuple[str, str]:
        self._say(line)
        text = self._line()
        while text.startswith("=") and "info " not in text:
            text += self._line()
        self._say(end)
        text = self._reply(text)
        return text, self._reply() if end else ""

    def errors(self) -> list[str]:
        self._errors.seek(self._shown)
        text = self._errors.read()
        self._shown += len(text)
        return text.decode().splitlines()

    def end(self) -> None:
        super().end()
        self._errors.close()


class JsonProcess(Piped):
    """`nobi analysis` with pipes."""

    def __init__(self, nobi: str, options: list[str]) -> None:
        super().__init__([nobi, "analysis", *options], subprocess.DEVNULL)

    def say(self, *queries: dict[str, Any] | str) -> None:
        for query in queries:
            self._say(query if isinstance(query, str) else json.dumps(query))

    def next(self) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(self._line())
        return reply

    def renew(self) -> None:
        """Read what is left of the last story."""
        self.say({"id": "renewed", "action": "query_version"})
        while self.next()["id"] != "renewed":
            pass
