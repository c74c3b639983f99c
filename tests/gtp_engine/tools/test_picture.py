"""`nobi picture`: which position it draws, and one line for what cannot be drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from gtp_engine import command_line
from tests.gtp_engine.test_drawing import candidates, texts
from tests.systems import native

RECORD = "(;SZ[9]KM[7]PB[Ann & <Bob>]PW[Carl];B[ee];W[gc];B[cg];W[gg])"


@pytest.mark.parametrize(("arguments", "stones"), [((), 4), (("--move", "2"), 2), (("--move", "0"), 0)])
def test_a_position_of_a_record(tmp_path: Path, arguments: tuple[str, ...], stones: int) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.svg"
    record.write_text(RECORD)
    assert (
        command_line.run(["picture", str(target), str(record), "--visits", "8", "--set", "workers=1", *arguments]) == 0
    )
    picture = ElementTree.fromstring(target.read_bytes())
    assert texts(picture)[:2] == ["Ann & <Bob> – Carl", f"move {stones}"]
    assert candidates(picture)
    assert f"after {8} visits" in " ".join(texts(picture))


def test_what_a_record_says_in_unknown_words_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9]KM[much]RU[Foo];B[ee])")
    assert (
        command_line.run(["picture", str(tmp_path / "out.SVG"), str(record), "--visits", "2", "--set", "workers=1"])
        == 0
    )
    said = "KM[much] and RU[Foo] not understood: chinese-ogs rules, komi 7.5"
    assert capsys.readouterr().err == f"nobi: {record}: {said}\n"


def test_what_is_asked_for_goes_before_the_record(tmp_path: Path) -> None:
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[9]KM[0.5]RU[Japanese];B[ee])")
    drawn = []
    for arguments in ((), ("--komi", "100"), ("--komi", "0.5", "--rules", "japanese", "--size", "9")):
        command = ["picture", str(tmp_path / "out.svg"), str(record), "--visits", "8", "--set", "workers=1"]
        assert command_line.run([*command, "--set", "seed=1", *arguments]) == 0
        drawn.append((tmp_path / "out.svg").read_bytes())
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.png"], "out.png: the picture must be a file .svg in a folder that exists"),
        (["nowhere/out.svg"], "nowhere/out.svg: the picture must be a file .svg in a folder that exists"),
        (["out.svg", "missing.sgf"], "missing.sgf: No such file or directory"),
        (["out.svg", "broken.sgf"], "broken.sgf: no SGF game found"),
        (["out.svg", "illegal.sgf"], "illegal.sgf: the position set up is impossible: no liberties"),
        (["out.svg", "game.sgf", "--size", "13"], "game.sgf: the board is 9x9"),
        (["out.svg", "game.sgf", "--move", "5"], "game.sgf: the game has 4 moves, not 5"),
        (["out.svg", "short.sgf", "--move", "5"], "short.sgf: the game has 1 move, not 5"),
        (["out.svg", "--move", "5"], "--move needs GAME.sgf"),
        (["out.svg", "--net", "missing.bin.gz"], "missing.bin.gz: No such file or directory"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.sgf").write_text(RECORD)
    (tmp_path / "short.sgf").write_text("(;SZ[9];B[ee])")
    (tmp_path / "broken.sgf").write_text("hello")
    (tmp_path / "illegal.sgf").write_text("(;SZ[9]AW[aa]AB[ba][ab];B[ee])")
    assert command_line.run(["picture", *arguments]) == 1
    assert capsys.readouterr() == ("", f"nobi: {native(message)}\n")
    assert not (tmp_path / "out.svg").exists()
