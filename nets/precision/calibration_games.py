"""The games whose positions our own kernels are calibrated with; FILE beside this module has them.

They do not depend on the network that is calibrated, nor on how fast a machine could play them, and nothing has to be
played when a network is used for the first time. The embedded network of November 2026 played them
(`make campaign-calibration_games`): some even and tidy, some lost and absurd.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import from_vertex, to_vertex
from go_rules.rule_names import PRESETS
from nets.features import Scratch
from nets.precision.calibration import Positions, encoded, joined

FILE = "calibration_games.txt"


class RecordedGame(NamedTuple):
    """A game that was played to be calibrated with."""

    game: Game
    interval: int
    """A position is kept after every `interval` moves."""

    def to_line(self) -> str:
        """Return the line that `read_games` reads: the board, the interval, the rules, the komi, and the moves."""
        game = self.game
        rules = next(name for name, (rules, _) in PRESETS.items() if rules == game.rules)
        moves = (to_vertex(move.point, game.height) for move in game.moves)
        return " ".join((f"{game.width}x{game.height}", str(self.interval), rules, f"{game.komi:g}", *moves))


def read_games(lines: Iterable[str]) -> list[RecordedGame]:
    """Read lines that `RecordedGame.to_line` wrote; those that begin with # say something about them."""
    games = []
    for line in lines:
        if line.startswith("#"):
            continue
        board, interval, rules, komi, *moves = line.split()
        width, height = map(int, board.split("x"))
        game = Game(width, height, PRESETS[rules][0], float(komi))
        for vertex in moves:
            game.play(game.to_play, from_vertex(vertex, width, height))
        games.append(RecordedGame(game, int(interval)))
    return games


def positions_of(games: Iterable[RecordedGame], scratch: Scratch) -> list[Positions]:
    """Return the positions kept of games, those of successive games on boards of one size together, turn by turn."""
    kept = []
    for (width, height), same in groupby(games, lambda each: (each.game.width, each.game.height)):
        played = list(same)
        boards = [Game(width, height, each.game.rules, each.game.komi) for each in played]
        turns = []
        for turn in range(max(len(each.game.moves) for each in played)):
            going_on = [
                (board, each) for board, each in zip(boards, played, strict=True) if turn < len(each.game.moves)
            ]
            wanted = [board for board, each in going_on if turn % each.interval == each.interval - 1]
            if wanted:
                turns.append(encoded(wanted, scratch))
            for board, each in going_on:
                move = each.game.moves[turn]
                board.play(move.colour, move.point)
        kept.append(joined(turns))
    return kept


def recorded_positions(scratch: Scratch) -> list[Positions]:
    """Return the positions kept of the games in FILE, for a network that `scratch` is for."""
    return positions_of(read_games(_content().decode().splitlines()), scratch)


def games_fingerprint() -> str:
    """Return a hash of the games in FILE, for what is kept of a calibration."""
    return hashlib.sha256(_content()).hexdigest()


def _content() -> bytes:
    return Path(__file__).with_name(FILE).read_bytes()
