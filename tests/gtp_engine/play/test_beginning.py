"""Where a game begins, and which files it goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gtp_engine.play.table import ANYTHING, FINISHED, lines, moves, play, read, refused

PLAYER = ANYTHING[:-2]
TERMS = ("--size", "9", "--komi", "5.5", "--rules", "korean", "--colour", "black", "--handicap", "3")


def test_the_same_command_goes_on_with_the_game(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "game.sgf"
    play(*PLAYER, *TERMS, kept, text=lines("d4"))
    before = kept.read_bytes()
    for options in (TERMS, ("--set", "size=7", "--colour", "white"), ()):
        shown = play(*PLAYER, *options, kept)
        assert "9x9, Japanese rules, komi 5.5, 3 handicap stones; you are black, X" in shown
        assert ("goes on as it began: --size" in shown) == bool(options)
    assert kept.read_bytes() == before
    play(*PLAYER, kept, text=lines("e5"))
    assert moves(kept)[:4][1::2] == ["B D4", "B E5"]


def test_a_configuration_file_says_nothing_of_a_game_that_goes_on(tmp_path: Path) -> None:
    kept, config = tmp_path / "game.sgf", tmp_path / "config.toml"
    config.write_text('size = "13"\nkomi = 1.5\nrules = "japanese"\n')
    play(*ANYTHING, kept, text=lines("d4"))
    shown = play(*PLAYER, "--config", config, kept)
    assert "7x7, chinese-ogs rules, komi 7.5" in shown
    assert "goes on as it began" not in shown


@pytest.mark.parametrize(
    "record",
    [
        FINISHED,
        "(;SZ[7];B[aa];W[bb];B[cc])",
        "(;SZ[7]PB[Person]PW[Nobi])",
        "(;FF[4]AP[Nobi]CA[UTF-8]GM[1]KM[7.5]PB[Person]PW[Nobi]RE[?]RU[chinese-ogs]SZ[7])\n",
        "(;FF[4]AP[Nobi]CA[UTF-8]GM[1]KM[7.5]PB[Person]PW[Somebody]RU[chinese-ogs]SZ[7])\n",
    ],
)
def test_files_that_were_not_kept_by_it_are_left_alone(tmp_path: Path, record: str) -> None:
    kept = tmp_path / "game.sgf"
    kept.write_text(record)
    assert refused(*PLAYER, kept).startswith(f"{kept}: not kept by `nobi play`")
    assert kept.read_text() == record


def test_what_cannot_be_begun(tmp_path: Path) -> None:
    assert refused(tmp_path / "game.txt").endswith("the game must be kept in a file .sgf")
    assert "has no fixed handicap" in refused(*PLAYER, "--size", "5", "--handicap", "3")
    assert "No such file" in refused(*ANYTHING, tmp_path / "none" / "game.sgf")
    assert "No such file" in refused("--net", tmp_path / "none.bin.gz")
    kept = tmp_path / "game.sgf"
    assert play(*ANYTHING, "--komi", "3", "--handicap", "2", kept)
    assert (read(kept).komi, read(kept).handicap) == (3, 2)
