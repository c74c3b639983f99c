"""Errors and notes whose text is a stranger's."""

from __future__ import annotations

import pytest

from gtp_engine.errors import UserError, explain
from gtp_engine.stderr import note
from tests.go_rules.machine.test_printable import NASTY


def test_notes_and_errors_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"cannot read {NASTY}")
    err = capsys.readouterr().err
    assert err.startswith(r"nobi: cannot read \x1b[31mred")
    assert err.removesuffix("\n").isprintable()
    assert explain(UserError(NASTY)).isprintable()
    assert explain(ValueError(NASTY)).isprintable()
