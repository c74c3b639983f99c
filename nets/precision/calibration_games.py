"""The positions that networks are calibrated with, and that tell what a lower precision loses: those of recorded games.

FILE beside this module has the games. They do not depend on the network that is calibrated, nor on how fast a machine
could play them. The embedded network of November 2026 played them (`make campaign-calibration_games`): some are even
and tidy, some lost and absurd.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import N_POINTS, from_vertex, to_vertex
from go_rules.rule_names import PRESETS
from nets.evaluator import GLOBAL_FEATURES, SPATIAL_PLANES
from nets.features import GLOBAL_ADVANTAGE, GLOBAL_HAS_ADVANTAGE, IN_TREE, MOST_DOUBLINGS, Scratch, encode

Positions = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Features [N, 22, H, W] and [N, 19] of positions on boards of one size."""

FILE = "calibration_games.txt"
FEW = 12
"""One in so many of the positions is enough for a check."""


UNEVEN = 4
"""One in so many of the positions is shown once more as that of a handicap game."""


class RecordedGame(NamedTuple):
    """A game, in which each side in turn played `moves`, and which of its positions are kept."""

    width: int
    height: int
    rules: str
    """The name of a preset (go_rules/rule_names.py)."""
    komi: float
    interval: int
    """A position is kept after every `interval` moves."""
    moves: tuple[int, ...]
    """Points, or PASS."""

    @classmethod
    def of(cls, game: Game, interval: int) -> RecordedGame:
        """Record a game that is under a preset's rules."""
        rules = next(name for name, (rules, _) in PRESETS.items() if rules == game.rules)
        return cls(game.width, game.height, rules, game.komi, interval, tuple(move.point for move in game.moves))

    @classmethod
    def from_line(cls, line: str) -> RecordedGame:
        """Read a line that `to_line` wrote."""
        board, interval, rules, komi, *moves = line.split()
        width, height = map(int, board.split("x"))
        points = tuple(from_vertex(vertex, width, height) for vertex in moves)
        return cls(width, height, rules, float(komi), int(interval), points)

    def to_line(self) -> str:
        """Return the board, the interval, the rules, the komi and the moves as a line of FILE."""
        moves = (to_vertex(point, self.height) for point in self.moves)
        return " ".join((f"{self.width}x{self.height}", str(self.interval), self.rules, f"{self.komi:g}", *moves))


def positions_of(games: Iterable[RecordedGame], scratch: Scratch) -> list[Positions]:
    """Return the positions kept of games, those of successive games on boards of one size together, turn by turn."""
    kept = []
    for (width, height), same in groupby(games, lambda each: (each.width, each.height)):
        played = [(Game(width, height, PRESETS[each.rules][0], each.komi), each) for each in same]
        turns = []
        for turn in range(max(len(each.moves) for _, each in played)):
            going_on = [(board, each) for board, each in played if turn < len(each.moves)]
            wanted = [board for board, each in going_on if turn % each.interval == each.interval - 1]
            if wanted:
                turns.append(encoded(wanted, scratch))
            for board, each in going_on:
                board.play(board.to_play, each.moves[turn])
        kept.append(joined(turns))
    return kept


def joined(positions: Sequence[Positions]) -> Positions:
    """Return positions of boards of one size as one batch."""
    return np.concatenate([spatial for spatial, _ in positions]), np.concatenate([global_ for _, global_ in positions])


def encoded(games: Sequence[Game], scratch: Scratch) -> Positions:
    """Encode the present positions of games on boards of one size, as a search does."""
    spatial = np.zeros((len(games), SPATIAL_PLANES, games[0].height, games[0].width), np.float32)
    global_ = np.zeros((len(games), GLOBAL_FEATURES), np.float32)
    ban = np.zeros(N_POINTS, np.int8)
    for row, game in enumerate(games):
        last = game.length - 1
        encode(game.stack, last, game.to_play, game.record, 0.0, IN_TREE, ban, scratch, spatial[row], global_[row])
    return spatial, global_


def recorded_positions(scratch: Scratch) -> list[Positions]:
    """Return the positions kept of the games in FILE, for a network that `scratch` is for."""
    lines = _content().decode().splitlines()
    return positions_of((RecordedGame.from_line(line) for line in lines if not line.startswith("#")), scratch)


def with_doublings(positions: Sequence[Positions]) -> list[Positions]:
    """Return one in UNEVEN of the positions once more, with one side in turns stronger by many playout doublings.

    In handicap games networks that learned of doublings are told some, and some activations go further then than in
    any other game. Without these positions g170-b6c96 had errors of up to 0.1 in its winning chances.
    """
    told = []
    for spatial, global_ in positions:
        numbers = global_[::UNEVEN].copy()
        numbers[:, GLOBAL_HAS_ADVANTAGE] = 1.0
        numbers[:, GLOBAL_ADVANTAGE] = np.where(
            np.arange(len(numbers)) % 2, -0.5 * MOST_DOUBLINGS, 0.5 * MOST_DOUBLINGS
        )
        told.append((spatial[::UNEVEN], numbers))
    return told


def few_recorded(scratch: Scratch) -> list[Positions]:
    """Return one in FEW of these positions, evenly spread: enough to see whether a machine computes rightly."""
    return [(spatial[::FEW], global_[::FEW]) for spatial, global_ in recorded_positions(scratch)]


def games_fingerprint() -> str:
    """Return a hash of the games in FILE, for what is kept of a calibration."""
    return hashlib.sha256(_content()).hexdigest()


def _content() -> bytes:
    return Path(__file__).with_name(FILE).read_bytes()
