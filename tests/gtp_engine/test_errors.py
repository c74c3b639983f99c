"""Errors and notes whose text is a stranger's."""

from __future__ import annotations

import pytest

from gtp_engine.errors import UserError, explain
from nobi_machine.streams import note
from tests.nobi_machine.test_text import NASTY


def test_a_lack_of_threads_or_memory_is_no_internal_error() -> None:
    assert explain(MemoryError("an array of numpy's")) == "out of memory"
    assert explain(RuntimeError("can't start new thread")).startswith("the system gives this process no more threads")
    assert explain(RuntimeError("a bug")) == "internal error: RuntimeError: a bug (NOBI_DEBUG=1 shows where)"
    assert explain(RuntimeError("a bug"), hint="") == "internal error: RuntimeError: a bug"


def test_where_an_internal_error_arose_is_shown_where_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    explain(RuntimeError("a bug"))
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("NOBI_DEBUG", "1")
    try:
        raise RuntimeError("a bug")
    except RuntimeError as error:
        explain(error)
    explain(UserError("no bug"))
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert 'raise RuntimeError("a bug")\nRuntimeError: a bug' in err.replace("    ", "")
    assert "no bug" not in err


def test_notes_and_errors_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"cannot read {NASTY}")
    err = capsys.readouterr().err
    assert err.startswith(r"nobi: cannot read \x1b[31mred")
    assert err.removesuffix("\n").isprintable()
    assert explain(UserError(NASTY)).isprintable()
    assert explain(ValueError(NASTY)).isprintable()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("exceptions.sgf: No such file or directory", "exceptions.sgf: No such file or directory"),
        ("/home/exception/a: broken", "/home/exception/a: broken"),
        ("C:\\Exception\\a: broken", "C:\\Exception\\a: broken"),
        ("a->b.sgf: broken", "a->b.sgf: broken"),
        # Ogatak shows a window for `exception`, and Lizzie stumbles over an arrow between spaces.
        ("internal error: std::exception: an exception.", "internal error: std::error: an error."),
        ("internal error: Exception: x", "internal error: Error: x"),
        ("from a -> -> b", "from a to to b"),
        ("from a\t->\nb", "from a to b"),
        ("from a → b", "from a to b"),  # which a narrow stderr would show as the arrow of before
    ],
)
def test_names_of_files_stay_and_words_that_alarm_guis_do_not(
    text: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    note(text)
    assert capsys.readouterr().err == f"nobi: {line}\n"
