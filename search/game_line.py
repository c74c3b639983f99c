"""Which position of which game the root of a kept tree is, and how that game has gone on since."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from go_rules.game import Game, Move
from search.request import SearchRequest


class GameLine:
    """The game and the position that a search has kept its tree for."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the game: the next search has to begin anew."""
        self._owner: Hashable = None
        self._count, self._key = 0, 0
        """How many moves of the game led to the position, and their `Game.line_key`."""

    def stand_at(self, game: Game, owner: Hashable) -> None:
        """Remember the game's present position. `owner`: what else the tree depends on."""
        self._owner = owner
        self._count, self._key = len(game.moves), game.line_key()

    def moves_to(self, request: SearchRequest, owner: Hashable) -> Sequence[Move] | None:
        """Return the moves that lead from the position that is remembered to the requested one.

        None where a search has to begin anew: the request asks for that, its game or its `owner` is another, or it is
        not that position itself and moves are excluded, which counts from the root.
        """
        game = request.game
        if request.fresh or owner != self._owner or self._count > len(game.moves):
            return None
        if game.line_key(self._count) != self._key:
            return None
        moves = game.moves[self._count :]
        return None if moves and request.filter is not None else moves
