"""The log of the dialogue is text, whatever the controller sends."""

from __future__ import annotations

from pathlib import Path

from gtp_engine.session.log import DialogueLog


def test_control_characters_are_written_out(tmp_path: Path) -> None:
    """An opponent's chat comes through a bridge, and the log is read in a terminal."""
    path = tmp_path / "nobi.log"
    log = DialogueLog(path)
    log.received("kgs-chat game stranger \x1b]0;owned\x07 \x9b2J \u202e\u00e9")
    log.sent("=   A B\n 2 . X\n\n")
    chat, columns, row = (line[11:] for line in path.read_text(encoding="utf-8").splitlines())
    assert chat == "<< kgs-chat game stranger \\x1b]0;owned\\x07 \\x9b2J \\u202e\u00e9"
    assert (columns, row) == (">> =   A B", ">>  2 . X")
    assert path.read_text(encoding="utf-8").replace("\n", "").isprintable()
