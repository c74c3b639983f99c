"""The text of the protocol, apart from any command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from go_rules.points import BLACK, PASS, WHITE, point_at
from gtp_engine.gtp.call import Call
from gtp_engine.gtp.protocol import (
    Command,
    GtpError,
    clean_line,
    decode_line,
    format_response,
    interpret_boolean,
    interpret_colour,
    interpret_float,
    interpret_integer,
    interpret_stones,
    interpret_vertex,
    is_interrupt,
    parse_line,
    parse_long_line,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("name", Command(None, "name")),
        ("12 play b D4", Command("12", "play", ("b", "D4"), "b D4")),
        ("  play\t b   D4 # good", Command(None, "play", ("b", "D4"), "b   D4")),
        ('kata-set-rules {"a": 1}', Command(None, "kata-set-rules", ('{"a":', "1}"), '{"a": 1}')),
        ("2147483647 x", Command("2147483647", "x")),
        ("2147483648 x", Command(None, "")),
        ("00000000012 x", Command(None, "")),
        ("7", Command("7", "")),
        ("", None),
        (" \t\r", None),
        ("# 12 name", None),
        ("\x07\x08", None),
        ("\ufeffname", Command(None, "name")),
        ("\ufeff", None),
        ("n\x00a\rme\x7f", Command(None, "name")),
        ("\u0661 name", Command(None, "\u0661", ("name",), "name")),
        (decode_line(b"n\xc1\xa1me \xff"), Command(None, "n\udcc1\udca1me", ("\udcff",), "\udcff")),
    ],
)
def test_parse_line(line: str, expected: Command | None) -> None:
    assert parse_line(line) == expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("name x", Command(None, "")),
        ("12 name x", Command("12", "")),
        ("2147483648 name x", Command(None, "")),
        ("   ", Command(None, "")),
        ("12", Command("12", "")),
        (" # name", None),
    ],
)
def test_a_line_that_is_too_long_is_refused_with_its_id(start: str, expected: Command | None) -> None:
    assert parse_long_line(start) == expected


@pytest.mark.parametrize(
    ("text", "id_", "ok", "expected"),
    [
        ("", None, True, "= \n\n"),
        ("", "3", True, "=3 \n\n"),
        ("a\nb", "3", True, "=3 a\nb\n\n"),
        ("a\n\n\n b \n", None, True, "= a\n b \n\n"),
        ("a\r\n\r\nb\u2028c", None, True, "= a\nb\nc\n\n"),
        ("no", "0", False, "?0 no\n\n"),
        ("no\nreally", None, False, "? no\nreally\n\n"),
    ],
)
def test_format_response(text: str, id_: str | None, ok: bool, expected: str) -> None:
    assert format_response(text, id_, ok) == expected


@given(st.text(), st.one_of(st.none(), st.from_regex("[0-9]{1,9}", fullmatch=True)), st.booleans())
def test_a_reply_has_one_blank_line_at_its_end(text: str, id_: str | None, ok: bool) -> None:
    reply = format_response(text, id_, ok)
    assert reply.endswith("\n\n")
    assert reply.index("\n\n") == len(reply) - 2
    assert reply.startswith(("=" if ok else "?") + (id_ or "") + " ")


@given(st.text())
def test_a_clean_line_is_clean(text: str) -> None:
    line = clean_line(text.replace("\n", ""))
    assert not any(ord(c) < 32 or ord(c) == 127 for c in line)
    assert "#" not in line
    assert line == line.strip(" ")
    assert clean_line(line) == line


@pytest.mark.parametrize("text", ["1", "+1", "-1", "0", "007", "999999999999"])
def test_integers(text: str) -> None:
    assert interpret_integer(text) == int(text)


@pytest.mark.parametrize("text", ["", "1.0", "1_0", "x", "0x1", "١", "1e3", "--1", "1" * 30])
def test_no_integers(text: str) -> None:
    with pytest.raises(GtpError, match="syntax error"):
        interpret_integer(text)


@pytest.mark.parametrize("text", ["1", "+1.5", "-.5", "5.", "1e3", "1E-3"])
def test_floats(text: str) -> None:
    assert interpret_float(text) == float(text)


@pytest.mark.parametrize("text", ["", ".", "nan", "inf", "-inf", "infinity", "1e999", "1_0", "0x1", "١.٥", "1,5", "e5"])
def test_no_floats(text: str) -> None:
    with pytest.raises(GtpError, match="syntax error"):
        interpret_float(text)


def test_colours() -> None:
    assert [interpret_colour(word) for word in ("b", "B", "black", "BLACK")] == [BLACK] * 4
    assert [interpret_colour(word) for word in ("w", "W", "white", "White")] == [WHITE] * 4
    for word in ("", "g", "blac", "bw", "1"):
        with pytest.raises(GtpError, match="syntax error"):
            interpret_colour(word)


def test_booleans() -> None:
    assert [interpret_boolean(word) for word in ("true", "TRUE", "1", "false", "0")] == [True] * 3 + [False] * 2
    with pytest.raises(GtpError, match="syntax error"):
        interpret_boolean("yes")


def test_vertices() -> None:
    assert interpret_vertex("a1", 9, 9) == point_at(0, 8)
    assert interpret_vertex("J9", 9, 9) == point_at(8, 0)
    assert interpret_vertex("Pass", 9, 9) == PASS
    for word in ("", "a", "1", "i5", "aa1", "a1b", "a-1", "resign", "a١"):
        with pytest.raises(GtpError, match="syntax error"):
            interpret_vertex(word, 19, 19)
    for word in ("a0", "a10", "k1", "z25"):
        with pytest.raises(GtpError, match="illegal move"):
            interpret_vertex(word, 9, 9)


def test_stones() -> None:
    assert interpret_stones(("b", "a1", "white", "pass"), 9, 9) == [(BLACK, point_at(0, 8)), (WHITE, PASS)]
    with pytest.raises(GtpError):
        interpret_stones(("b",), 9, 9)


def test_interrupt_comment() -> None:
    assert is_interrupt("# interrupt")
    assert is_interrupt("#  Interrupt\r")
    assert not is_interrupt("# interrupted")
    assert not is_interrupt("interrupt")


def test_streamed_replies() -> None:
    written: list[str] = []
    call = Call(Command("4", "x"), written.append)
    call.stream()
    call.stream("info a")
    call.finish("play D4")
    assert "".join(written) == "=4\ninfo a\nplay D4\n\n"

    written.clear()
    call = Call(Command(None, "x"), written.append)
    call.stream("info a")
    call.finish()
    assert "".join(written) == "=\ninfo a\n\n"
