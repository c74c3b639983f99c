"""What players agree on after two passes: who owns what while neutral points are open, and the score of that."""

from __future__ import annotations

import pytest

from go_rules.agreement import agreed_owners, agreed_score, seki_stones
from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY, TAX_ALL, TAX_NONE, TAX_SEKI
from tests.go_rules.diagrams import game_from, rules_of

NEUTRAL = """
    . X . X X O . . .
    X X . X X O . O .
    . . . X X O O . .
    . . . X . O . . .
    . . . X X O . . .
    . . X X O O . . .
    X . X O O . . O .
    . X X O . . . . .
    . . X O . . . . .
"""
"""The point E6 is nobody's. Stones: 19 black, 14 white. Territory: black 18, white 29; one group each."""
NOTHING: frozenset[int] = frozenset()


def points(*vertices: str, size: int = 9) -> frozenset[int]:
    return frozenset(from_vertex(vertex, size, size) for vertex in vertices)


@pytest.mark.parametrize(
    ("scoring", "tax", "score"),
    [
        (SCORING_TERRITORY, TAX_SEKI, 29 - 18),
        (SCORING_TERRITORY, TAX_NONE, 29 - 18),
        (SCORING_TERRITORY, TAX_ALL, 29 - 18),
        (SCORING_AREA, TAX_SEKI, (14 + 29) - (19 + 18)),
        (SCORING_AREA, TAX_NONE, (14 + 29) - (19 + 18)),
    ],
)
def test_a_neutral_point_takes_nobodys_territory(scoring: int, tax: int, score: int) -> None:
    game = game_from(NEUTRAL, BLACK, rules_of(scoring, tax))
    owners = agreed_owners(game, NOTHING)
    assert from_vertex("E6", 9, 9) not in owners
    assert len(owners) == 80
    assert agreed_score(game, NOTHING) == score


def test_it_is_what_the_rules_say_once_nothing_is_neutral() -> None:
    diagram = NEUTRAL.replace(". . . X . O . . .", ". . . X X O . . .")
    for scoring, tax in ((SCORING_TERRITORY, TAX_SEKI), (SCORING_TERRITORY, TAX_ALL), (SCORING_AREA, TAX_ALL)):
        game = game_from(diagram, BLACK, rules_of(scoring, tax))
        assert agreed_score(game, NOTHING) == game.score()


def test_groups_are_taxed() -> None:
    diagram = """
        . X O . .
        X X O . .
        O O O O O
        O O X X X
        . O X . .
    """
    game = game_from(diagram, BLACK, rules_of(SCORING_AREA, TAX_NONE))
    untaxed = agreed_score(game, NOTHING)
    game.set_rules(rules_of(SCORING_AREA, TAX_ALL))
    assert agreed_score(game, NOTHING) == untaxed + 2 * 2 - 2  # two black groups, a white one


def test_a_dead_stone_in_the_wall_opens_nothing() -> None:
    """White's E7 is taken: a black point, and the neutral point beside it is all that is between the territories."""
    diagram = "\n".join(["    . . . . X O . . ."] * 2 + ["    . . . X O . O . ."] + ["    . . . . X O . . ."] * 6)
    game = game_from(diagram, BLACK, rules_of(SCORING_TERRITORY, TAX_SEKI))
    owners = agreed_owners(game, points("E7"))
    assert owners[from_vertex("E7", 9, 9)] == BLACK
    assert from_vertex("F7", 9, 9) not in owners
    assert owners[from_vertex("A1", 9, 9)] == BLACK
    assert owners[from_vertex("J9", 9, 9)] == WHITE
    assert len(owners) == 80


def test_eyes_in_a_seki_are_nobodys_where_they_are_taxed() -> None:
    """Black's eye and white's, and a neutral point between them."""
    diagram = """
        . X . O .
        X X . O O
        O O O O O
    """
    for scoring in (SCORING_AREA, SCORING_TERRITORY):
        for tax in (TAX_NONE, TAX_SEKI, TAX_ALL):
            game = game_from(diagram, BLACK, rules_of(scoring, tax))
            assert seki_stones(game, NOTHING)
            assert agreed_score(game, NOTHING) == game.score()
            assert ({from_vertex("A3", 5, 3), from_vertex("E3", 5, 3)} <= set(agreed_owners(game, NOTHING))) == (
                tax == TAX_NONE
            )
