"""What the searches before and after a move say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from go_rules.points import BLACK
from search.result import SearchResult

DOUBTFUL, BAD, VERY_BAD = 0.04, 0.08, 0.16
"""How much of the winning chance, 0..1, a move loses at least to be called so. In an even 19×19 game that is some 1.5,
3 and 6 points; in one that is decided the points of a mistake mean nothing any more."""


@dataclass(frozen=True)
class Opinion:
    """What a search thinks of a position in which the best move is played."""

    colour: int
    """The side to move, whose view the next two are."""
    winrate: float
    """0..1, no-result games counted as half."""
    lead: float
    """Points."""
    visits: int
    line: tuple[int, ...]
    """How the game should go on: the best move first."""
    ranks: Mapping[int, int]
    """The moves that were looked at: 0 for the best, and for those that the board's symmetry makes equal to it."""

    @classmethod
    def of(cls, result: SearchResult) -> Opinion:
        """What a search's result says."""
        best = result.moves[0]
        orders = {move.point: move.order for move in result.moves if move.visits > 0 or move.order == 0}
        for move in result.moves:
            if move.symmetry_of in orders:
                orders[move.point] = orders[move.symmetry_of]
        return cls(result.colour, best.winrate, best.lead, result.visits, best.pv or (best.point,), orders)

    def seen_by(self, colour: int) -> tuple[float, float]:
        """The winrate and the lead in the view of a colour."""
        return (self.winrate, self.lead) if colour == self.colour else (1.0 - self.winrate, -self.lead)


@dataclass(frozen=True)
class Judged:
    """One move of a game, and what the searches of the positions before and after it found."""

    number: int
    """1 for the first move of the game."""
    colour: int
    point: int
    before: Opinion
    after: Opinion

    @property
    def rank(self) -> int | None:
        """0 for the move that the search before would have played; None for one that it did not look at."""
        return self.before.ranks.get(self.point)

    @property
    def winrate_lost(self) -> float:
        """How much of the winning chance, 0..1, it lost; 0 where the search after it likes the position better than the
        one before."""
        return max(0.0, self.before.seen_by(self.colour)[0] - self.after.seen_by(self.colour)[0])

    @property
    def points_lost(self) -> float:
        """The same in points of the lead."""
        return max(0.0, self.before.seen_by(self.colour)[1] - self.after.seen_by(self.colour)[1])


@dataclass(frozen=True)
class Summary:
    """How one side played."""

    moves: int
    first_choices: int
    """Moves that the search would have played too."""
    points_lost: float
    """The mean of a move, as the next one, which is 0..1."""
    winrate_lost: float
    doubtful: int
    """How many moves are DOUBTFUL, but not BAD; the next two go on from there."""
    bad: int
    very_bad: int

    @classmethod
    def of(cls, moves: Sequence[Judged]) -> Summary:
        """The sum of a side's moves."""
        lost = [move.winrate_lost for move in moves]
        return cls(
            len(moves),
            sum(move.rank == 0 for move in moves),
            sum(move.points_lost for move in moves) / max(1, len(moves)),
            sum(lost) / max(1, len(moves)),
            sum(DOUBTFUL <= each < BAD for each in lost),
            sum(BAD <= each < VERY_BAD for each in lost),
            sum(each >= VERY_BAD for each in lost),
        )


def worst(moves: Sequence[Judged], count: int) -> list[Judged]:
    """The moves that lost most of the winning chance, DOUBTFUL at least, in the order of the game."""
    doubtful = [move for move in moves if move.winrate_lost >= DOUBTFUL]
    return sorted(sorted(doubtful, key=lambda move: -move.winrate_lost)[:count], key=lambda move: move.number)


def of_black(opinion: Opinion) -> tuple[float, float]:
    """The winrate and the lead in black's view."""
    return opinion.seen_by(BLACK)
