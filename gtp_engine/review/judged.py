"""What the searches before and after a move say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from go_rules.points import BLACK
from search.result import SearchResult

DOUBTFUL, BAD, VERY_BAD = 0.04, 0.08, 0.16
"""How much of the winning chance, 0..1, a move loses at least to be called so. Points would not do: in a game that is
decided those of a mistake mean nothing any more."""


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
        """Return what a search's result says."""
        best = result.moves[0]
        rank = count()
        ranks = {m.point: next(rank) for m in result.moves if m.symmetry_of is None and (m.visits or m is best)}
        ranks |= {m.point: ranks[m.symmetry_of] for m in result.moves if m.symmetry_of in ranks}
        return cls(result.colour, best.winrate, best.lead, result.visits, best.pv or (best.point,), ranks)

    def seen_by(self, colour: int) -> tuple[float, float]:
        """Return the winrate and the lead in the view of a colour."""
        return (self.winrate, self.lead) if colour == self.colour else (1.0 - self.winrate, -self.lead)

    @property
    def of_black(self) -> tuple[float, float]:
        """The winrate and the lead in black's view."""
        return self.seen_by(BLACK)


@dataclass(frozen=True)
class JudgedMove:
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
        """How much of the winning chance, 0..1, the move lost by the judgement of the search after it.

        That is 0 where this search likes the position better than the one before did, and for first choices: nothing
        better is known in their place, and what the searches differ by is noise.
        """
        return self._lost(0)

    @property
    def points_lost(self) -> float:
        """How many points of the lead the move lost, in the same sense."""
        return self._lost(1)

    def _lost(self, index: int) -> float:
        if self.rank == 0:
            return 0.0
        return max(0.0, self.before.seen_by(self.colour)[index] - self.after.seen_by(self.colour)[index])


@dataclass(frozen=True)
class Summary:
    """How one side played."""

    moves: int
    first_choices: int
    """How many of its moves the search would have played too."""
    winrate_lost: float
    """How much of the winning chance, 0..1, a move lost on average."""
    points_lost: float
    """How many points a move lost on average."""
    doubtful: int
    """How many moves lost DOUBTFUL, but less than BAD."""
    bad: int
    """How many moves lost BAD, but less than VERY_BAD."""
    very_bad: int

    @classmethod
    def of(cls, moves: Sequence[JudgedMove]) -> Summary:
        """Return the sum of a side's moves."""
        lost = [move.winrate_lost for move in moves]
        return cls(
            len(moves),
            sum(move.rank == 0 for move in moves),
            sum(lost) / max(1, len(moves)),
            sum(move.points_lost for move in moves) / max(1, len(moves)),
            sum(DOUBTFUL <= each < BAD for each in lost),
            sum(BAD <= each < VERY_BAD for each in lost),
            sum(each >= VERY_BAD for each in lost),
        )


def worst(moves: Sequence[JudgedMove], most: int) -> list[JudgedMove]:
    """Return the moves that lost most of the winning chance, DOUBTFUL at least, in the order of the game."""
    doubtful = [move for move in moves if move.winrate_lost >= DOUBTFUL]
    return sorted(sorted(doubtful, key=lambda move: -move.winrate_lost)[:most], key=lambda move: move.number)
