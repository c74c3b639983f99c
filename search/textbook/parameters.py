"""The parameters of the textbook's players: what all of them share, then those of playouts, of UCT and of AlphaZero.

Sources: Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go" (2011); Silver et
al. 2016 (AlphaGo), 2017 (AlphaGo Zero) and 2018 (AlphaZero); Danihelka et al. 2022 (Gumbel AlphaZero).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from nobi_machine.memory import MEGABYTE, memory_for_search
from nobi_machine.parameters import ParameterTable, parameter, require_memory
from search.player import NetworkSearchParameters, TreeSearchParameters

if TYPE_CHECKING:
    from nets.evaluator import Evaluator

T = TypeVar("T", bound="TreeParameters")

FIRST_PLAY = ("draw", "loss", "parent")
"""The rules of first-play urgency; the kernels read a rule's place in this list."""

UCT_EXPLORATION = 0.5
"""The exploration constant of the player `uct`. UCB1's own is sqrt(2), for rewards of any spread."""


@dataclass(frozen=True)
class TextbookParameters(ParameterTable, section="textbook", title="All players of the textbook", live=True):
    """What all textbook searches have."""

    early_stop: bool = parameter(
        True, "End a search once the rest of it cannot change the move; with a network, only where that saves time."
    )


@dataclass(frozen=True)
class TreeParameters(TextbookParameters, TreeSearchParameters, section="tree", title="The textbook's trees", live=True):
    """What all textbook searches have that grow a tree."""

    widening: float = parameter(
        0.0, "Progressive widening: a node considers widening × √visits moves; 0: all.", low=0.0, high=1000.0
    )

    def suited(self: T) -> T:
        """Return these parameters, with less memory where the machine has little."""
        return dataclasses.replace(self, memory=min(self.memory, max(4, (memory_for_search() >> 20) // 4)))

    def check_memory(self) -> None:
        """Raise ParameterError if this machine has no memory for two such trees: a move copies one to another."""
        require_memory({"memory": 2 * self.memory * MEGABYTE}, vars(self))


@dataclass(frozen=True)
class PlayoutParameters(
    TextbookParameters, section="playouts", title="Players without a network", live=True, scoped=True
):
    """How games are played out, and what is made of their results."""

    score_weight: float = parameter(
        0.03, "Part of a playout's value that is the score rather than the win.", low=0.0, high=1.0
    )

    resign_winrate: float = parameter(0.1, "Give up below this winning chance.", low=0.0, high=0.5)


@dataclass(frozen=True)
class UctParameters(
    PlayoutParameters, TreeParameters, section="uct", title="The players rave and uct", live=True, scoped=True
):
    """The parameters of a tree over playouts.

    The defaults are those of `rave`; where `uct` has others, PURE_UCT below says so.
    """

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
        unit="visits", low=0.0, high=1e6,
    )  # fmt: skip
    expand_visits: float = parameter(6.0, "Visits before a node gets children.", unit="visits", low=1.0, high=1000.0)

    prior_weight: float = parameter(
        1.0, "How much priors count; 0, as in uct: they only order moves without visits.", low=0.0, high=10.0
    )


PURE_UCT = UctParameters(exploration=UCT_EXPLORATION, rave_equivalence=0.0, prior_weight=0.0)
"""The player `uct`: UCB1 alone, without all-moves-as-first values and without priors."""


@dataclass(frozen=True)
class PuctParameters(ParameterTable, section="puct", title="PUCT", live=True, scoped=True):
    """How a move is selected in the trees of AlphaGo and AlphaZero."""

    c_init: float = parameter(1.25, "Exploration, constant part.", low=0.0, high=100.0)
    c_base: float = parameter(
        19652.0, "Visits at which exploration begins to grow with their logarithm.", unit="visits", low=1.0, high=1e9
    )
    first_play: str = parameter(
        "parent",
        "First-play urgency, the value of a move never tried: its parent's own evaluation, or as published a draw "
        "(AlphaGo Zero) or a loss (AlphaZero).",
        choices=FIRST_PLAY,
    )
    first_play_reduction: float = parameter(
        0.0, "How much less than that such a move is worth.", unit="wins", low=0.0, high=2.0
    )


@dataclass(frozen=True)
class GumbelParameters(ParameterTable, section="gumbel", title="Gumbel AlphaZero", live=True, scoped=True):
    """How the player `gumbel` selects a move."""

    considered: int = parameter(
        16, "Moves among which sequential halving finds the best, at most.", unit="moves", low=1, high=1000
    )
    visits_each: int = parameter(
        8,
        "Simulations for each of these moves: with few simulations fewer moves are considered, at least four; 1 is as "
        "published.",
        unit="visits", low=1, high=10**6,
    )  # fmt: skip
    c_visit: float = parameter(
        50.0, "Visits added to the most visited move's in the weight of Q.", unit="visits", low=0.0, high=1e6
    )
    c_scale: float = parameter(
        0.1,
        "Weight of Q, here in [-1, 1], next to the policy's logits; 0.5 here is the published 1 for Q in [0, 1], and "
        "0.1 won most with 16 and 32 visits.",
        low=0.0, high=1e3,
    )  # fmt: skip
    gumbel_noise: bool = parameter(
        False, "Draw the moves that are considered; without noise they are the policy's best."
    )


@dataclass(frozen=True)
class AlphaGoParameters(ParameterTable, section="alphago", title="AlphaGo", live=True, scoped=True):
    """How the player `alphago` evaluates a leaf."""

    rollout_share: float = parameter(
        0.0, "AlphaGo's lambda: the share of a rollout's result in a leaf's value; 0.5 for alphago.", low=0.0, high=1.0
    )


@dataclass(frozen=True)
class AlphaZeroParameters(
    AlphaGoParameters,
    GumbelParameters,
    PuctParameters,
    TreeParameters,
    NetworkSearchParameters,
    section="alphazero",
    title="The textbook's networks",
    live=True,
):
    """The parameters of a search with a network, whose values Q are in [-1, 1]: wins minus losses.

    The defaults are those of `puct`, unless a line says otherwise.
    """

    leaves_in_flight: int = parameter(
        8, "Leaves evaluated together, once the root has eight times as many visits.", unit="positions",
        low=1, high=1024,
    )  # fmt: skip
    dirichlet_noise: bool = parameter(False, "Dirichlet noise on the root's policy, as in self-play.")
    dirichlet_share: float = parameter(0.25, "The noise's share of the policy.", low=0.0, high=1.0)
    sampled_moves: int = parameter(
        0, "In so many first moves of a game, moves are drawn by their visits; AlphaGo Zero drew 30 in self-play.",
        unit="moves", low=0, high=10000,
    )  # fmt: skip
    resign_below: float = parameter(0.0, "Resign below this winning chance; 0 never does.", low=0.0, high=0.5)

    def batch_for(self, _evaluator: Evaluator, _width: int, _height: int) -> int:
        """Return the most positions that are evaluated together, whatever the network and the board."""
        return self.leaves_in_flight


ALPHAGO = AlphaZeroParameters(rollout_share=0.5)
"""The defaults of the player `alphago`."""
