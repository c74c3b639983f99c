"""Where a game begins, and which options a game takes that has begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gtp_engine.play.table import ANYTHING, FINISHED, PASSED, lines, moves, only_words, play, read, refused

PLAYER = ANYTHING[:-2]
TERMS = ("--size", "9", "--komi", "5.5", "--rules", "korean", "--colour", "black", "--handicap", "3")
MOVES = ";B[aa];W[bb];B[cc]"


def test_the_same_command_goes_on_with_the_game(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    play(*PLAYER, *TERMS, kept, text=lines("d4"))
    before = kept.read_bytes()
    shown = play(*PLAYER, *TERMS, kept)
    assert "9x9, Japanese rules, komi 5.5, 3 handicap stones; you are black, X" in shown
    assert kept.read_bytes() == before
    play(*PLAYER, "--size", "9x9", "--rules", "japanese", kept, text=lines("e5"))
    assert moves(kept)[:4][1::2] == ["B D4", "B E5"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--size", "7"), "a game on 9x9; leave --size out"),
        (("--set", "size=7"), "a game on 9x9; leave --size out"),
        (("--komi", "6.5"), "a game with komi 5.5; leave --komi out"),
        (("--rules", "aga"), "a game by Japanese rules; leave --rules out"),
        (("--colour", "white"), "a game in which you are black; leave --colour out"),
        (("--handicap", "2"), "a game with 3 handicap stones; leave --handicap out"),
        (("--from", "{folder}/other.sgf"), "a game that has begun; leave --from out"),
        (("--from", "{folder}/other.sgf", "--move", "1"), "a game that has begun; leave --from and --move out"),
    ],
)
def test_options_that_contradict_the_game(tmp_path: Path, options: tuple[str, ...], reason: str) -> None:
    kept, other = tmp_path / "game.sgf", tmp_path / "other.sgf"
    other.write_text(FINISHED)
    play(*PLAYER, *TERMS, kept, text=lines("d4"))
    before = kept.read_bytes()
    options = tuple(option.format(folder=tmp_path) for option in options)
    assert refused(*PLAYER, *options, kept) == f"{kept} is {reason} to go on with it, or name another file"
    assert kept.read_bytes() == before


def test_a_configuration_file_contradicts_nothing(tmp_path: Path) -> None:
    kept, config = tmp_path / "game.sgf", tmp_path / "config.toml"
    config.write_text('size = "13"\nkomi = 1.5\nrules = "japanese"\n')
    play(*ANYTHING, kept, text=lines("d4"))
    assert "7x7, chinese-ogs rules, komi 7.5" in play(*PLAYER, "--config", config, kept)


def test_a_game_without_a_move_begins_anew(tmp_path: Path) -> None:
    kept, source = tmp_path / "game.sgf", tmp_path / "source.sgf"
    play(*ANYTHING, kept)
    assert "9x9" in play(*PLAYER, "--size", "9", kept)
    source.write_text("(;SZ[5]" + MOVES + ")")
    play(*PLAYER, "--from", source, "--move", "2", kept)
    assert (read(kept).width, len(read(kept).moves)) == (5, 2)
    other = tmp_path / "other.sgf"
    play(*ANYTHING, other)
    play(*PLAYER, "--size", "9", "--handicap", "2", other)
    assert (read(other).width, read(other).handicap) == (9, 2)
    over = tmp_path / "over.sgf"
    play(*ANYTHING, over, text=lines("resign"))
    assert "leave --size out" in refused(*PLAYER, "--size", "9", over)


@pytest.mark.parametrize(
    "record",
    [
        FINISHED,
        f"(;SZ[7]{MOVES})",
        "(;SZ[7]PB[Person]PW[Nobi])",
        "(;FF[4]AP[Nobi]CA[UTF-8]GM[1]KM[7.5]PB[Person]PW[Nobi]RE[?]RU[chinese-ogs]SZ[7])\n",
        "(;FF[4]AP[Nobi]CA[UTF-8]GM[1]KM[7.5]PB[Person]PW[Somebody]RU[chinese-ogs]SZ[7])\n",
    ],
)
def test_files_that_were_not_kept_by_it_are_left_alone(tmp_path: Path, record: str) -> None:
    kept = tmp_path / "game.sgf"
    kept.write_text(record)
    for options in ((), ("--size", "9")):
        assert refused(*PLAYER, *options, kept).startswith(f"{kept}: not kept by `nobi play`; begin with it by --from")
    assert kept.read_text() == record


@pytest.mark.parametrize(
    ("record", "move", "colour"),
    [
        ("(;SZ[7]HA[2]AB[cc][ee];W[dd];B[ed])", "0", "black"),
        ("(;SZ[7]HA[2]AB[cc][ee];W[dd];B[ed])", "1", "black"),
        ("(;SZ[7]HA[2]AB[cc][ee];W[dd];B[ed])", "2", "white"),
        ("(;SZ[7];B[dd];W[ed])", "0", "black"),
        ("(;SZ[7];B[dd];W[ed])", "1", "white"),
        ("(;SZ[7]AB[cc]AW[dd]PL[W];W[ed])", "0", "white"),
    ],
)
def test_the_usual_colour_is_the_one_to_move(tmp_path: Path, record: str, move: str, colour: str) -> None:
    source = tmp_path / "source.sgf"
    source.write_text(record)
    assert f"; you are {colour}, " in play(*PLAYER, "--from", source, "--move", move)


def test_a_record_that_ended_is_counted(tmp_path: Path) -> None:
    source = tmp_path / "source.sgf"
    source.write_text(PASSED)
    shown = play(*PLAYER, "--from", source, "--rules", "tromp-taylor")
    assert only_words(shown)[2] == "white wins by 6.5 points"
    assert "you (" not in shown


def test_what_cannot_be_begun(tmp_path: Path) -> None:
    source, short = tmp_path / "source.sgf", tmp_path / "short.sgf"
    source.write_text(FINISHED)
    short.write_text("(;SZ[7];B[aa])")
    assert refused("--from", source, "--handicap", "3").startswith("--handicap is for a game that begins")
    assert refused("--from", source, "--size", "9").startswith("--size is for a game that begins")
    assert refused("--from", source, "--move", "1").endswith("the game has 0 moves, not 1")
    assert refused("--from", short, "--move", "2").endswith("the game has 1 move, not 2")
    assert refused("--move", "1") == "--move needs --from"
    assert refused(tmp_path / "game.txt").endswith("the game must be kept in a file .sgf")
    assert "has no fixed handicap" in refused(*PLAYER, "--size", "5", "--handicap", "3")
    assert "No such file" in refused(*ANYTHING, tmp_path / "none" / "game.sgf")
    assert "No such file" in refused("--net", tmp_path / "none.bin.gz")
