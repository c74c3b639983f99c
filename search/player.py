"""The interface that every player implements: GTP, matches and self-play know no other."""

from __future__ import annotations

from typing import Any, Protocol

from go_rules.game import Game
from nets.evaluator import Evaluator
from search.request import SearchRequest
from search.result import SearchResult


class Player(Protocol):
    """A searcher with a memory: what it learned about a position helps its next search. It runs one search at a time.

    A new kind of player is a folder `search/NAME/` with such a class, and an entry in gtp_engine/players.py.
    """

    name: str
    """What `--player NAME` calls it."""

    parameters: Any
    """The player's own frozen dataclass of declared parameters. A changed copy may be assigned between two searches."""

    @property
    def evaluator(self) -> Evaluator | None:
        """The network that the player asks, or None if it plays without one."""
        ...

    def warm_up(self, width: int, height: int) -> None:
        """Compile, load and allocate whatever a first search on such a board needs, so that no clock pays for it."""
        ...

    def search(self, request: SearchRequest) -> SearchResult:
        """Run the search and return its result. Blocks until a limit is reached or `request.stop` is set.

        The result has at least one legal move (a pass counts), however short the limits are, unless
        `request.may_end_empty`. Raises EvaluatorError if the network fails.
        """
        ...

    def choose(self, game: Game, result: SearchResult) -> int:
        """Return the point to play after `search`, PASS or RESIGN, as the player's parameters say."""
        ...

    def clear(self) -> None:
        """Forget everything that was learned: the tree and all caches."""
        ...

    def close(self) -> None:
        """End all threads and free the memory. The player cannot be used afterwards."""
        ...
