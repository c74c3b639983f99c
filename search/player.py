"""The interface that every player implements, since GTP, matches and self-play know no other; and the parameters that
several players have.

Nothing heavy is imported: `nobi gtp` reads the parameters before it may answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from nobi_machine.parameters import ParameterTable, parameter

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class TreeSearchParameters(ParameterTable, section="trees", title="All searches that grow a tree", live=True):
    """What all searches have that grow a tree."""

    virtual_loss: float = parameter(
        1.0, "Losses a visit under way counts for; the search of nobi takes 0.3 of that.", unit="visits",
        low=0.0, high=1000.0, kata="numVirtualLossesPerThread",
    )  # fmt: skip
    memory: int = parameter(
        1024,
        "Memory for the tree; where none is named, at most half of what the machine has for a search (a quarter for "
        "the players of the textbook).",
        unit="MB", low=4, high=1 << 20,
    )  # fmt: skip


@dataclass(frozen=True)
class NetworkSearchParameters(ParameterTable, section="network", title="All searches with a network", live=True):
    """What all searches have that ask a network."""

    random_symmetry: bool = parameter(True, "Show the network each position in a random one of its 8 symmetries.")
