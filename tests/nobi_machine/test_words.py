"""The words of a command line, on systems with slashes and on those with backslashes."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nobi_machine import text
from nobi_machine.text import split_command


@given(st.lists(st.text(max_size=8), max_size=5))
def test_it_splits_what_was_joined(arguments: list[str]) -> None:
    assert split_command(shlex.join(arguments)) == arguments


@pytest.mark.parametrize("escape", ["", "\\"])
def test_quotations(escape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "ESCAPE", escape)
    assert split_command("gnugo  --mode gtp '--comment=#1'") == ["gnugo", "--mode", "gtp", "--comment=#1"]
    assert split_command('"my engine" -c "" x#y') == ["my engine", "-c", "", "x#y"]
    with pytest.raises(ValueError, match="No closing quotation"):
        split_command('"my engine')


def test_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "ESCAPE", "")
    command = r'C:\go\katago.exe gtp "C:\my files\x.cfg"'
    assert split_command(command) == [r"C:\go\katago.exe", "gtp", r"C:\my files\x.cfg"]
    monkeypatch.setattr(text, "ESCAPE", "\\")
    assert split_command(r"my\ engine gtp") == ["my engine", "gtp"]
