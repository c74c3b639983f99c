"""Whole games by the players without a network, which must choose legal moves only."""

from __future__ import annotations

import random

from go_rules.game import Game
from go_rules.points import to_vertex
from search.request import Limits, SearchRequest
from search.result import RESIGN
from search.textbook.players import RandomPlayer, TextbookPlayer
from tests.go_rules.differences import ALL_RULES


def self_play_faults(seed: int, visits: int = 30) -> tuple[list[str], int]:
    """Play one game of a size and under rules that the seed chooses; return its illegal moves and its length."""
    rng = random.Random(seed)
    width = rng.choice([2, 3, 5, 7, 9, 13, 19])
    height = width if rng.random() < 0.7 else rng.randint(2, 19)
    rules = rng.choice(ALL_RULES)
    game = Game(width, height, rules, rng.choice([0.0, 6.5]))
    name = rng.choice(["rave", "uct", "mc", "random"])
    player = RandomPlayer(None, 1, seed) if name == "random" else TextbookPlayer(name, workers=1, seed=seed)
    faults: list[str] = []
    try:
        for _ in range(3 * width * height + 20):
            if game.is_over:
                break
            result = player.search(SearchRequest(game, game.to_play, Limits(visits=visits)))
            point = player.choose(game, result)
            if point == RESIGN:
                break
            reason = game.violation(game.to_play, point)
            if reason is not None:
                vertex = to_vertex(point, height)
                faults.append(f"seed {seed}: {name} chose {vertex} on {width}x{height}, {rules}: {reason}")
                break
            game.play(game.to_play, point)
    finally:
        player.close()
    return faults, len(game.moves)
