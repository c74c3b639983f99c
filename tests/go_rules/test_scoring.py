"""Scores under every scoring and tax rule, on diagrams counted by hand and on random games counted the naive way."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex, point_at
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY, TAX_NONE, TAX_SEKI, Rules
from go_rules.scoring import final_owners, result_text
from tests.go_rules.diagrams import game_from, rules_of
from tests.go_rules.differences import xy
from tests.go_rules.naive import NaiveGame

# The white stone at A4 is dead: black's two eyes are beside it.
DEAD_STONE = """
    . . X O .
    O X X O O
    . . X O .
    X X X O O
    . . X O .
"""


def test_seki_tax():
    """Black's eye and white's count only where there is no tax on eyes in seki; the white group below is alive."""
    diagram = """
        . X . O .
        X X . O O
        O O O O O
    """
    game = game_from(diagram, BLACK, rules_of(SCORING_AREA, TAX_NONE))
    assert game.score() == (8 + 1) - (3 + 1)
    game.set_rules(rules_of(SCORING_AREA, TAX_SEKI))
    assert game.score() == 8 - 3
    game.set_rules(rules_of(SCORING_TERRITORY, TAX_NONE))
    assert game.score() == 1 - 1
    game.set_rules(rules_of(SCORING_TERRITORY, TAX_SEKI))
    assert game.score() == 0


@pytest.mark.parametrize("tax", [TAX_NONE, TAX_SEKI])
def test_dead_stones_by_agreement(tax):
    """One white prisoner on black's territory: two points for black under territory rules."""
    dead = [from_vertex("A4", 5, 5)]
    game = game_from(DEAD_STONE, BLACK, rules_of(SCORING_AREA, tax))
    assert game.score(dead) == 10 - 15
    game.set_rules(rules_of(SCORING_TERRITORY, tax))
    # White: E5, E3, E1. Black: A5, B5, A4, A3, B3, A1, B1 and the prisoner.
    assert game.score(dead) == 3 - (7 + 1)
    owners = final_owners(game.position, game.record, dead)
    assert owners[from_vertex("A4", 5, 5)] == BLACK
    assert owners[from_vertex("E3", 5, 5)] == WHITE


def test_the_score_leaves_the_game_alone():
    game = game_from(DEAD_STONE)
    before = game.position.copy()
    game.score([from_vertex("A4", 5, 5)])
    assert game.position == before


def test_points_of_no_stone_are_no_dead_stones():
    game = game_from(DEAD_STONE)
    assert game.score([from_vertex("A5", 5, 5), PASS]) == game.score()


def test_bent_four_in_the_corner():
    """As it stands a seki; with white agreed dead, the corner and six prisoners are black's."""
    diagram = """
        X X . O X .
        . O O O X .
        O O X X X .
        X X X . X .
        . X . X X .
    """
    game = game_from(diagram, BLACK, rules_of(SCORING_TERRITORY, TAX_SEKI))
    assert game.score() == -8
    assert game.score(dead=[from_vertex("D5", 6, 5)]) == -8 - 8 - 6


def test_komi_and_bonuses():
    game = Game(3, 3, Rules(has_button=True), komi=2.5)
    assert game.score() == 2.5 - 0.5
    game.play(BLACK, PASS)
    assert game.score() == 2.5 - 0.5
    game.play(WHITE, point_at(1, 1))
    assert game.score() == 9 + 2.5 - 0.5


@pytest.mark.parametrize(
    ("score", "text"),
    [
        *((0, "0"), (-0.0, "0"), (0.001, "0"), (-0.004, "0"), (0.006, "W+0.01"), (0.25, "W+0.25"), (0.5, "W+0.5")),
        *((3.5, "W+3.5"), (-3.5, "B+3.5"), (10, "W+10"), (-100, "B+100")),
    ],
)
def test_result_text(score, text):
    assert result_text(score) == text


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), width=st.integers(2, 8), height=st.integers(2, 8))
def test_territory_is_territory_and_prisoners(seed, width, height):
    """Counting area and moves gives what Japanese players count: empty points and captured stones."""
    rng = random.Random(seed)
    rules = rules_of(SCORING_TERRITORY, TAX_NONE)
    game, naive = Game(width, height, rules, komi=0), NaiveGame(width, height, rules)
    for _ in range(rng.randrange(3 * width * height)):
        colour = game.to_play
        point = rng.choice(game.legal_moves(colour)[:-1] or [PASS])
        game.play(colour, point)
        naive.play(colour, xy(point))
    dead = [point_at(*p) for p, c in naive.now.stones.items() if c == BLACK]
    left = {p: c for p, c in naive.now.stones.items() if c == WHITE}
    territory = sum(1 for p, owner in naive.area(left).items() if p not in left and owner == WHITE)
    expected = territory + len(dead) + naive.captured[BLACK] - naive.captured[WHITE]
    if naive.phase < 2:
        assert game.score(dead) == expected
