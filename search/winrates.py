"""What each side's searches of a game found, for resigning: a game must have looked lost for several moves."""

from __future__ import annotations

from collections.abc import Hashable

from go_rules.game import Game
from search.result import SearchResult


class Winrates:
    """Remembers the winrates of one game. Another game begins anew, and moves that were taken back are forgotten."""

    def __init__(self) -> None:
        self._game: Hashable = None
        self._recent: dict[int, list[tuple[int, float]]] = {}

    def add(self, game: Game, result: SearchResult) -> list[float]:
        """Add a search of the game's present position. Return this side's win minus loss (-1..1, as it sees them) at
        its searches of the game so far, the latest last."""
        if self._game != game.identity():
            self._game, self._recent = game.identity(), {}
        now = len(game.moves)
        earlier = [item for item in self._recent.get(result.colour, []) if item[0] < now]
        self._recent[result.colour] = [*earlier, (now, 2.0 * result.winrate - 1.0)]
        return [value for _, value in self._recent[result.colour]]

    def clear(self) -> None:
        """Forget all of them."""
        self._recent = {}
