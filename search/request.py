"""What a caller asks of a search: a position of a game, when to stop, which moves to look at, and what to report."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game, Move
from go_rules.points import N_POINTS, opponent
from search.course import Course
from search.result import SearchResult


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


@dataclass(frozen=True)
class Limits:
    """When a search ends: at the first limit that is reached. None means no limit.

    A search without any limit runs until it is interrupted.
    """

    visits: int | None = None
    """Visits of the root. The visits of a reused tree are included."""
    seconds: float | None = None
    """Time from the start of this search."""
    may_stop_early: bool = True
    """Whether to end once the rest of the budget cannot change the move. Off for analysis and pondering."""
    playouts: int | None = None
    """Visits of the root that this search adds."""
    unused_time_carries_over: bool = True
    """Whether `seconds` that are left over are of use to anybody. If not, a search that may stop early uses them all,
    unless there is only one move."""

    @property
    def saves_time(self) -> bool:
        """Whether a search that ends early saves time which is of use."""
        return self.seconds is not None and self.unused_time_carries_over

    def visits_from(self, first: int) -> int | None:
        """Return the root's visits at which a search ends whose root has `first` at its start; None without a limit."""
        added = None if self.playouts is None else first + self.playouts
        return min((most for most in (self.visits, added) if most is not None), default=None)


@dataclass(frozen=True)
class MoveFilter:
    """Which moves a search may look at, for each colour: `allow` and `avoid` of the GTP analysis commands.

    The keys are colours. A value is (points, depth): in the first `depth` moves from the root, that colour plays only
    these points (`allow`) or never plays them (`avoid`).
    """

    allow: Mapping[int, tuple[frozenset[int], int]] = field(default_factory=dict)
    avoid: Mapping[int, tuple[tuple[frozenset[int], int], ...]] = field(default_factory=dict)


def excluded_until(filter: MoveFilter | None) -> NDArray[np.int16]:
    """Read a filter into an array [3, N_POINTS]: for how many moves from the root a colour may not play a point."""
    out = np.zeros((3, N_POINTS), np.int16)
    if filter is None:
        return out
    excluded = [(colour, points, depth) for colour, avoided in filter.avoid.items() for points, depth in avoided]
    everything = frozenset(range(N_POINTS))
    excluded += [(colour, everything - points, depth) for colour, (points, depth) in filter.allow.items()]
    for colour, points, depth in excluded:
        out[colour, list(points)] = np.maximum(out[colour, list(points)], min(depth, 32767))
    return out


def allows_a_move(game: Game, colour: int, filter: MoveFilter | None) -> bool:
    """Return whether a filter lets this side play anything legal, a pass too, in the game's present position."""
    if filter is None:
        return True
    excluded = excluded_until(filter)[colour]
    return any(not excluded[point] for point in game.legal_moves(colour))


@dataclass(frozen=True)
class ReportRequest:
    """Which reports a search sends while it runs, and what the reports and the final result contain."""

    callback: Callable[[SearchResult], None]
    """Receives each report, in the thread that called the search. It must be quick."""
    every: float = 1.0
    """Seconds between two reports."""
    first: float | None = None
    """Seconds until the first report; None: as long as between two."""
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    """Whether to report the ownership after each move, too."""
    moves_ownership_stdev: bool = False

    @classmethod
    def of(
        cls, callback: Callable[[SearchResult], None], flags: Collection[str], every: float, first: float | None = None
    ) -> ReportRequest:
        """Make the request that an analysis asks for by flags: `ownership` and its like, KataGo's in small letters."""
        names = ("ownership", "ownershipstdev", "movesownership", "movesownershipstdev")
        return cls(callback, every, first, *(name in flags for name in names))

    @property
    def before_first(self) -> float:
        """Seconds until the first report."""
        return self.every if self.first is None else self.first


OWNERSHIP_AT_THE_END = ReportRequest(lambda _result: None, every=math.inf, ownership=True)
"""Asks for the ownership in the final result, and for no report before."""


@dataclass(frozen=True)
class SearchRequest:
    """One search of one position: everything that a player needs to know to start it."""

    game: Game
    """The search starts from this game's present position. The game must not change while the search runs."""
    colour: int
    """The side to move, whoever's turn the game says it is."""
    limits: Limits = Limits()
    filter: MoveFilter | None = None
    """None means that every legal move may be looked at."""
    report: ReportRequest | None = None
    """None means no reports."""
    analysis: bool = False
    """Whether to search for an analyst: without root noise, never stopping early, and with the wider root that the
    player's parameters ask for."""
    pondering: bool = False
    """Whether the engine thinks on its opponent's time, so that its own side is the one that is not to move."""
    likelihoods: NDArray[np.float64] | None = None
    """[H*W + 1] how likely people play each move, the pass last; None where the caller has not asked them. Only the
    player `nobi` reads it."""
    fresh: bool = False
    """Whether to start from an empty tree, whatever earlier searches learned. Evaluations are remembered all the
    same."""
    stop: threading.Event | None = None
    """Another thread may set this event to end the search. The search ends within 50 ms, once the position itself is
    evaluated by this search or an earlier one. Players of search/textbook/ that have a network first finish the batch
    that is being evaluated, however long that takes."""
    may_end_empty: bool = False
    """Whether a search that is stopped before its root was ever evaluated ends at once, with a result that has no
    moves. The players of search/textbook/ ignore it."""
    course: Course = field(default_factory=Course, compare=False)
    """Where the search writes how it went, or which it follows."""

    @property
    def own_side(self) -> int:
        """The colour that the search is for."""
        return opponent(self.colour) if self.pondering else self.colour

    @property
    def wants_ownership(self) -> bool:
        """Whether the result contains ownership of any kind."""
        report = self.report
        return report is not None and (
            report.ownership or report.ownership_stdev or report.moves_ownership or report.moves_ownership_stdev
        )
