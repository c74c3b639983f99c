"""What a person may type for a move."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from gtp_engine.errors import UserError
from gtp_engine.play.words import point_of


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
