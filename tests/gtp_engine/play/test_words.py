"""What a person may type for a move, and how a game is told."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from gtp_engine.errors import UserError
from gtp_engine.play.words import command_of, lead_text, number_of, point_of, result_text


@pytest.mark.parametrize(
    "line", ["D4", "d4", "d 4", "B D4", "b d4", "b d 4", "black D4", "Black d4", "play D4", "PLAY black d4", "d04"]
)
def test_a_move_may_be_said_in_many_ways(line: str) -> None:
    assert point_of(line, Game(7, 7), BLACK) == from_vertex("D4", 7, 7)


def test_the_column_b_is_no_colour() -> None:
    assert point_of("b 4", Game(7, 7), WHITE) == from_vertex("B4", 7, 7)
    assert point_of("w 4", Game(25, 25), BLACK) == from_vertex("W4", 25, 25)
    assert point_of("b pass", Game(7, 7), BLACK) == PASS


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("I5", "there is no column I: J follows H"),
        ("i 5", "there is no column I: J follows H"),
        ("J5", "J5 is not on this board"),
        ("a0", "A0 is not on this board"),
        ("d 444", "D444 is not on this board"),
        ("D" + "4" * 5000, "D4444444444444444... is not on this board"),
        ("W D4", "you are black"),
        ("play white pass", "you are black"),
        ("D4 E5", "D4 E5 is neither a move nor a command; help lists them"),
        ("pass x", "pass x is neither a move nor a command; help lists them"),
        ("pa ss", "pa ss is neither a move nor a command; help lists them"),
        ("play", "play is neither a move nor a command; help lists them"),
        ("\N{KELVIN SIGN}4", "\N{KELVIN SIGN}4 is neither a move nor a command; help lists them"),
        ("d\N{SUPERSCRIPT TWO}", "d\N{SUPERSCRIPT TWO} is neither a move nor a command; help lists them"),
        ("\x1b[2J", "\\x1b[2J is neither a move nor a command; help lists them"),
    ],
)
def test_what_is_no_move_here(line: str, answer: str) -> None:
    with pytest.raises(UserError) as found:
        point_of(line, Game(7, 7), BLACK)
    assert str(found.value) == answer


def test_commands_have_several_names() -> None:
    assert [command_of(line)[0] for line in ("q", "Exit", "QUIT", "?", "Help")] == ["quit"] * 3 + ["help"] * 2
    assert command_of("Save\t my game.sgf ") == ("save", "my game.sgf")


def test_numbers_of_moves() -> None:
    assert [number_of(text) for text in ("", "1", "12")] == [1, 1, 12]
    for text in ("0", "-1", "x", "1.5", "9" * 100):
        with pytest.raises(UserError, match="undo 2"):
            number_of(text)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("B+R", "you win by resignation"),
        ("W+R", "Nobi wins by resignation"),
        ("W+2.5", "white wins by 2.5 points"),
        ("B+1", "black wins by 1 point"),
        ("0", "a draw"),
        ("Void", "no result: the board was the same three times"),
    ],
)
def test_results_are_told_in_words(result: str, text: str) -> None:
    assert result_text(result, BLACK) == text


def test_leads_are_told_in_words() -> None:
    assert lead_text(-2.54) == "black is 2.5 points ahead"
    assert lead_text(7.0) == "white is 7.0 points ahead"
    assert lead_text(-0.04) == "nobody is ahead"
