"""What the searches of a game found: by it lost games are resigned, and handicaps judged."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from go_rules.game import Game
from go_rules.points import WHITE
from search.result import SearchResult


class Found(NamedTuple):
    """What a search found."""

    moves: int
    """How many were played before."""
    line: int
    """The key of these moves (`Game.line_key`)."""
    colour: int
    """The side to move."""
    win_loss: float
    """Win minus loss, -1..1, as that side sees it."""


class Winrates:
    """Remembers the winrates of one game. Another game begins anew, and moves that were taken back are forgotten."""

    def __init__(self) -> None:
        self._game: Hashable = None
        self._found: list[Found] = []

    def add(self, game: Game, result: SearchResult) -> list[float]:
        """Add a search of the game's present position. Return this side's win minus loss (-1..1, as it sees them) at
        its searches of the game so far, the latest last."""
        found = Found(len(game.moves), game.line_key(), result.colour, 2.0 * result.winrate - 1.0)
        self._game, self._found = game.identity(), [*self._before(game), found]
        return [each.win_loss for each in self._found if each.colour == result.colour]

    def of_white(self, game: Game) -> list[float]:
        """Return white's win minus loss (-1..1) at both sides' searches before the game's present position."""
        return [each.win_loss if each.colour == WHITE else -each.win_loss for each in self._before(game)]

    def clear(self) -> None:
        """Forget all of them."""
        self._found = []

    def _before(self, game: Game) -> list[Found]:
        if self._game != game.identity():
            return []
        now = len(game.moves)
        return [each for each in self._found if each.moves < now and each.line == game.line_key(each.moves)]
