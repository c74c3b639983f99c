"""Text from strangers: what numbers and JSON are read, and fast; what is shown of it; and the words of a command."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nobi_machine import text as module
from nobi_machine.text import (
    LONGEST_SHOWN,
    RepeatedName,
    parse_integer,
    parse_json,
    parse_number,
    printable,
    printable_path,
    shown,
    split_command,
)

NO_NUMBERS = [
    *("", " ", "1 ", " 1", "\n1", "1\0", "1\n", "1_0", "１２", "٣", "²", "x", "+", "-", "--1", "+-1", "0x10", "1,5"),
    *("nan", "NaN", "inf", "-Infinity", "1e", "e5", ".", "1.2.3", "1e5.5"),
]
HUGE = ["1" * 400, "-" + "9" * 5_000, "1" * 5_000_000, "0" * 5_000_000]
DEEP = ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000]


@pytest.mark.parametrize("text", [*NO_NUMBERS, *HUGE, "1.0", "1e3", "1" * 19], ids=lambda text: text[:12])
def test_no_whole_numbers(text):
    with pytest.raises(ValueError, match=r"^a whole number$"):
        parse_integer(text)


@pytest.mark.parametrize(
    "text", [*NO_NUMBERS, *HUGE[1:], "1e309", "-1e9999", "1e10000", "1" * 310, "1" * 400], ids=lambda text: text[:12]
)
def test_no_numbers(text):
    with pytest.raises(ValueError, match=r"^a number$"):
        parse_number(text)


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_whole_numbers(number):
    assert parse_integer(str(number)) == number
    assert parse_integer(f"{number:+d}") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers(number):
    assert parse_number(repr(number)) == number
    assert parse_number(f"{number:.17g}") == number


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("+7.", 7), (".5", 0.5), ("1E2", 100), ("-0", 0), ("1e-9999", 0)]
)
def test_ways_to_write_a_number(text, number):
    assert parse_number(text) == number


def test_json_is_what_json_says():
    text = '{"a": [1, -2.5, true, null, "x"], "b": {"c": 1e3}}'
    assert parse_json(text) == json.loads(text)


def test_whole_numbers_beyond_64_bits_are_floats():
    assert parse_json('{"t": 1732723456789012345, "s": -7}') == {"t": 1.732723456789012345e18, "s": -7}
    assert isinstance(parse_json("1" + "0" * 18), float)


def test_a_name_that_occurs_twice():
    with pytest.raises(RepeatedName, match=r"^b occurs twice in an object$") as error:
        parse_json('{"id": "x", "a": {"b": 1, "c": 2, "b": 3}}')
    assert error.value.value == {"id": "x", "a": {"b": 3, "c": 2}}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{'a':1}", "[1,]", "NaN", "[Infinity]", "[-Infinity]", "[1e999]"),
        *(f"[{number}]" for number in (*HUGE, "1" * 401, "1." + "1" * 5000)),
        *DEEP,
    ],
    ids=lambda text: text[:12],
)
def test_no_json(text):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"^JSON$"):
        parse_json(text)
    assert time.process_time() - started < 5


# --- What is shown -------------------------------------------------------------------------------------------------

NASTY = "\x1b[31mred\x1b]0;title\x07 \x9b2J\x7f\u202egnp\u2028\r\b\0\ud800"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("KataGo 1.17 – 囲碁", "KataGo 1.17 – 囲碁"),
        (" two \n\t lines\r\n", "two lines"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("\x9b1m\x7f\0", r"\x9b1m\x7f\x00"),
        ("a\u202egnp.exe\u2066\u200b\ufeff", r"a\u202egnp.exe\u2066\u200b\ufeff"),
        ("\ud800", r"\ud800"),
        ("x" * 20, "xxxxxxx..."),
        ("x" * 10, "xxxxxxxxxx"),
        ("\n" * 1000 + "x", "..."),
        ("", ""),
    ],
)
def test_printable(text: str, line: str) -> None:
    assert printable(text, 10 if text[:1] in "x\n" and text else 300) == line


def test_printable_text_stays_as_it_is() -> None:
    once = printable(NASTY)
    assert once.isprintable()
    assert printable(once) == once


def deep(levels: int) -> list[object]:
    out: list[object] = []
    for _ in range(levels):
        out = [out]
    return out


@pytest.mark.parametrize(
    "value", ["x" * 10_000, NASTY, 10**10_000, deep(100_000), None, float("nan"), list(range(1000))], ids=type
)
def test_what_is_shown_is_one_short_line(value: object) -> None:
    text = shown(value)
    assert text.isprintable()
    assert 0 < len(text) <= LONGEST_SHOWN


def test_what_is_shown_is_what_was_written() -> None:
    assert shown(7.5) == "7.5"
    assert shown("") == "''"
    assert shown(" 1\n") == r" 1\n"
    assert shown("x" * LONGEST_SHOWN) == "x" * LONGEST_SHOWN
    assert shown("x" * (LONGEST_SHOWN + 1)).endswith("xx...")


def test_a_path_is_shown_whole() -> None:
    assert printable_path(Path("two  spaces" + "x" * 1000)) == "two  spaces" + "x" * 1000
    assert printable_path("a\nb\udcff") == r"a\nb\udcff"


# --- The words of a command ---------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=8), max_size=5))
def test_it_splits_what_was_joined(arguments: list[str]) -> None:
    assert split_command(shlex.join(arguments)) == arguments


@pytest.mark.parametrize("escape", ["", "\\"])
def test_quotations(escape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ESCAPE", escape)
    assert split_command("gnugo  --mode gtp '--comment=#1'") == ["gnugo", "--mode", "gtp", "--comment=#1"]
    assert split_command('"my engine" -c "" x#y') == ["my engine", "-c", "", "x#y"]
    with pytest.raises(ValueError, match="No closing quotation"):
        split_command('"my engine')


def test_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ESCAPE", "")
    command = r'C:\go\katago.exe gtp "C:\my files\x.cfg"'
    assert split_command(command) == [r"C:\go\katago.exe", "gtp", r"C:\my files\x.cfg"]
    monkeypatch.setattr(module, "ESCAPE", "\\")
    assert split_command(r"my\ engine gtp") == ["my engine", "gtp"]
