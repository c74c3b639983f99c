"""What a person may type for a move."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import PASS, from_vertex
from gtp_engine.errors import UserError
from gtp_engine.play.words import point_of

NEITHER = "is neither a command nor a point of this board; help lists what can be said"


@pytest.mark.parametrize("line", ["D4", "d4", "d 4", "D  4", "d04"])
def test_a_move_may_be_said_in_several_ways(line: str) -> None:
    assert point_of(line, Game(7, 7)) == from_vertex("D4", 7, 7)
    assert point_of("Pass", Game(7, 7)) == PASS


@pytest.mark.parametrize("line", ["I5", "i 5"])
def test_there_is_no_column_i(line: str) -> None:
    with pytest.raises(UserError, match="no column I: J follows H"):
        point_of(line, Game(7, 7))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("J5", "J5"),
        ("a0", "a0"),
        ("D" + "4" * 5000, "D4444444444444444..."),
        ("D4 E5", "D4 E5"),
        ("pa ss", "pa ss"),
        ("p ass", "p ass"),
        ("\N{KELVIN SIGN}4", "\N{KELVIN SIGN}4"),
        ("d\N{SUPERSCRIPT TWO}", "d\N{SUPERSCRIPT TWO}"),
        ("\x1b[2J", "\\x1b[2J"),
    ],
)
def test_what_is_no_move_here(line: str, shown: str) -> None:
    with pytest.raises(UserError) as found:
        point_of(line, Game(7, 7))
    assert str(found.value) == f"{shown} {NEITHER}"
