"""Foreign text on the user's terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from nobi_machine.text import LONGEST_SHOWN, printable, printable_path, shown

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
