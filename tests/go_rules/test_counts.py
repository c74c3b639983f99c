"""Known counts: legal positions, perft, complete games. The table's figures come from an independent program."""

from __future__ import annotations

import copy
import itertools

import pytest

from go_rules.game import Game
from go_rules.points import PASS
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE, KO_SITUATIONAL, Rules
from tests.go_rules.counting import complete_games, perft
from tests.go_rules.naive import OVER, NaiveGame

POSITIONAL = Rules(ko=KO_POSITIONAL, suicide=False)
SUICIDE = Rules(ko=KO_POSITIONAL, suicide=True)
SITUATIONAL = Rules(ko=KO_SITUATIONAL, suicide=False)
NO_SUPERKO = Rules(ko=KO_SIMPLE, suicide=False)

# (width, height, rules, depth of the first count, counts)
PERFT = [
    (4, 1, POSITIONAL, 1, [5, 19, 54, 120, 224, 418, 714, 1300]),
    (4, 1, SUICIDE, 6, [592, 1086, 2018]),
    (2, 2, POSITIONAL, 1, [5, 21, 68, 156, 316, 604, 1088, 2184, 4184, 8024, 13800, 23560]),
    (2, 3, POSITIONAL, 1, [7, 43, 222, 934, 3242, 8666, 20760]),
    (3, 2, SUICIDE, 6, [9834, 26504]),
    (3, 3, POSITIONAL, 1, [10, 91, 738, 5281, 33384, 179712]),
    (3, 3, SUICIDE, 6, [180768]),
    (3, 3, NO_SUPERKO, 6, [179712]),  # 179744 without any ko rule: 32 sequences retake a ko at once
    (4, 4, POSITIONAL, 1, [17, 273, 4112, 57984, 764016]),
    (5, 5, POSITIONAL, 1, [26, 651, 15650, 361041]),
    (9, 9, POSITIONAL, 1, [82, 6643, 531522]),
]


@pytest.mark.parametrize(("width", "height", "rules", "first", "counts"), PERFT)
def test_perft(width, height, rules, first, counts):
    depths = range(first, first + len(counts))
    assert [perft(width, height, rules, depth) for depth in depths] == counts


@pytest.mark.slow
def test_perft_without_passes():
    assert [perft(9, 9, POSITIONAL, depth, passes=False) for depth in (1, 2, 3, 4)] == [81, 6480, 511920, 39929136]


@pytest.mark.parametrize(
    ("width", "height", "rules", "games"),
    [
        (1, 1, POSITIONAL, 1),
        (2, 1, POSITIONAL, 9),
        (3, 1, POSITIONAL, 907),
        (1, 3, SUICIDE, 907),
        (3, 1, SITUATIONAL, 959),
    ],
)
def test_complete_games(width, height, rules, games):
    assert complete_games(width, height, rules) == games


def naive_perft(game: NaiveGame, depth: int) -> int:
    if game.now.phase == OVER:
        return 0
    colour = game.now.to_play
    moves = [p for p in game.points() if game.violation(colour, p) is None]
    if depth == 1:
        return len(moves) + 1
    total = 0
    for move in [*moves, None]:
        after = copy.copy(game)
        after.history = list(game.history)
        after.captured = dict(game.captured)
        after.play(colour, move)
        total += naive_perft(after, depth - 1)
    return total


@pytest.mark.parametrize(
    ("width", "height", "rules", "depth"),
    [(4, 1, SUICIDE, 7), (2, 2, POSITIONAL, 7), (2, 2, SITUATIONAL, 7), (2, 3, SUICIDE, 5), (3, 3, NO_SUPERKO, 4)],
)
def test_perft_of_the_naive_rules(width, height, rules, depth):
    assert naive_perft(NaiveGame(width, height, rules), depth) == perft(width, height, rules, depth)


def game_perft(game: Game, depth: int) -> int:
    if game.is_over:
        return 0
    moves = game.legal_moves(game.to_play)
    if depth == 1:
        return len(moves)
    total = 0
    for move in moves:
        game.play(game.to_play, move)
        total += game_perft(game, depth - 1)
        game.undo()
    return total


@pytest.mark.parametrize(
    ("width", "height", "rules", "depth", "count"),
    [(2, 2, POSITIONAL, 8, 2184), (4, 1, SUICIDE, 8, 2018), (2, 3, SUICIDE, 6, 9834), (3, 3, POSITIONAL, 4, 5281)],
)
def test_perft_by_game_and_undo(width, height, rules, depth, count):
    game = Game(width, height, rules)
    assert game_perft(game, depth) == count
    assert not game.moves


@pytest.mark.parametrize(("side", "count"), [(1, 1), (2, 57), (3, 12675)])
def test_number_of_legal_positions(side, count):
    """OEIS A094777: colourings in which every chain has a liberty."""
    naive = NaiveGame(side, side, POSITIONAL)
    points = list(naive.points())
    legal = 0
    for colours in itertools.product(range(3), repeat=len(points)):
        stones = {p: c for p, c in zip(points, colours, strict=True) if c}
        legal += all(naive.has_liberty(stones, p) for p in stones)
    assert legal == count


def test_pass_is_always_legal():
    game = Game(1, 1, POSITIONAL)
    assert game.legal_moves(game.to_play) == [PASS]
