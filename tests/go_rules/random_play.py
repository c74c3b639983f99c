"""Games of random but not hopeless moves, for tests that need positions with eyes, ladders and kos."""

from __future__ import annotations

import random

from go_rules.board import neighbour
from go_rules.game import Game
from go_rules.points import PASS, WALL


def play_randomly(game: Game, rng: random.Random, moves: int, passes: float = 0.02) -> None:
    """Play up to `moves` random legal moves, none that fills an own one-point eye; stop where the game ends."""
    for _ in range(moves):
        colour = game.to_play
        points = [point for point in game.legal_moves(colour) if point != PASS and not _is_eye(game, point, colour)]
        game.play(colour, rng.choice(points) if points and rng.random() >= passes else PASS)
        if game.is_over:
            return


def _is_eye(game: Game, point: int, colour: int) -> bool:
    return all(game.position["board"][neighbour(point, i)] in (colour, WALL) for i in range(4))
