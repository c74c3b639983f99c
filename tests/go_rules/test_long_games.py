"""Everything about a game costs the same at its 8,000th move as at its first."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, board_points, from_vertex
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE, SCORING_TERRITORY, Rules
from tests.go_rules.diagrams import game_from
from tests.go_rules.kos import TRIPLE_KO, TRIPLE_KO_CYCLE

SHORT, LONG = 500, 8_000
SLACK = 4
"""The long game may cost so many times its share; a quadratic one costs 16 times."""


def passes(rules: Rules) -> Callable[[int], Game]:
    def play(moves: int) -> Game:
        game = Game(9, 9, rules)
        for _ in range(moves):
            game.play(game.to_play, PASS)
        return game

    return play


def handicap(moves: int) -> Game:
    """Black stones, with single white passes that do not end the count of handicap stones; then passes only."""
    game = Game(9, 9, Rules(KO_POSITIONAL))
    points = board_points(9, 9)[:40]
    for i in range(moves):
        game.play(game.to_play, points[i // 2] if i % 2 == 0 and i // 2 < len(points) else PASS)
    assert game.handicap_stones == min(len(points), (moves + 1) // 2)
    return game


def cycles(moves: int) -> Game:
    """A triple ko is fought for ever, though nothing comes of it."""
    game = game_from(TRIPLE_KO, to_play=BLACK, rules=Rules(ko=KO_SIMPLE))
    vertices = TRIPLE_KO_CYCLE.split()[1::2]
    for i in range(moves):
        game.play(game.to_play, from_vertex(vertices[i % len(vertices)], game.width, game.height))
    return game


def cost(make: Callable[[int], Game], moves: int) -> float:
    """Seconds of the processor to play so many moves, copy the game and take all of them back."""
    started = time.process_time()
    game = make(moves)
    assert len(game.moves) == moves
    game.copy()
    game.identity()
    while game.moves:
        game.undo()
    return time.process_time() - started


@pytest.mark.parametrize(
    "make",
    [
        passes(Rules(KO_POSITIONAL)),
        passes(Rules(KO_SIMPLE)),
        passes(Rules(KO_SIMPLE, SCORING_TERRITORY, cleanup=True)),
        handicap,
        cycles,
    ],
    ids=["passes", "simple ko", "clean-up", "handicap", "cycles"],
)
def test_a_long_game_is_linear(make: Callable[[int], Game]) -> None:
    cost(make, 100)
    short = min(cost(make, SHORT) for _ in range(3))
    assert cost(make, LONG) < SLACK * short * LONG / SHORT
