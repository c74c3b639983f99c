"""The parameters of the search without a network (the players `rave` and `uct`).

Sources: Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go" (2011); the
sizes of the priors follow what Fuego, Pachi and michi publish about theirs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from go_rules.machine.memory import memory_for_search
from search.parameters import ParameterTable, parameter, require_memory


@dataclass(frozen=True)
class UctParameters(ParameterTable, section="playouts", title="The search without one"):
    """The playout search's parameters. A prior is worth that many visits won (or lost, where it says so)."""

    # --- Tree -------------------------------------------------------------------------------------------------
    exploration: float = parameter(0.0, "Weight of UCB1's exploration term.", low=0.0, high=2.0)
    analysis_exploration: float = parameter(
        0.2, "The same while analysing, so that more moves are shown.", low=0.0, high=2.0
    )
    rave_equivalence: float = parameter(
        2500.0, "How far all-moves-as-first values are trusted; 0 is plain UCT.", unit="visits", low=0.0, high=1e6
    )
    expand_visits: float = parameter(6.0, "Visits before a node gets children.", unit="visits", low=1.0, high=1000.0)
    score_weight: float = parameter(
        0.03, "Part of a playout's value that is the score rather than the win.", low=0.0, high=1.0
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

    # --- Playouts ---------------------------------------------------------------------------------------------
    capture_rate: float = parameter(0.9, "How often playouts look for captures and chains to save.", low=0.0, high=1.0)
    pattern_rate: float = parameter(
        0.9, "How often playouts look for patterns around the last move.", low=0.0, high=1.0
    )
    self_atari_rate: float = parameter(
        0.4, "How often playouts do not mind putting themselves in atari.", low=0.0, high=1.0
    )

    # --- Move choice and resources ----------------------------------------------------------------------------
    resign_winrate: float = parameter(0.1, "Give up below this winning chance.", low=0.0, high=0.5)
    resign_visits: float = parameter(
        1000.0, "... but not before the search has seen so much.", unit="visits", low=1.0, high=1e6
    )
    settled: float = parameter(0.9, "|ownership| from which a point counts as decided.", low=0.5, high=1.0)
    memory_mb: float = parameter(
        512.0,
        "Largest size of the tree; where none is named, at most a quarter of what the machine has for a search.",
        unit="MB",
        low=1.0,
        high=1e6,
    )

    def suited(self) -> UctParameters:
        """These parameters with less memory where the machine has little."""
        return dataclasses.replace(self, memory_mb=min(self.memory_mb, memory_for_search() // 4 / 1e6))

    def check_memory(self) -> None:
        """Raise ParameterError if this machine has no memory for two such trees: a move copies one to another."""
        require_memory({"memory_mb": 2e6 * self.memory_mb}, {"memory_mb": self.memory_mb})


PURE_UCT = UctParameters(exploration=0.35, rave_equivalence=0.0, prior_near=0.0)
"""Upper confidence bounds alone, without all-moves-as-first values."""
