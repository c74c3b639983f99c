"""The queue between reading and carrying out: bounded, in order, and never late to stop what runs."""

from __future__ import annotations

import pytest

from gtp_engine.gtp import call as inbox_module
from gtp_engine.gtp.call import Call, Inbox
from gtp_engine.gtp.protocol import Command
from gtp_engine.stdio import BURST_SECONDS
from tests.clocks import Clock

AT_ONCE = 0.0


CLOCK = Clock()


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "time", CLOCK)


def running(inbox: Inbox, ends_on_input: bool = False) -> Call:
    """A call that runs for longer than a burst already."""
    inbox.put(b"genmove b\n")
    inbox.take()
    call = Call(Command(None, "genmove"))
    call.ends_on_input = ends_on_input
    inbox.begin(call)
    CLOCK.now += 1.2 * BURST_SECONDS
    return call


def drain(inbox: Inbox) -> list[bytes]:
    inbox.close()
    lines = []
    while (line := inbox.take()) is not None:
        lines.append(line.data)
    return lines


def test_lines_come_out_as_they_went_in() -> None:
    inbox = Inbox()
    for piece in (b"a\n", b"b\n\nc\n", b"\n", b"d"):
        inbox.put(piece)
    assert drain(inbox) == [b"a", b"b", b"", b"c", b"", b"d"]


@pytest.mark.parametrize("piece", [b"a\n" * 32768, b"a\n", b"# comment\n" * 100, b"x" * (1 << 18) + b"\n"])
def test_what_waits_is_bounded_and_nothing_is_lost(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading stops soon after the bound, whatever the size of the pieces, and goes on when half is done."""
    most = 1 << 20
    monkeypatch.setattr(inbox_module, "MOST_WAITING", most)
    inbox = Inbox()
    running(inbox)
    pieces = 0
    while inbox.await_room(AT_ONCE):
        inbox.put(piece)
        pieces += 1
    cost = len(piece) + inbox_module.PIECE_COST
    assert most <= pieces * cost < most + cost
    lines = pieces * piece.count(b"\n")
    for taken in range(lines):
        if taken == lines // 4:
            assert not inbox.await_room(AT_ONCE)
        assert inbox.take() is not None
    assert inbox.await_room(AT_ONCE)
    assert drain(inbox) == []


def test_many_blank_lines_wait_as_one() -> None:
    inbox = Inbox()
    inbox.put(b"a\n" + b"\n" * 60_000 + b"b\n")
    assert drain(inbox) == [b"a", b"", b"b"]


@pytest.mark.parametrize(
    ("before", "line"), [(b"", b"quit\n"), (b"name\n", b"17 quit # bye\n"), (b"name\n" * 1_000_000, b"\tquit\r\n")]
)
def test_quit_is_seen_behind_any_lines_that_fit(before: bytes, line: bytes) -> None:
    inbox = Inbox()
    call = running(inbox)
    for start in range(0, len(before), 50_000):
        assert not inbox.put(before[start : start + 50_000])
        assert inbox.await_room(AT_ONCE)
    assert not call.stop.is_set()
    CLOCK.now += 1.2 * BURST_SECONDS
    assert inbox.put(b"name\n" + line)


@pytest.mark.parametrize("line", [b"quitting\n", b"play quit\n", b"# quit\n", b"name\n"])
def test_what_does_not_end_the_session(line: bytes) -> None:
    inbox = Inbox()
    running(inbox)
    assert not inbox.put(line)


def test_quit_of_a_script_waits_its_turn() -> None:
    inbox = Inbox()
    assert not inbox.put(b"genmove b\nquit\n")
    assert not inbox.put(b"quit\n")


@pytest.mark.parametrize("line", [b"# interrupt\n", b"name\n#  Interrupt\r\nname\n"])
def test_interrupt_stops_the_call_from_any_place(line: bytes) -> None:
    inbox = Inbox()
    call = running(inbox)
    inbox.put(b"play w d4\n# interrupts\n")
    assert not call.stop.is_set()
    inbox.put(line)
    assert call.stop.is_set()


def test_any_line_stops_analysis() -> None:
    inbox = Inbox()
    call = running(inbox, ends_on_input=True)
    inbox.put(b"\n")
    assert call.stop.is_set()


def test_the_end_of_a_script_that_had_to_wait_hurries_nothing() -> None:
    """A script of more than MOST_WAITING bytes is read late, so its end says nothing about a user who has gone."""
    inbox = Inbox()
    running(inbox)
    while inbox.await_room(AT_ONCE):
        inbox.put(b"name\n" * 10_000)
    CLOCK.now += 1.2 * BURST_SECONDS
    assert not inbox.await_room(AT_ONCE)
    assert not inbox.close()


def test_the_end_of_the_input_during_a_command_hurries_it() -> None:
    inbox = Inbox()
    call = running(inbox)
    assert inbox.close()
    assert not call.stop.is_set()
    inbox.stop_call()
    assert call.stop.is_set()


def test_a_script_that_is_read_late_hurries_nothing() -> None:
    """Its lines and its end were there when the channel asked for them."""
    inbox = Inbox()
    running(inbox)
    assert not inbox.put(b"quit\n", arrived_in_burst=True)
    CLOCK.now += 1.2 * BURST_SECONDS
    assert not inbox.close(arrived_in_burst=True)


def test_the_end_of_the_input_after_a_quit_that_waits_hurries_nothing() -> None:
    """Whoever writes a script and closes it later has asked for the end already, and for all replies before it."""
    inbox = Inbox()
    inbox.put(b"genmove b\nquit\n")
    CLOCK.now += 1.2 * BURST_SECONDS
    assert not inbox.close()
