"""Known counts: legal positions, perft, complete games. The table's figures come from an independent program."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from tests.go_rules.counting import complete_games, perft
from tests.go_rules.counts import GAMES, PERFT, POSITIONAL, SUICIDE, game_perft


@pytest.mark.parametrize(("width", "height", "rules", "first", "counts"), PERFT)
def test_perft(width, height, rules, first, counts):
    depths = range(first, first + len(counts))
    assert [perft(width, height, rules, depth) for depth in depths] == counts


@pytest.mark.slow
def test_perft_without_passes():
    assert [perft(9, 9, POSITIONAL, depth, passes=False) for depth in (1, 2, 3, 4)] == [81, 6480, 511920, 39929136]


@pytest.mark.parametrize(("width", "height", "rules", "games"), GAMES)
def test_complete_games(width, height, rules, games):
    assert complete_games(width, height, rules) == games


@pytest.mark.parametrize(
    ("width", "height", "rules", "depth", "count"),
    [(2, 2, POSITIONAL, 8, 2184), (4, 1, SUICIDE, 8, 2018), (2, 3, SUICIDE, 6, 9834), (3, 3, POSITIONAL, 4, 5281)],
)
def test_perft_by_game_and_undo(width, height, rules, depth, count):
    game = Game(width, height, rules)
    assert game_perft(game, depth) == count
    assert not game.moves
