"""`nobi play`: whole games by a pipe, with the player that everybody gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.play.words import board_text, game_record
from nobi_machine.terminal import LONGEST_ANSWER
from tests.gtp_engine.play.table import ANYTHING, FINISHED, QUICK, game_of, lines, moves, play, read

WHITE_WINS = "white wins by 3.5 points"


def test_the_board_is_drawn_with_names_handicap_points_and_the_last_move() -> None:
    game = Game(9, 7)
    for colour, vertex in ((BLACK, "A1"), (WHITE, "B1"), (BLACK, "J7")):
        game.play(colour, from_vertex(vertex, 9, 7))
    assert board_text(game, dead=(from_vertex("A1", 9, 7),)).plain.splitlines() == [
        "    A B C D E F G H J",
        " 7  . . . . . . . .(X) 7",
        " 6  . . . . . . . . .  6",
        " 5  . . + . . . + . .  5",
        " 4  . . . . . . . . .  4",
        " 3  . . + . . . + . .  3",
        " 2  . . . . . . . . .  2",
        " 1  x O . . . . . . .  1",
        "    A B C D E F G H J",
    ]


def test_a_person_and_nobi_play_in_turns(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    shown = play(*QUICK, "--size", "9", kept, text=lines("E5", "c3"))
    assert shown.startswith("for stronger play: nobi networks ")
    assert "Nobi is the player nobi with the network nobi-" in shown
    assert ", at most 50 visits a move; " in shown
    assert shown.count("Nobi (white, O): ") == 2
    assert [move[0] for move in moves(kept)] == ["B", "W", "B", "W"]
    assert moves(kept)[0::2] == ["B E5", "B C3"]
    assert (read(kept).black, read(kept).white, read(kept).result) == ("Person", "Nobi", "")


def test_nobi_begins_against_white_and_with_handicap(tmp_path: Path) -> None:
    assert "captured by black: 0, by white: 0\nNobi (black, X): " in play(*ANYTHING, "--colour", "white")
    kept = tmp_path / "game.sgf"
    assert "Nobi (white, O): " in play(*QUICK, "--size", "9", "--handicap", "4", kept)
    assert (read(kept).handicap, read(kept).komi) == (4, 0.5)


def test_a_finished_game_is_counted_and_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "game.sgf"
    kept.write_bytes(game_record(game_of(FINISHED), BLACK, "", 7.5))
    shown = play(*QUICK, kept, text=lines("C3", "", "undo", "pass", "undo", "pass", "score", "quit"))
    assert "C3 is not allowed: occupied" in shown
    assert "there is no move of yours to take back" in shown
    assert shown.count(WHITE_WINS) == 3
    assert shown.count(" 5  . o X O .  5") == 3
    assert shown.count("\nthe game is over (undo, save FILE.sgf, quit): ") >= 1
    assert read(kept).result == "W+3.5"
    content = kept.read_bytes()
    shown = play(*QUICK, kept)
    assert WHITE_WINS in shown
    assert " 5  . o X O .  5" in shown
    assert shown.splitlines()[-1].startswith("the game is over")
    assert kept.read_bytes() == content


def test_hint_and_score() -> None:
    shown = play(*QUICK, "--size", "9", text=lines("HINT", "score", "Board", "?"))
    assert shown.count(" points ") >= 3
    assert " ahead" in shown
    assert shown.count("captured by black: 0, by white: 0") == 2
    assert "save FILE.sgf" in shown


@pytest.mark.parametrize("text", [b"\xff\xfe\x00\n", b"\x1b[2J\n", b"A" * LONGEST_ANSWER + b"\n", "②\n".encode()])
def test_whatever_is_typed_gets_a_line(text: bytes) -> None:
    shown = play(*ANYTHING, text=text)
    assert "is neither a command nor a point of this board" in shown
    assert "\x1b" not in shown
    assert "\x00" not in shown


@pytest.mark.parametrize("length", [LONGEST_ANSWER + 1, LONGEST_ANSWER + 7, 2 * LONGEST_ANSWER, 3 * LONGEST_ANSWER])
def test_of_a_line_that_is_too_long_nothing_is_obeyed(length: int) -> None:
    """Neither its beginning nor its end, which would be lines of their own if it were cut."""
    text = b"save ".ljust(length - 6, b" ") + b"resign"
    shown = play(*ANYTHING, text=text + b"\nboard\n")
    assert shown.count("that line is too long: 4096 bytes at most") == 1
    assert "resignation" not in shown
    assert "save needs" not in shown
    assert shown.count("captured by black") == 2
