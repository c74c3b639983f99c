"""When a search ends: the limits its caller sets and the reason it gives afterwards."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Whatever is reached first ends the search; None is no limit. With none at all it runs until interrupted."""

    visits: int | None = None
    """Visits of the root, those of a reused tree included."""
    seconds: float | None = None
    """Time from the start of this search."""
    may_stop_early: bool = True
    """End once the remaining budget cannot change the move. Off for analysis and pondering."""


class StopReason(enum.Enum):
    VISITS = "visits"
    TIME = "time"
    DECIDED = "decided"
    """The rest of the budget could not have changed the move."""
    MEMORY = "memory"
    """The tree is as large as the user allows; what it knows is used."""
    INTERRUPTED = "interrupted"
    OVER = "over"
    """The position has no moves to search: the game is over."""


@dataclass(frozen=True)
class MoveFilter:
    """Which moves the search may look at, per colour: GTP's `allow` and `avoid`.

    Keys are (colour); a value is (points, depth): within `depth` moves of the root that colour plays only
    (`allow`) or never (`avoid`) those points.
    """

    allow: Mapping[int, tuple[frozenset[int], int]] = field(default_factory=dict)
    avoid: Mapping[int, tuple[tuple[frozenset[int], int], ...]] = field(default_factory=dict)
