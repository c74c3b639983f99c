"""Random games: the kernels against sgfmill's board and the naive rules; tests/campaigns/rules.py plays more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from go_rules.board import legal_points
from go_rules.game import Game
from go_rules.points import BLACK, MAX_SIZE, N_POINTS, WHITE, point_at
from go_rules.rule_names import PRESETS
from go_rules.scoring import final_score, tromp_taylor_area
from go_rules.superko import new_seen, seen_add, seen_clear, seen_has, seen_refill
from nets.features import new_scratch
from tests.go_rules.differences import ALL_RULES, random_game_differences, undo_differences, xy
from tests.go_rules.naive import NaiveGame
from tests.go_rules.symmetry import symmetry_differences


@pytest.mark.parametrize("side", range(2, MAX_SIZE + 1))
def test_square_boards(side):
    rules = ALL_RULES[side * 7 % len(ALL_RULES)]
    assert list(random_game_differences(side, side, side, rules, 60 + 3 * side)) == []


@pytest.mark.parametrize(("width", "height"), [(1, 3), (4, 1), (2, 5), (7, 3), (5, 9), (1, 25), (25, 2), (19, 11)])
def test_rectangles(width, height):
    for seed, rules in enumerate(ALL_RULES[::9]):
        assert list(random_game_differences(seed, width, height, rules, 60)) == []


@pytest.mark.parametrize("rules", ALL_RULES, ids=str)
def test_every_rule_set(rules):
    """Boards so small that kos, superko, suicides and the end of the phases come about all the time."""
    for seed, side in enumerate((2, 3, 4, 5)):
        assert list(random_game_differences(seed, side, side, rules, 80)) == []


@pytest.mark.parametrize("rules", ALL_RULES, ids=str)
def test_moves_that_are_told_of(rules):
    """After a forbidden move that somebody told of, all else is as the naive rules say."""
    for seed, side in enumerate((3, 4, 5)):
        assert list(random_game_differences(seed, side, side, rules, 60, told=0.7)) == []


@pytest.mark.parametrize("rules", ALL_RULES[::3], ids=str)
def test_undo_restores_everything(rules):
    for side in (2, 3, 5):
        assert list(undo_differences(side, side, side, rules, 150)) == []


# The eight symmetries of a square and the exchange of colours leave the rules alone.

SCRATCH = new_scratch()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    side=st.integers(2, 9),
    symmetry=st.integers(0, 7),
    swap=st.booleans(),
    rules=st.sampled_from(ALL_RULES),
)
def test_symmetry_and_colour(seed, side, symmetry, swap, rules):
    moves = 3 * side * side
    assert list(symmetry_differences(seed, side, symmetry, swap, rules, moves, SCRATCH)) == []


# Kernels on their own.


def test_legal_points_come_row_by_row():
    game = Game(5, 3)
    out = np.zeros(N_POINTS, np.int16)
    n = legal_points(game.position, BLACK, game.record, out)
    assert out[:n].tolist() == [point_at(x, y) for y in range(3) for x in range(5)]


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32), width=st.integers(1, 9), height=st.integers(1, 9))
def test_area_is_the_naive_area(seed, width, height):
    """Tromp and Taylor's count; and where nothing on the board is dead by Benson, the score agrees with it."""
    rng = random.Random(seed)
    rules = PRESETS["tromp-taylor"][0]
    game, naive = Game(width, height, rules, komi=0), NaiveGame(width, height, rules)
    for _ in range(rng.randrange(3 * width * height)):
        colour = game.to_play
        point = rng.choice(game.legal_moves(colour))
        game.play(colour, point)
        naive.play(colour, xy(point))
    owner = naive.area()
    area = np.zeros(N_POINTS, np.int8)
    score = tromp_taylor_area(game.position, area)
    assert {xy(int(p)): int(area[p]) for p in np.flatnonzero(area)} == owner
    assert score == sum(1 if colour == WHITE else -1 for colour in owner.values())
    removed = [int(p) for p in np.flatnonzero(game.position["board"] == BLACK)]
    without_black = {p: c for p, c in naive.now.stones.items() if c == WHITE}
    expected = len(naive.area(without_black)) if without_black else 0
    assert final_score(game.position, game.record, dead=removed) == expected


@given(st.lists(st.integers(1, 2**64 - 1), max_size=60), st.integers(1, 2**64 - 1))
def test_seen_is_a_set(keys, other):
    table = new_seen(60)
    for key in keys:
        seen_add(table, np.uint64(key))
    assert all(seen_has(table, np.uint64(key)) for key in keys)
    assert seen_has(table, np.uint64(other)) == (other in keys)
    seen_refill(table, np.array([other], np.uint64))
    assert np.count_nonzero(table) == 1
    seen_clear(table)
    assert not seen_has(table, np.uint64(other))
