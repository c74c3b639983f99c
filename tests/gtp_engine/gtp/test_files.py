"""Files of a session: `loadsgf` and `printsgf`, what they refuse, and what a failure leaves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from go_rules.points import PASS
from gtp_engine.gtp.protocol import decode_line
from tests.gtp_engine.fakes import Dialogue
from tests.systems import needs_fifos

GAME = "(;GM[1]FF[4]SZ[9]KM[5.5]RU[Japanese];B[ee];W[cc];B[gg];W[tt])"


def test_loadsgf(tmp_path: Path) -> None:
    path = tmp_path / "a game.sgf"
    path.write_text(GAME)
    dialogue = Dialogue()
    dialogue.ask("boardsize 19", f"loadsgf {path}")
    game = dialogue.session.game
    assert (game.width, [move.point for move in game.moves][-1]) == (9, PASS)
    assert dialogue.ask("get_komi") == "5.5"
    assert '"scoring":"TERRITORY"' in dialogue.ask("kata-get-rules")
    dialogue.ask(f"loadsgf {path} 2")
    assert len(dialogue.session.game.moves) == 1
    dialogue.ask(f"loadsgf {path} 1")
    assert dialogue.session.game.moves == []
    assert dialogue.ask("showboard").startswith("Moves: 0")


def test_loadsgf_says_what_it_does_not_understand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, dialogue = tmp_path / "game.sgf", Dialogue()
    path.write_text(GAME)
    dialogue.ask(f"loadsgf {path}")
    assert capsys.readouterr().err == ""
    path.write_text("(;SZ[9]KM[much]RU[Foo];B[ee])")
    dialogue.ask(f"loadsgf {path}")
    said = "KM[much] and RU[Foo] not understood: Japanese rules, komi 5.5"
    assert capsys.readouterr().err == f"nobi: {path}: {said}\n"
    assert dialogue.ask("get_komi") == "5.5"


def test_loadsgf_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.sgf").write_text("(;SZ[9];B[ee]")
    (tmp_path / "illegal.sgf").write_text("(;SZ[9]AW[aa]AB[ba][ab];B[ee])")
    (tmp_path / "empty.sgf").write_text("")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo.sgf")
    dialogue = Dialogue()
    dialogue.ask("play b e5")
    names = ["broken.sgf", "illegal.sgf", "empty.sgf", "fifo.sgf", "missing.sgf", ""]
    for name in names:
        assert dialogue.refuse(f"loadsgf {tmp_path / name}") == "cannot load file"
    assert dialogue.refuse("loadsgf /dev/zero") == "cannot load file"
    assert dialogue.refuse("loadsgf") == "syntax error"
    assert len(dialogue.session.game.moves) == 1
    for line in capsys.readouterr().err.splitlines():
        assert line.startswith("nobi: ")


def test_printsgf(tmp_path: Path) -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-play_sequence b e5 w c3 b pass")
    text = dialogue.ask("printsgf")
    assert text.startswith("(;FF[4]")
    path = tmp_path / "out.sgf"
    dialogue.ask(f"printsgf {path}")
    other = Dialogue()
    other.ask(f"loadsgf {path}")
    assert other.session.game.moves == dialogue.session.game.moves
    # Nothing is overwritten by accident.
    assert "cannot write" in dialogue.refuse(f"printsgf {path}")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are text there")
def test_files_whose_names_are_not_utf8(tmp_path: Path) -> None:
    dialogue, path = Dialogue(), os.fsencode(tmp_path) + b"/jos\xe9 \xff.sgf"
    dialogue.ask("komi 3.5", decode_line(b"printsgf " + path), "komi 9", decode_line(b"loadsgf " + path + b" 1"))
    assert dialogue.ask("get_komi") == "3.5"
    assert os.path.exists(path)
    text = dialogue.refuse(decode_line(b"printsgf " + path))
    assert text == rf"cannot write {tmp_path}/jos\udce9 \udcff.sgf: File exists"


@needs_fifos
def test_a_printsgf_that_fails_leaves_nothing(tmp_path: Path) -> None:
    dialogue = Dialogue()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("fifo", "", "link", "no/folder", "a" * 300):
        assert dialogue.refuse(f"printsgf {tmp_path}/{name}").startswith(f"cannot write {tmp_path}")
    assert dialogue.refuse("printsgf /dev/null") == "cannot write /dev/null: File exists"
    dialogue.ask("boardsize 25")
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # as if the disk were full
    try:
        assert "File too large" in dialogue.refuse(f"printsgf {tmp_path}/full.sgf")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fifo", "link"]
