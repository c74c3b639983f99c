"""Errors and notes whose text is a stranger's."""

from __future__ import annotations

import pytest

from gtp_engine.errors import UserError, explain
from gtp_engine.stderr import note
from tests.go_rules.machine.test_printable import NASTY


def test_a_lack_of_threads_or_memory_is_no_internal_error() -> None:
    assert explain(MemoryError("an array of numpy's")) == "out of memory"
    assert explain(RuntimeError("can't start new thread")).startswith("the system gives this process no more threads")
    assert explain(RuntimeError("a bug")) == "internal error: RuntimeError: a bug (NOBI_DEBUG=1 shows where)"
    assert explain(RuntimeError("a bug"), hint="") == "internal error: RuntimeError: a bug"


def test_notes_and_errors_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"cannot read {NASTY}")
    err = capsys.readouterr().err
    assert err.startswith(r"nobi: cannot read \x1b[31mred")
    assert err.removesuffix("\n").isprintable()
    assert explain(UserError(NASTY)).isprintable()
    assert explain(ValueError(NASTY)).isprintable()
