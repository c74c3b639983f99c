"""What arrives on stdin becomes pieces of whole lines, however it is cut; what is written gets out or says why not."""

from __future__ import annotations

import contextlib
import os
import random
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gtp_engine.stdio import BURST_SECONDS, MAX_LINE, Input, Output
from tests.systems import needs_a_pipe_that_does_not_wait


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


def lines_of(*writes: bytes) -> list[bytes]:
    """What arrives when these bytes are written one after the other."""
    with pipe() as (reading, writing):

        def write() -> None:
            for data in writes:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(writing, rest) :]
            os.close(writing)

        thread = threading.Thread(target=write)
        thread.start()
        pieces = list(Input(reading).pieces())
        thread.join()
    assert all(piece.endswith(b"\n") for piece in pieces[:-1] if len(piece) <= MAX_LINE)
    return [line for piece in pieces for line in piece.removesuffix(b"\n").split(b"\n")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []),
        (b"name", [b"name"]),
        (b"name\n", [b"name"]),
        (b"a\n\nb\n", [b"a", b"", b"b"]),
        (b"a\r\nb", [b"a\r", b"b"]),
        (b"\n", [b""]),
        (b"\x00\xff\n\xc3\xa9\n", [b"\x00\xff", b"\xc3\xa9"]),
    ],
)
def test_lines(text: bytes, expected: list[bytes]) -> None:
    assert lines_of(text) == expected
    assert lines_of(*(text[i : i + 1] for i in range(len(text)))) == expected


def test_any_division_gives_the_same_lines() -> None:
    rng = random.Random(3)
    lines = [bytes(rng.choices(range(1, 9), k=rng.choice((0, 1, 7, 60_000, 70_000, 140_000)))) for _ in range(30)]
    text = b"\n".join(lines) + b"\n"
    cuts = sorted(rng.sample(range(len(text)), 20))
    assert lines_of(*(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True))) == lines


@pytest.mark.parametrize("excess", [0, 1, 2, 70_000, 2 * MAX_LINE])
def test_a_line_is_cut_only_beyond_the_limit(excess: int) -> None:
    """It is counted in bytes, and arrives once, so short that it shows."""
    text = "é".encode() * (MAX_LINE // 2) + b"x" * excess
    assert lines_of(b"1 name\n" + text + b"\n2 name\n", b"3 name") == [
        b"1 name",
        text[: MAX_LINE + 1],
        b"2 name",
        b"3 name",
    ]


def test_a_descriptor_that_cannot_be_read_ends_the_input_and_says_why() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    try:
        input = Input(descriptor)
        assert list(input.pieces()) == []
        assert input.error is not None
    finally:
        os.close(descriptor)


@needs_a_pipe_that_does_not_wait
def test_a_pipe_that_does_not_block() -> None:
    with pipe() as (reading, writing):
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        failures: list[OSError] = []
        output = Output(writing, failures.append)
        text = "é" * 200_000
        thread = threading.Thread(target=output.write, args=(text + "\n",))
        thread.start()
        pieces = Input(reading).pieces()
        assert next(pieces).decode() == text + "\n"
        thread.join()
        assert failures == []


def test_output_that_fails_says_so_once() -> None:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    try:
        failures: list[OSError] = []
        output = Output(descriptor, failures.append)
        output.write("")
        output.write("= \n\n")
        assert len(failures) == 1
        assert output.broken
    finally:
        os.close(descriptor)


@pytest.mark.skipif(not hasattr(select, "poll"), reason="needs poll")
def test_what_was_there_already_came_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late we read it: the pieces of a long script are one burst, and a line written later is not."""
    reading, writing = os.pipe()
    input = Input(reading)
    pieces = input.pieces()
    os.write(writing, b"name\n")
    assert next(pieces) == b"name\n"
    assert input.arrived_in_burst
    os.write(writing, b"version\n")
    time.sleep(2 * BURST_SECONDS)
    assert next(pieces) == b"version\n"
    assert input.arrived_in_burst
    threading.Timer(20 * BURST_SECONDS, os.write, (writing, b"quit\nna")).start()
    assert next(pieces) == b"quit\n"
    assert not input.arrived_in_burst
    threading.Timer(20 * BURST_SECONDS, os.close, (writing,)).start()
    assert next(pieces) == b"na"
    assert not input.arrived_in_burst
    os.close(reading)


def test_a_file_comes_at_once(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(b"name\n" * 50_000)
    with script.open("rb") as file:
        input = Input(file.fileno())
        for _ in input.pieces():
            time.sleep(0.01)
            assert input.arrived_in_burst
        assert input.arrived_in_burst


class Unpolled:
    """The `poll` of macOS, asked about a terminal or another device."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def register(self, descriptor: int, _events: int) -> None:
        self._descriptors.append(descriptor)

    def poll(self, _milliseconds: int | None) -> list[tuple[int, int]]:
        return [(descriptor, select.POLLNVAL) for descriptor in self._descriptors]


@pytest.mark.skipif(not hasattr(select, "poll"), reason="this system has no poll")
def test_devices_of_which_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "poll", Unpolled)
    with pipe() as (reading, writing), open(os.devnull, "wb") as listener:
        os.write(writing, b"name\n")
        os.close(writing)
        source = Input(reading, listener.fileno())
        assert source.has_listener()
        assert b"".join(source.pieces()) == b"name\n"
