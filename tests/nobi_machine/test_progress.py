"""The line on stderr that says how far work is: on terminals of every width, and where there is none."""

from __future__ import annotations

import io
import math
import os
import struct
import sys
import time

import pytest
from rich.cells import cell_len

from nobi_machine.progress import ProgressBar, StatusLine, duration, in_megabytes, in_pieces
from tests.systems import IS_WINDOWS


class Terminal(io.StringIO):
    """Takes what is written, as a terminal does."""

    def isatty(self) -> bool:
        return True

    @property
    def states(self) -> list[str]:
        """What the line showed, one after the other."""
        return self.getvalue().split("\r")[1:]


def terminal_for(monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> Terminal:
    """Put a terminal in place of stderr. No fixture can: pytest puts its own stderr back before the test begins."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the clock, to be set."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter status covers the one before, which ends only with the work."""
    terminal = terminal_for(monkeypatch)
    line = StatusLine()
    line.end()
    line.clear()
    assert terminal.getvalue() == ""
    line.show("100 games")
    line.show("7")
    line.end()
    assert terminal.getvalue() == "\r100 games\r7        \n"
    line.show("8")
    line.clear()
    assert terminal.states[-3:] == ["8", " ", ""]


@pytest.mark.parametrize(
    ("text", "columns"), [("A" * 90, 40), ("本因坊" * 20, 80), ("本因坊" * 20, 61), ("e\u0301" * 90, 30)]
)
def test_the_line_never_wraps(monkeypatch: pytest.MonkeyPatch, text: str, columns: int) -> None:
    """On a second row it could not be written over. A letter of some scripts takes two columns, an accent none."""
    terminal = terminal_for(monkeypatch, columns)
    line = StatusLine()
    line.show(text)
    line.show("")
    line.show(text)
    first, blank, second = terminal.states
    assert columns - 2 <= cell_len(first) <= columns - 1
    assert cell_len(blank) == cell_len(first)
    assert second == first == text[: len(first)]


@pytest.mark.skipif(IS_WINDOWS, reason="needs a pseudo-terminal")
def test_the_terminal_is_that_of_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdout may be a file, or another terminal."""
    import fcntl
    import termios

    monkeypatch.setenv("COLUMNS", "80")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        StatusLine().show("6 of 6 played; game 6: ? (score, 100 moves)")
        assert os.read(ours, 1000) == b"\r6 of 6 played; game 6: ? (sco"
    os.close(ours)


def test_elsewhere_there_is_a_line_now_and_then(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    line, silent, eager = StatusLine(10.0), StatusLine(math.inf), StatusLine(0.0)
    for second in range(25):
        now[0] = second
        line.show(f"at {second}")
        silent.show("nothing")
    line.show("at the end", final=True)
    eager.show("every time")
    line.note("a word")
    assert capsys.readouterr().err.splitlines() == ["at 10", "at 20", "at the end", "every time", "a word"]


def test_a_bar_counts_what_was_done_before(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """The time left is that of what was done here."""
    terminal = terminal_for(monkeypatch)
    with ProgressBar("match", 8, 4, in_pieces) as bar:
        assert terminal.states == [], "what is written before the work has begun has the line for itself"
        bar.advance(0)
        now[0] = 60.0
        bar.advance(1, "[bold]B+R[/bold]")
    first, second, *removed = terminal.states
    assert first == "match  [" + "#" * 12 + "-" * 12 + "]  4/8"
    assert second == "match  [" + "#" * 15 + "-" * 9 + "]  5/8  3 min left  [bold]B+R[/bold]"
    assert removed == [" " * len(second), ""]


def test_a_bar_whose_total_comes_later(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer that goes on has a part of the file already."""
    terminal = terminal_for(monkeypatch)
    with ProgressBar("file", None, None, in_megabytes) as bar:
        for second, held in ((1, 40_000_000), (3, 60_000_000)):
            now[0] = second
            bar.update(held, 80_000_000)
    first, second, *_ = terminal.states
    assert first.endswith("]  40.0/80.0 MB")
    assert second.endswith("]  60.0/80.0 MB  3 s left")


def test_without_a_terminal_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar("series", 2) as bar:
        bar.advance(1, "1-2: B+R")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (36000, "10.0 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
