"""`nobi play` at a terminal, and the signals that it gets."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gtp_engine import cli
from tests.gtp_engine.play.table import moves
from tests.systems import PATIENCE

BUSY = ("--size", "19", "--time", "10000", "--set", "workers=1")
"""With these Nobi thinks until it is stopped."""
PROMPT = "you (black, X): "

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither such signals nor terminals")


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, cli.__file__, "play", *map(str, arguments)]


class Terminal:
    """A program that takes this for a terminal."""

    def __init__(self, *arguments: str | Path) -> None:
        import pty

        self.ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm"}
        self.process = subprocess.Popen(
            command(*arguments),
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(theirs)
        self.shown = ""
        self._read = 0

    def await_text(self, text: str) -> str:
        """Wait until a text is shown after what was awaited before. Returns what comes before it."""
        end = time.monotonic() + PATIENCE
        while (found := self.shown.find(text, self._read)) < 0:
            assert time.monotonic() < end, self.shown[-2000:]
            if select.select([self.ours], [], [], 0.1)[0]:
                self.shown += os.read(self.ours, 4096).decode()
        before, self._read = self.shown[self._read : found], found + len(text)
        return before

    def write(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def interrupted(self) -> int:
        """Press Ctrl-C until the program ends, and return its exit code. Python overlooks one that comes in the moment
        between the prompt and the wait for an answer, until another key is pressed."""
        for _ in range(round(PATIENCE)):
            self.write("\x03")
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(5.0)
        raise AssertionError(self.shown[-2000:])


def take_terminal() -> None:
    """Make the stdin of a new session its terminal, so that Ctrl-C comes as a signal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_lines_are_edited_and_ctrl_c_ends_thinking_and_then_the_game() -> None:
    terminal = Terminal(*BUSY)
    try:
        terminal.await_text(PROMPT)
        terminal.write("dd4\x1b[D\x1b[D\x7f\n")  # two to the left, and the first letter away
        terminal.await_text("thinking (Ctrl-C to stop)")
        terminal.write("\x03")
        terminal.await_text("Nobi (white, O): ")
        terminal.await_text(PROMPT)
        terminal.write("hint\n")
        terminal.await_text("thinking (Ctrl-C to stop)")
        terminal.write("\x03")
        terminal.await_text("wins")
        terminal.await_text(PROMPT)
        terminal.write("\x1b[A\x7f\x7f\x7f\x7fboard\n")  # the line before comes back
        assert "captured by black: 0" in terminal.await_text(PROMPT)
        assert terminal.interrupted() == 130
    finally:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.ours)


def test_signals_end_the_program_and_the_game_is_kept(tmp_path: Path) -> None:
    for arguments, number, code in ((BUSY, signal.SIGTERM, -signal.SIGTERM), (("--visits", "1"), signal.SIGINT, 130)):
        kept = tmp_path / f"{number}.sgf"
        with subprocess.Popen(
            command(*arguments, kept), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("D4\n")
            process.stdin.flush()
            end = time.monotonic() + PATIENCE
            while not (kept.exists() and moves(kept)) and time.monotonic() < end:
                time.sleep(0.05)
            while number == signal.SIGINT and "Nobi (white, O): " not in process.stdout.readline():
                pass
            process.send_signal(number)
            assert process.wait(PATIENCE) == code
        assert moves(kept)[0] == "B D4"
