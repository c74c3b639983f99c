"""What the searches of a game found: by it lost games are resigned, and handicaps judged."""

from __future__ import annotations

from collections.abc import Hashable

from go_rules.game import Game
from go_rules.points import WHITE
from search.result import SearchResult


class Winrates:
    """Remembers the winrates of one game. Another game begins anew, and moves that were taken back are forgotten."""

    def __init__(self) -> None:
        self._game: Hashable = None
        self._found: list[tuple[int, int, float]] = []
        """Each search's number of moves before it, the side that it was for, and that side's win minus loss."""

    def add(self, game: Game, result: SearchResult) -> list[float]:
        """Add a search of the game's present position. Return this side's win minus loss (-1..1, as it sees them) at
        its searches of the game so far, the latest last."""
        found = (len(game.moves), result.colour, 2.0 * result.winrate - 1.0)
        self._game, self._found = game.identity(), [*self._before(game), found]
        return [value for _, colour, value in self._found if colour == result.colour]

    def of_white(self, game: Game) -> list[float]:
        """Return white's win minus loss (-1..1) at both sides' searches before the game's present position."""
        return [value if colour == WHITE else -value for _, colour, value in self._before(game)]

    def clear(self) -> None:
        """Forget all of them."""
        self._found = []

    def _before(self, game: Game) -> list[tuple[int, int, float]]:
        if self._game != game.identity():
            return []
        return [item for item in self._found if item[0] < len(game.moves)]
