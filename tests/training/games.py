"""Game records made up for the tests, in the format of the real ones; and what is in a file of samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from go_rules.game import Game
from go_rules.points import PASS, column_of, row_of
from training.labels.samples import Samples, read_chunk, read_header

SIZE = 19


def read_samples(path: Path) -> Samples:
    """All samples of a file."""
    return read_chunk(read_header(path))


def write_records(path: Path, games: list[list[int]], results: list[int] | None = None, komi: float = 7.5) -> Path:
    """A records file with these games, each a list of cells: y * 19 + x, 361 a pass; black begins."""
    np.savez(
        path,
        moves=np.concatenate([np.array(game, np.uint16) for game in games]),
        offsets=np.concatenate([[0], np.cumsum([len(game) for game in games])]).astype(np.int64),
        result=np.array(results or [1] * len(games), np.int8),
        komi=np.full(len(games), komi, np.float32),
        first_player=np.zeros(len(games), np.uint8),
    )
    return path


def random_games(count: int, length: int, seed: int) -> list[list[int]]:
    """Games of random legal moves."""
    generator = np.random.default_rng(seed)
    games = []
    for _ in range(count):
        game = Game(SIZE, SIZE)
        cells = []
        for _ in range(length):
            moves = [point for point in game.legal_moves(game.to_play) if point != PASS]
            point = int(generator.choice(moves))
            game.play(game.to_play, point)
            cells.append(row_of(point) * SIZE + column_of(point))
        games.append(cells)
    return games
