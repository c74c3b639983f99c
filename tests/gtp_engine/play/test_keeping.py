"""The files that have a game: what is written over, what is not, and what is said of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gtp_engine.session.records import GameFiles
from tests.gtp_engine.play.table import ANYTHING, converse, lines, moves, play, refused

needs_links = pytest.mark.skipif(os.name == "nt", reason="links and permissions are POSIX's")


def test_a_file_that_cannot_be_written_does_not_end_the_game(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder, moved = tmp_path / "games", tmp_path / "moved"
    folder.mkdir()
    kept, target = folder / "game.sgf", tmp_path / "elsewhere.sgf"
    shown = converse(
        monkeypatch,
        *("d4", lambda: folder.rename(moved), "d5", f"save {target}", lambda: moved.rename(folder), "d6"),
        files=GameFiles(kept),
    )
    assert shown.count("not kept: ") == 2  # the person's move and the answer
    assert f"not kept: {kept}: No such file or directory; the next move tries again, and save FILE.sgf" in shown
    assert moves(target)[::2] == ["B D4", "B D5"]
    assert moves(kept)[::2] == ["B D4", "B D5", "B D6"]
    assert "does not have the last moves" not in shown


def test_a_file_that_somebody_else_changed_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = converse(monkeypatch, "d4", lambda: kept.write_text("theirs"), "d5", "quit", files=GameFiles(kept))
    assert f"not kept: {kept}: another program has changed this file" in shown
    assert kept.read_text() == "theirs"
    assert shown.endswith(f"{kept} does not have the last moves\n")


def test_a_file_that_is_gone_is_not_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = converse(monkeypatch, "d4", kept.unlink, "d5", "quit", files=GameFiles(kept))
    assert "No such file" in shown
    assert not kept.exists()
    shown = converse(monkeypatch, "d4", kept.unlink, f"save {kept}", "d5", files=GameFiles(kept))
    assert "not kept" not in shown
    assert moves(kept)[::2] == ["B D4", "B D5"]


def test_two_sessions_on_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    play(*ANYTHING, kept, text=lines("d4"))
    first = kept.read_bytes()
    play(*ANYTHING, kept, text=lines("undo", "e5"))
    theirs = kept.read_bytes()
    shown = converse(monkeypatch, "c3", files=GameFiles(kept, first))
    assert "another program has changed this file" in shown
    assert kept.read_bytes() == theirs


@needs_links
def test_a_link_stays_and_the_file_keeps_its_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "target.sgf", tmp_path / "link.sgf"
    link.symlink_to(target.name)
    play(*ANYTHING, link, text=lines("d4"))
    assert link.is_symlink()
    assert moves(target)[0] == "B D4"
    target.chmod(0o640)
    play(*ANYTHING, link, text=lines("undo", "e5"))
    assert link.is_symlink()
    assert moves(target)[0] == "B E5"
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_a_protected_file_is_refused_at_the_start(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    play(*ANYTHING, kept, text=lines("d4"))
    kept.chmod(0o444)
    try:
        assert refused(*ANYTHING, kept) == f"{kept}: not writable, so the game cannot be kept there"
    finally:
        kept.chmod(0o644)


def test_save_writes_new_files_and_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target, other, foreign = tmp_path / "saved game.sgf", tmp_path / "other.txt", tmp_path / "foreign.sgf"
    foreign.write_text("theirs")
    steps = (f"save {target}", "d4", f"save {target}", f"save {other}", "save", f"save {foreign}", "save a\0.sgf")
    shown = converse(monkeypatch, *steps, f"save {tmp_path}/none/game.sgf", "save ~\0/x.sgf")
    assert shown.count(f"written to {target}\n") == 2
    assert moves(target)[0] == "B D4"
    assert f"{foreign}: File exists" in shown
    assert foreign.read_text() == "theirs"
    assert shown.count("save needs the name of a file .sgf") == 4
    assert "No such file" in shown
    assert not other.exists()


def test_save_does_not_write_over_a_saved_file_that_was_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = tmp_path / "saved.sgf"
    steps = (f"save {target}", lambda: target.write_text("theirs"), "d4", f"save {target}")
    assert "another program has changed this file" in converse(monkeypatch, *steps)
    assert target.read_text() == "theirs"
