"""What is kept of an engine's output."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from gtp_engine.match import client
from gtp_engine.match.client import ErrorLog, Incoming
from nobi_machine.text import LONGEST
from tests.systems import IS_WINDOWS, needs_a_pipe_that_does_not_wait


def unbuffered(descriptor: int) -> IO[bytes]:
    return open(descriptor, "rb", buffering=0)


@needs_a_pipe_that_does_not_wait
def test_incoming_holds_no_more_than_its_bound() -> None:
    reading, writing = os.pipe()
    incoming = Incoming(unbuffered(reading), 1000)
    os.set_blocking(writing, False)
    written = 0
    quiet = time.monotonic() + 0.5
    while time.monotonic() < quiet or written <= 1000 + client.CHUNK:
        try:
            written += os.write(writing, b"x" * 4096)
            quiet = time.monotonic() + 0.5
        except BlockingIOError:
            time.sleep(0.01)
    os.close(writing)
    taken = incoming.take(60)
    assert taken is not None
    assert 1000 <= len(taken) <= 1000 + client.CHUNK < written
    while more := incoming.take(60):
        taken += more
    assert len(taken) == written
    assert incoming.take(60) is None


def test_incoming_gives_what_came_before_the_end() -> None:
    reading, writing = os.pipe()
    incoming = Incoming(unbuffered(reading), 1000)
    os.write(writing, b"last words")
    os.close(writing)
    time.sleep(0.1)  # the end is known by now, if the machine is not busy
    assert incoming.take(60) == b"last words"
    assert incoming.take(60) is None
    assert incoming.take(60) is None


@pytest.mark.skipif(IS_WINDOWS, reason="whoever reads a pipe there waits until something comes")
def test_incoming_lets_go_of_a_pipe_that_stays_open() -> None:
    reading, writing = os.pipe()
    pipe = unbuffered(reading)
    incoming = Incoming(pipe, 1000)
    assert incoming.take(0.01) == b""
    incoming.close()
    assert incoming.take(60) is None
    assert pipe.closed
    os.close(writing)


def test_the_log_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_LOGGED", 1000)
    path = tmp_path / "A-1.txt"
    path.write_text("before\n")
    log = ErrorLog(path)
    for number in range(1000):
        log.write(f"line {number}\n".encode())
    old = path.with_name("A-1.txt.old")
    assert log.lines() == 1000
    assert path.stat().st_size <= 1000
    assert old.stat().st_size <= 1000
    text = old.read_text() + path.read_text()
    assert text.endswith("line 998\nline 999\n")
    assert text == "".join(f"line {number}\n" for number in range(1000 - text.count("\n"), 1000))
    assert len(text) > 1000


def test_the_log_begins_a_new_file_only_where_the_old_one_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_LOGGED", 10)
    path = tmp_path / "A-1.txt"
    old = path.with_name("A-1.txt.old")
    ErrorLog(path).write(b"more than fits\n")
    assert path.read_text() == "more than fits\n"
    assert not old.exists()
    again = ErrorLog(path)  # of another run of the same match
    again.write(b"new\n")
    assert (old.read_text(), path.read_text()) == ("more than fits\n", "new\n")
    again.write(b"five\n")
    assert path.read_text() == "new\nfive\n"
    assert again.lines() == 2


def test_the_log_remembers_the_last_line() -> None:
    log = ErrorLog()
    assert log.last_line() == ""
    for part in (b"\n", b"first\nsec", b"ond \x1b[2J\xff\n\n", b" "):
        log.write(part)
    assert log.last_line() == "second \\x1b[2J\N{REPLACEMENT CHARACTER}"
    log.write(b"x" * 10_000)
    assert len(log.last_line()) == LONGEST
    log.write(b"\n" + b"a line\n" * 1000 + b"the end")
    assert log.last_line() == "the end"


def test_a_log_that_cannot_be_written_is_counted(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("keep me")
    link = tmp_path / "link"
    link.symlink_to(target)
    fifo = tmp_path / "fifo"
    if hasattr(os, "mkfifo"):
        os.mkfifo(fifo)
    for path in (link, fifo, tmp_path / "no" / "folder", tmp_path):
        log = ErrorLog(path)
        log.write(b"one\ntwo\n")
        assert log.lines() == 2
    assert target.read_text() == "keep me"


def followed(log: ErrorLog, lines: int) -> int:
    """The number of lines of a log once there are so many, or after a minute."""
    until = time.monotonic() + 60.0
    while log.lines() < lines and time.monotonic() < until:
        time.sleep(0.005)
    return log.lines()


def test_what_an_engine_writes_now_and_then_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only beyond its burst it would have to wait, at this rate for ever."""
    monkeypatch.setattr(client, "LOG_BURST", 100_000)
    monkeypatch.setattr(client, "LOG_RATE", 0.001)
    reading, writing = os.pipe()
    log, closed = ErrorLog(), threading.Event()
    log.follow(unbuffered(reading), closed)
    for count in range(1, 6):
        os.write(writing, b"x" * 1000 + b"\n")
        assert followed(log, count) == count
    os.close(writing)
    assert log.lines(60) == 5
    closed.set()


def test_a_log_lets_go_of_a_pipe_that_stays_open(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    pipe, closed = unbuffered(reading), threading.Event()
    log = ErrorLog(tmp_path / "A-1.txt")
    log.follow(pipe, closed)
    assert (tmp_path / "A-1.txt").read_bytes() == b"", "there is a file for every engine"
    os.write(writing, b"one\n")
    assert followed(log, 1) == 1
    closed.set()
    assert log.lines(60) == 1
    assert pipe.closed
    os.close(writing)


@needs_a_pipe_that_does_not_wait
def test_a_flood_of_stderr_is_slowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOG_BURST", 1000)
    monkeypatch.setattr(client, "LOG_RATE", 1000.0)
    reading, writing = os.pipe()
    log, closed = ErrorLog(), threading.Event()
    log.follow(unbuffered(reading), closed)
    os.set_blocking(writing, False)
    written, until = 0, time.monotonic() + 1.0
    while time.monotonic() < until:
        try:
            written += os.write(writing, b"x\n" * 1000)
        except BlockingIOError:
            time.sleep(0.01)
    closed.set()
    os.close(writing)
    assert log.lines(60) <= client.CHUNK
    assert written < 4 * client.CHUNK
