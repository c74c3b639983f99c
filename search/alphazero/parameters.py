"""The parameters of the textbook searches with a network: the players `value`, `alphago`, `puct` and `gumbel`.

Sources: Silver et al. 2016 (AlphaGo), 2017 (AlphaGo Zero) and 2018 (AlphaZero); Danihelka et al. 2022 (Gumbel
AlphaZero). Values Q are in [-1, 1]: wins minus losses.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from go_rules.machine.memory import MEGABYTE, memory_for_search
from search.parameters import ParameterTable, parameter, require_memory

if TYPE_CHECKING:
    from nets.evaluator import Evaluator


FIRST_PLAY = ("draw", "loss", "parent")
"""The rules of first-play urgency; the kernels read a rule's place in this list."""


@dataclass(frozen=True)
class AlphaZeroParameters(ParameterTable, section="alphazero", title="The textbook searches with a network", live=True):
    """The parameters of a textbook search. The defaults are those of `puct`, unless a line says otherwise."""

    # --- Selection by PUCT ------------------------------------------------------------------------------------
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
    policy_widening: float = parameter(
        0.0,
        "Progressive widening: a node with N visits looks at so many times N to the power of policy_widening_power "
        "moves; 0 looks at all.",
        unit="moves",
        low=0.0,
        high=1000.0,
    )
    policy_widening_power: float = parameter(0.5, "Power of the visits in progressive widening.", low=0.0, high=1.0)

    # --- Gumbel AlphaZero -------------------------------------------------------------------------------------
    considered: int = parameter(
        16, "Moves among which sequential halving finds the best, at most.", unit="moves", low=1, high=1000
    )
    visits_each: int = parameter(
        8,
        "Simulations for each of these moves: with few simulations fewer moves are considered, at least four; 1 is as "
        "published.",
        unit="visits",
        low=1,
        high=10**6,
    )
    c_visit: float = parameter(
        50.0, "Visits added to the most visited move's in the weight of Q.", unit="visits", low=0.0, high=1e6
    )
    c_scale: float = parameter(
        0.1,
        "Weight of Q, here in [-1, 1], next to the policy's logits; 0.5 here is the published 1 for Q in [0, 1], and "
        "0.1 won most with 16 and 32 visits.",
        low=0.0,
        high=1e3,
    )
    gumbel_noise: bool = parameter(
        False, "Draw the moves that are considered; without noise they are the policy's best."
    )

    # --- Evaluation of leaves ---------------------------------------------------------------------------------
    rollout_share: float = parameter(
        0.0, "AlphaGo's lambda: the share of a rollout's result in a leaf's value; 0.5 for alphago.", low=0.0, high=1.0
    )
    turn_leaves: bool = parameter(True, "Show the network each position in a random one of its 8 symmetries.")
    leaves_in_flight: int = parameter(
        8,
        "Leaves evaluated together, once the root has eight times as many visits.",
        unit="positions",
        low=1,
        high=1024,
    )
    flight_losses: float = parameter(
        1.0, "Virtual loss: the losses that a leaf in flight counts for.", unit="visits", low=0.0, high=100.0
    )

    # --- The root ---------------------------------------------------------------------------------------------
    dirichlet_noise: bool = parameter(False, "Dirichlet noise on the root's policy, as in self-play.")
    dirichlet_share: float = parameter(0.25, "The noise's share of the policy.", low=0.0, high=1.0)
    dirichlet_total: float = parameter(
        10.83, "The noise's alpha times the number of legal moves: 0.03 on 19x19.", low=0.001, high=1e4
    )
    sampled_moves: int = parameter(
        0,
        "In so many first moves of a game, moves are drawn by their visits; AlphaGo Zero drew 30 in self-play.",
        unit="moves",
        low=0,
        high=10000,
    )
    sampled_temperature: float = parameter(
        1.0, "Temperature of these draws: odds are visits to the power of 1/temperature.", low=0.01, high=100.0
    )
    resign_below: float = parameter(0.0, "Resign below this winning chance; 0 never does.", low=0.0, high=0.5)

    # --- Limits -----------------------------------------------------------------------------------------------
    simulations: int = parameter(
        1600, "Visits of a move at most where no limit of visits is set.", unit="visits", low=1, high=10**9
    )
    tree_depth: int = parameter(300, "Moves from the root to a leaf at most.", unit="moves", low=1, high=1000)
    stop_when_decided: bool = parameter(
        True, "Under a time limit, end once the visits that are left cannot change the move."
    )
    tree_memory: int = parameter(512, "Memory for the tree at most.", unit="MB", low=4, high=1 << 20)

    def batch_for(self, _evaluator: Evaluator, _width: int, _height: int) -> int:
        """Return the most positions that are evaluated together, whatever the network and the board."""
        return self.leaves_in_flight

    def check_memory(self) -> None:
        """Raise ParameterError if the tree is too large for this machine."""
        require_memory({"tree_memory": self.tree_memory * MEGABYTE}, {"tree_memory": self.tree_memory})

    def suited(self) -> AlphaZeroParameters:
        """Return these parameters, with less memory where the machine has little."""
        return dataclasses.replace(self, tree_memory=min(self.tree_memory, max(4, (memory_for_search() >> 20) // 2)))


ALPHAGO = AlphaZeroParameters(rollout_share=0.5)
"""The defaults of the player `alphago`."""
