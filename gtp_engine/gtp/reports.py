"""The arguments of the analysis commands, and the text of their reports.

The formats are those of Leela Zero (`lz-`) and KataGo (`kata-`), as clients expect them. Every value is the view of the
side to move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules.points import to_vertex
from gtp_engine.gtp.protocol import (
    SYNTAX_ERROR,
    GtpError,
    interpret_boolean,
    interpret_colour,
    interpret_float,
    interpret_integer,
    interpret_vertex,
    is_colour,
)
from gtp_engine.session.thinking import pv_text
from search.request import MoveFilter
from search.result import LOWEST_UTILITY, MoveInfo, SearchResult

FLAGS = frozenset(
    (
        *("rootinfo", "ownership", "ownershipstdev", "movesownership", "movesownershipstdev"),
        *("pvvisits", "pvedgevisits", "noresultvalue"),
    )
)
"""Keys of kata-analyze whose value is true or false, in lower case."""

FASTEST = 0.01
"""The fewest seconds between two reports."""
SLOWEST = 1e6
NEVER = SLOWEST
"""The interval if none is given: only the end of the search is reported."""

Restrictions = dict[int, list[tuple[frozenset[int], int]]]
"""By colour, points and the depth to which they are meant."""


@dataclass(frozen=True)
class AnalysisRequest:
    """The arguments of an analysis command."""

    colour: int
    every: float
    """Seconds between reports."""
    min_moves: int
    """How many moves are shown at least, even if they have no visits."""
    max_moves: int | None
    filter: MoveFilter | None
    flags: frozenset[str]
    """The members of FLAGS that are true."""


def interpret_request(
    words: tuple[str, ...], width: int, height: int, to_play: int, *, kata: bool = True
) -> AnalysisRequest:
    """Read the arguments `[colour] [interval] (key value)*`; intervals are in centiseconds. Raises GtpError."""
    rest = list(words)
    colour, every, min_moves, max_moves = to_play, NEVER, 0, None
    flags: set[str] = set()
    restrictions: dict[str, Restrictions] = {"allow": {}, "avoid": {}}
    if rest and is_colour(rest[0]):
        colour = interpret_colour(rest.pop(0))
    if rest and not rest[0][0].isalpha():
        every = _interval(rest.pop(0))
    while rest:
        key = rest.pop(0).lower()
        if key == "interval":
            every = _interval(_pop(rest))
        elif key == "minmoves":
            min_moves = interpret_integer(_pop(rest), 0)
        elif key == "maxmoves":
            max_moves = interpret_integer(_pop(rest), 0)
        elif key in restrictions:
            side = interpret_colour(_pop(rest))
            vertices = [vertex for vertex in _pop(rest).split(",") if vertex]  # `D4, 1`: nothing behind the comma
            points = frozenset(interpret_vertex(vertex, width, height) for vertex in vertices)
            restrictions[key].setdefault(side, []).append((points, interpret_integer(_pop(rest), 1)))
        elif kata and key in FLAGS:
            (flags.add if interpret_boolean(_pop(rest)) else flags.discard)(key)
        else:
            raise GtpError(SYNTAX_ERROR)
    return AnalysisRequest(colour, every, min_moves, max_moves, _filter(**restrictions), frozenset(flags))


def _filter(allow: Restrictions, avoid: Restrictions) -> MoveFilter | None:
    if not allow and not avoid:
        return None
    if avoid.keys() & allow.keys() or any(len(each) > 1 for each in allow.values()):
        raise GtpError("allow may be given once for each colour, and not together with avoid for the same colour")
    return MoveFilter(
        {side: each for side, (each,) in allow.items()}, {side: tuple(each) for side, each in avoid.items()}
    )


def _pop(words: list[str]) -> str:
    if not words:
        raise GtpError(SYNTAX_ERROR)
    return words.pop(0)


def _interval(word: str) -> float:
    return min(SLOWEST, max(FASTEST, interpret_float(word, 0) / 100))


# --- Reports ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reporter:
    """Turns the snapshots of a search into lines of text."""

    request: AnalysisRequest
    height: int
    longest_pv: int
    kata: bool = True

    def line(self, result: SearchResult, chosen: int | None = None) -> str:
        """Write a snapshot as one report. It is never empty if the result has a move; the chosen one is in it."""
        shown = self._shown(result)
        missing = [move for move in result.moves if move.point == chosen and move not in shown]
        shown = [*shown[: len(shown) - len(missing) if self.request.max_moves else None], *missing]
        moves = [self._kata_move(move) if self.kata else self._lz_move(move) for move in shown]
        if self.kata:
            moves += self._root(result)
        return " ".join(moves)

    def _shown(self, result: SearchResult) -> list[MoveInfo]:
        visited = [move for move in result.moves if move.visits > 0]
        shown = list(result.moves[: max(len(visited), self.request.min_moves)]) or list(result.moves[:1])
        return shown if self.request.max_moves is None else shown[: max(1, self.request.max_moves)]

    def _pv(self, move: MoveInfo) -> str:
        return pv_text(move.pv or (move.point,), self.height, self.longest_pv)

    def _along(self, visits: tuple[int, ...], first: int) -> str:
        """Numbers for the moves of a variation; `first` is that of a variation about which no more is known."""
        return " ".join(str(count) for count in visits[: self.longest_pv]) or str(first)

    def _lz_move(self, move: MoveInfo) -> str:
        return (
            f"info move {to_vertex(move.point, self.height)} visits {move.visits} winrate {_per_myriad(move.winrate)} "
            f"prior {_per_myriad(move.prior)} lcb {_per_myriad(move.lcb)} order {move.order} pv {self._pv(move)}"
        )

    def _kata_move(self, move: MoveInfo) -> str:
        wants = self.request.flags.__contains__
        parts = [
            f"info move {to_vertex(move.point, self.height)} visits {move.visits} edgeVisits {move.edge_visits}",
            f"utility {_number(move.utility)} winrate {_share(move.winrate)}",
            _scores(move.lead, move.score_stdev, move.score_mean),
        ]
        if wants("noresultvalue"):
            parts.append(f"noResultValue {_share(move.no_result)}")
        parts += [
            f"prior {_share(move.prior)} lcb {_share(move.lcb)}",
            f"utilityLcb {_number(max(LOWEST_UTILITY, move.utility_lcb))}",
            f"weight {_number(move.weight, 2)}",
        ]
        if move.symmetry_of is not None:
            parts.append(f"isSymmetryOf {to_vertex(move.symmetry_of, self.height)}")
        parts.append(f"order {move.order} pv {self._pv(move)}")
        if wants("pvvisits"):
            parts.append(f"pvVisits {self._along(move.pv_visits, move.visits)}")
        if wants("pvedgevisits"):
            parts.append(f"pvEdgeVisits {self._along(move.pv_edge_visits, move.edge_visits)}")
        if wants("movesownership") and move.ownership is not None:
            parts.append(f"movesOwnership {_plane(move.ownership)}")
        if wants("movesownershipstdev") and move.ownership_stdev is not None:
            parts.append(f"movesOwnershipStdev {_plane(move.ownership_stdev)}")
        return " ".join(parts)

    def _root(self, result: SearchResult) -> Iterator[str]:
        wants, raw = self.request.flags.__contains__, result.raw
        if wants("rootinfo"):
            errors = (
                (-1.0, -1.0, -1.0)
                if raw is None
                else (raw.shortterm_winloss_error, raw.shortterm_score_error, raw.var_time_left)
            )
            yield (
                f"rootInfo visits {result.visits} utility {_number(result.utility)} winrate {_share(result.winrate)} "
                f"{_scores(result.lead, result.score_stdev, result.score_mean)} weight {_number(result.weight, 2)} "
                f"rawStWrError {_number(errors[0])} rawStScoreError {_number(errors[1])} "
                f"rawVarTimeLeft {_number(errors[2])}"
            )
        if wants("ownership") and result.ownership is not None:
            yield f"ownership {_plane(result.ownership)}"
        if wants("ownershipstdev") and result.ownership_stdev is not None:
            yield f"ownershipStdev {_plane(result.ownership_stdev)}"


def _scores(lead: float, stdev: float, selfplay: float) -> str:
    """The scores of a report. As in KataGo, scoreMean is the lead, too, because old clients read it as that."""
    lead_text = _number(lead)
    return f"scoreMean {lead_text} scoreStdev {_number(stdev)} scoreLead {lead_text} scoreSelfplay {_number(selfplay)}"


def _number(value: float, digits: int = 5) -> str:
    """Plain decimals: not every client reads exponents, and none reads `nan`."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "0"


def _share(value: float) -> str:
    """A number from 0 to 1; a confidence bound may lie outside."""
    return _number(min(1.0, max(0.0, value)), 6)


def _per_myriad(value: float) -> int:
    return round(10_000 * min(1.0, max(0.0, value))) if math.isfinite(value) else 0


def _plane(values: NDArray[np.float32]) -> str:
    numbers = np.nan_to_num(values).tolist()
    return " ".join(["%.4f"] * len(numbers)) % tuple(numbers)
