"""What searches think of positions, in black's view, and what that says of the moves between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from go_rules.points import BLACK
from search.result import MoveInfo, SearchResult

MOST_MOVES = 40
"""Moves of an analysis that pages are told of."""
LONGEST_LINE = 30
"""Moves of a variation."""


@dataclass(frozen=True)
class Opinion:
    """What a search thinks of a position."""

    visits: int
    winrate: float
    """0..1, of black."""
    lead: float
    """Black's, in points."""
    ranks: dict[int, int]
    """The moves that were looked at, as pages call them: 1 for the best."""
    line: tuple[int, ...]
    """How the game should go on, as pages call the points."""

    @classmethod
    def of(cls, result: SearchResult, on_page: Callable[[int], int]) -> Opinion:
        """Return what a search's result says. `on_page` gives a point the page's name."""
        is_black = result.colour == BLACK
        ranks = {on_page(move.point): move.order + 1 for move in result.moves if move.visits or move.order == 0}
        return cls(
            result.visits,
            result.winrate if is_black else 1.0 - result.winrate,
            result.lead if is_black else -result.lead,
            ranks,
            tuple(map(on_page, result.moves[0].pv[:LONGEST_LINE])),
        )

    def told(self) -> dict[str, Any]:
        """Return what pages are told."""
        return {
            "visits": self.visits,
            "winrate": round(self.winrate, 4),
            "lead": round(self.lead, 2),
            "pv": list(self.line),
        }

    def loss(self, colour: int, move: int, after: Opinion | None) -> float | None:
        """Return how many points a move of `colour` here has lost, if the opinion after it is known.

        A first choice loses nothing: nothing better is known, and what two searches differ by is noise.
        """
        if after is None:
            return None
        if self.ranks.get(move) == 1:
            return 0.0
        return round(max(0.0, (self.lead - after.lead) * (1.0 if colour == BLACK else -1.0)), 2)


def told_result(result: SearchResult, on_page: Callable[[int], int]) -> dict[str, Any]:
    """Return what pages are told of a search."""
    is_black = result.colour == BLACK
    owners = None if result.ownership is None else result.ownership * (100 if is_black else -100)

    def told(move: MoveInfo) -> dict[str, Any]:
        return {
            "point": on_page(move.point),
            "visits": move.visits,
            "winrate": round(move.winrate if is_black else 1.0 - move.winrate, 4),
            "lead": round(move.lead if is_black else -move.lead, 2),
            "prior": round(move.prior, 4),
            "order": move.order,
            "pv": [on_page(point) for point in move.pv[:LONGEST_LINE]],
        }

    return {
        **Opinion.of(result, on_page).told(),
        "per_second": round(result.new_visits / result.seconds, 1) if result.seconds else 0.0,
        "moves": [told(move) for move in result.moves[:MOST_MOVES]],
        "ownership": None if owners is None else owners.round().astype(int).tolist(),
    }
