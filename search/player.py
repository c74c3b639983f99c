"""The interface between a search of whatever kind and whoever drives it: GTP, a match, self-play."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from go_rules.game import Game
from search.limits import Limits, MoveFilter
from search.result import SearchResult


@dataclass(frozen=True)
class ReportRequest:
    """Snapshots wanted while a search runs."""

    callback: Callable[[SearchResult], None]
    """Called from the searching thread; it must be quick."""
    every: float = 1.0
    """Seconds between reports."""
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False


class Player(Protocol):
    """A search with a memory. One search at a time."""

    name: str
    """As in `--player NAME`."""

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate whatever a first search on such a board needs, so that no clock pays for it."""
        ...

    def search(
        self,
        game: Game,
        colour: int,
        limits: Limits,
        *,
        filter: MoveFilter | None = None,
        report: ReportRequest | None = None,
        analysis: bool = False,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        """Search the game's present position with `colour` to move; blocks until a limit is reached or
        another thread sets `stop` (noticed within 50 ms).

        What earlier searches learned of this position is reused. `analysis` asks for a tree without root noise and
        early stops, and with whatever widening analysis wants. Always returns a result with at least one legal move
        or the pass, however short the limits.
        """
        ...

    def choose(self, game: Game, result: SearchResult) -> int:
        """The point to play after `search` (PASS included), or RESIGN, by temperature, LCB and the rules of passing."""
        ...

    def clear(self) -> None:
        """Forget everything learned: tree and caches."""
        ...

    def close(self) -> None:
        """Release threads and memory. The player is not used afterwards."""
        ...
