"""Foreign text on the user's terminal."""

from __future__ import annotations

import pytest

from gtp_engine.errors import UserError, explain
from gtp_engine.printable import printable
from gtp_engine.stderr import note

NASTY = "\x1b[31mred\x1b]0;title\x07 \x9b2J\x7f\u202egnp\u2028\r\b\0\ud800"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("KataGo 1.17 – 囲碁", "KataGo 1.17 – 囲碁"),
        (" two \n\t lines\r\n", "two lines"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("\x9b1m\x7f\0", r"\x9b1m\x7f\x00"),
        ("a\u202egnp.exe\u2066\u200b\ufeff", r"a\u202egnp.exe\u2066\u200b\ufeff"),
        ("\ud800", r"\ud800"),
        ("x" * 20, "xxxxxxx..."),
        ("\n" * 1000 + "x", "..."),
        ("", ""),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text, 10 if text[:1] in "x\n" and text else 300) == shown


def test_printable_text_stays_as_it_is() -> None:
    once = printable(NASTY)
    assert once.isprintable()
    assert printable(once) == once


def test_notes_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"cannot read {NASTY}")
    err = capsys.readouterr().err
    assert err.startswith(r"nobi: cannot read \x1b[31mred")
    assert err.removesuffix("\n").isprintable()
    assert explain(UserError(NASTY)).isprintable()
    assert explain(ValueError(NASTY)).isprintable()
