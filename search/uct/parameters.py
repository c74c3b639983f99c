"""The parameters of UCT over playouts (the players `rave` and `uct`).

Sources: Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go" (2011); the
sizes of the priors follow what Fuego, Pachi and michi publish about theirs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from go_rules.machine.memory import memory_for_search
from search.parameters import parameter, require_memory
from search.playouts.parameters import PlayoutParameters

UCT_EXPLORATION = 0.5
"""The exploration constant of the player `uct`. UCB1's own is sqrt(2), for rewards of any spread."""


MAX_DEPTH = 300
"""The largest depth of a tree. Only positions full of kos get there."""


@dataclass(frozen=True)
class UctParameters(PlayoutParameters, section="uct", title="The players rave and uct", live=True):
    """The parameters of a tree over playouts. A prior is worth that many visits won (or lost, where it says so).

    The defaults are those of `rave`; where `uct` has others, PURE_UCT below says so.
    """

    # --- Tree -------------------------------------------------------------------------------------------------
    exploration: float = parameter(
        0.0, f"UCB1's exploration constant C; the player uct has {UCT_EXPLORATION}.", low=0.0, high=2.0
    )
    analysis_exploration: float = parameter(
        0.2, "The least C while analysing, so that more moves are shown.", low=0.0, high=2.0
    )
    first_play_urgency: float = parameter(
        10.0, "Value of a move without visits and prior; from 10 on each is tried once first.", low=0.0, high=10.0
    )
    rave_equivalence: float = parameter(
        2500.0,
        "Visits with which a move's own mean weighs as much as any number of all-moves-as-first values; 0: no RAVE, as "
        "in uct.",
        unit="visits",
        low=0.0,
        high=1e6,
    )
    expand_visits: float = parameter(6.0, "Visits before a node gets children.", unit="visits", low=1.0, high=1000.0)
    largest_depth: int = parameter(
        MAX_DEPTH, "Moves below the root at most; playouts go on from there.", unit="moves", low=1, high=MAX_DEPTH
    )
    widening: float = parameter(
        0.0, "Progressive widening: a node considers widening × visits^widening_exponent moves; 0: all.",
        low=0.0, high=1000.0,
    )  # fmt: skip
    widening_exponent: float = parameter(0.5, "See widening.", low=0.0, high=1.0)
    virtual_losses: int = parameter(
        1, "Losses that a move counts while a thread's playout through it is under way.", unit="visits", low=0, high=100
    )

    # --- Priors -----------------------------------------------------------------------------------------------
    prior_even: float = parameter(8.0, "Weight of half a win for every move.", unit="visits", low=0.0, high=100.0)
    prior_capture: float = parameter(
        15.0, "For taking a stone or saving one; twice that for more.", unit="visits", low=0.0, high=100.0
    )
    prior_self_atari: float = parameter(
        10.0, "Against moves that put their own chain in atari.", unit="visits", low=0.0, high=100.0
    )
    prior_pattern: float = parameter(
        8.0, "For moves that a 3x3 pattern invites to.", unit="visits", low=0.0, high=100.0
    )
    prior_near: float = parameter(
        20.0, "For moves beside the last one; less at distance 2 and 3.", unit="visits", low=0.0, high=100.0
    )
    prior_edge: float = parameter(
        8.0, "Against the first two lines far from stones, and for the third.", unit="visits", low=0.0, high=100.0
    )
    prior_pass: float = parameter(10.0, "Against passing.", unit="visits", low=0.0, high=100.0)

    prior_weight: float = parameter(
        1.0, "How much priors count; 0, as in uct: they only order moves without visits.", low=0.0, high=10.0
    )

    # --- Resources --------------------------------------------------------------------------------------------
    memory_mb: float = parameter(
        512.0,
        "Largest size of the tree; where none is named, at most a quarter of what the machine has for a search.",
        unit="MB",
        low=1.0,
        high=1e6,
    )

    def suited(self) -> UctParameters:
        """Return these parameters, with less memory where the machine has little."""
        return dataclasses.replace(self, memory_mb=min(self.memory_mb, memory_for_search() // 4 / 1e6))

    def check_memory(self) -> None:
        """Raise ParameterError if this machine has no memory for two such trees: a move copies one to another."""
        require_memory({"memory_mb": 2e6 * self.memory_mb}, {"memory_mb": self.memory_mb})


PURE_UCT = UctParameters(exploration=UCT_EXPLORATION, rave_equivalence=0.0, prior_weight=0.0)
"""The player `uct`: UCB1 alone, without all-moves-as-first values and without priors."""
