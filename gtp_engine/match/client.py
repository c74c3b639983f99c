"""The controller's side of GTP: it starts an engine, sends it commands, and survives everything that the engine does.

Every wait has a limit. Each thing that an engine may do wrong has an exception: it answers `?` (GtpFailure), it does
not answer in time (EngineTimeout), it ends or closes its stdout (EngineDied), or it writes something that is not
GTP (EngineGarbled). After the last three the process cannot be used any more.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

QUIT_GRACE = 5.0
"""Seconds that an engine has to end after `quit`, and again after SIGTERM."""
MAX_REPLY_BYTES = 1 << 24
"""The longest reply that is read: no engine may fill the referee's memory."""


class EngineError(Exception):
    """The engine did something after which it cannot be used any more. The text is one line."""


class EngineTimeout(EngineError):
    """The engine did not reply in time."""


class EngineDied(EngineError):
    """The engine's process ended, or closed its stdout."""


class EngineGarbled(EngineError):
    """The engine wrote something that is not GTP."""


class GtpFailure(Exception):
    """The engine refused a command with `? text`. The text is the engine's."""


class GtpClient:
    """One engine process. Only one thread may use it at a time; `kill` is safe from any thread."""

    def __init__(self, command: Sequence[str], stderr: Path | None = None) -> None:
        """Start `command`. Its stderr is appended to the file `stderr`, or thrown away. Raises EngineError."""
        self.command = list(command)
        self.stray_lines = 0
        """How many lines that are not blank came between replies. They are ignored."""
        self._stderr: IO[bytes] | None = open(stderr, "ab") if stderr else None  # noqa: SIM115 - closed in close()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr or subprocess.DEVNULL,
                start_new_session=True,  # so that a Ctrl-C meant for us leaves it alone, and kill() gets its children
            )
        except (OSError, ValueError) as error:
            self._close_stderr()
            raise EngineError(f"cannot start {self.command[0]}: {getattr(error, 'strerror', None) or error}") from error
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="gtp-reader", daemon=True)
        self._reader.start()
        self._commands: frozenset[str] | None = None
        self._killed = False

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    def send(self, command: str, seconds: float) -> str:
        """Send a command and return the text of the reply without its status and its last blank line.

        Raises GtpFailure, EngineTimeout (after `seconds`), EngineDied, EngineGarbled.
        """
        deadline = time.monotonic() + seconds
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(command.encode() + b"\n")
            stdin.flush()
        except (OSError, ValueError) as error:
            raise self._death(command) from error
        lines: list[str] = []
        size = 0
        while True:
            line = self._next_line(command, deadline, seconds)
            size += len(line)
            if size > MAX_REPLY_BYTES:
                raise EngineGarbled(f"endless reply to {command!r}")
            text = line.decode("utf-8", "replace").rstrip()
            if not lines and text[:1] not in ("=", "?"):
                if text:
                    self.stray_lines += 1
                continue
            if not text:
                break
            lines.append(text)
        status, lines[0] = lines[0][0], lines[0][1:].lstrip("0123456789").strip()
        text = "\n".join(lines).strip()
        if status == "?":
            raise GtpFailure(text)
        return text

    def knows(self, command: str, seconds: float) -> bool:
        """Whether `list_commands` names `command`. An engine that refuses `list_commands` knows no command."""
        if self._commands is None:
            try:
                self._commands = frozenset(self.send("list_commands", seconds).split())
            except GtpFailure:
                self._commands = frozenset()
        return command in self._commands

    def close(self) -> None:
        """End the engine: with `quit`, if that does not help with SIGTERM, and then with SIGKILL."""
        if self.is_running:
            with contextlib.suppress(EngineError, GtpFailure):
                self.send("quit", QUIT_GRACE)
            stdin = self._process.stdin
            assert stdin is not None
            with contextlib.suppress(OSError):
                stdin.close()
            if not self._leaves():
                self._signal(signal.SIGTERM)
                self._leaves()
        self.kill()

    def kill(self) -> None:
        """End the process and its children at once. Safe to call at any time, from any thread, more than once."""
        if not self._killed:
            self._killed = True
            self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._leaves()
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._close_stderr()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with contextlib.suppress(OSError, ValueError), stdout:
            while line := stdout.readline(MAX_REPLY_BYTES):
                self._lines.put(line)
        self._lines.put(None)

    def _next_line(self, command: str, deadline: float, seconds: float) -> bytes:
        try:
            line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise EngineTimeout(f"no reply to {command!r} within {seconds:g} s") from None
        if line is None:
            self._lines.put(None)
            raise self._death(command)
        return line

    def _death(self, command: str) -> EngineDied:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        how = (
            "closed its stdout" if code is None else f"was killed by signal {-code}" if code < 0 else f"exited ({code})"
        )
        return EngineDied(f"{how} at {command!r}")

    def _leaves(self) -> bool:
        try:
            self._process.wait(QUIT_GRACE)
            return True
        except subprocess.TimeoutExpired:
            return False

    def _signal(self, number: int) -> None:
        """Signal the process group, so that what a wrapper script started goes with it."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            elif self.is_running:
                self._process.send_signal(number)

    def _close_stderr(self) -> None:
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None
