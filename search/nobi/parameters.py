"""The parameters of the search with a network: default, unit, bounds and meaning of each.

The names in `kata` are those that KataGo's users and clients know. Sources: "Accelerating Self-Play Learning in Go"
(Wu 2019) with KataGo's later notes on its methods, unless a line says otherwise. A second table has those of a search
beside which a human network says what people would play, after KataGo's `humanSL...`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nets.devices import USUAL_BATCH
from nobi_machine.memory import MEGABYTE, memory_for_search, thread_bytes, usable_cores
from nobi_machine.parameters import parameter, require_memory
from search.player import NetworkSearchParameters, TreeSearchParameters

if TYPE_CHECKING:
    from nets.evaluator import Evaluator


LEAF_BYTES = MEGABYTE // 4
"""What a position takes that waits for its evaluation: its path, and what a network of usual size computes of it."""


@dataclass(frozen=True)
class SearchParameters(
    TreeSearchParameters, NetworkSearchParameters, section="search", title="The search of the player nobi", live=True
):
    """The search's parameters. Utilities are in [-1.4, 1.4] by default: winning chance plus score terms."""

    # fmt: off
    # --- Utility: what is maximised ---------------------------------------------------------------------------
    win_loss_factor: float = parameter(
        1.0, "Weight of winning and losing in the utility.", low=0.0, high=1.0, kata="winLossUtilityFactor"
    )
    static_score_factor: float = parameter(
        0.1, "Weight of the score relative to an even game.", low=0.0, high=1.0, kata="staticScoreUtilityFactor"
    )
    dynamic_score_factor: float = parameter(
        0.3, "Weight of the score relative to the present game's.", low=0.0, high=1.0, kata="dynamicScoreUtilityFactor"
    )
    dynamic_score_center_zero_weight: float = parameter(
        0.2, "How far the dynamic score's centre is pulled towards 0.", low=0.0, high=1.0,
        kata="dynamicScoreCenterZeroWeight",
    )
    dynamic_score_center_scale: float = parameter(
        0.75, "Width of the dynamic score's S curve.", unit="square roots of the board's area", low=0.2, high=5.0,
        kata="dynamicScoreCenterScale",
    )
    no_result_utility: float = parameter(
        0.0, "White's utility of a game without result.", low=-1.0, high=1.0, kata="noResultUtilityForWhite"
    )
    draw_wins_for_white: float = parameter(
        0.5, "What a drawn game is worth to white.", unit="wins", low=0.0, high=1.0, kata="drawEquivalentWinsForWhite"
    )

    # --- Selection: which move to look at next ----------------------------------------------------------------
    cpuct: float = parameter(1.0, "Exploration, constant part.", low=0.0, high=10.0, kata="cpuctExploration")
    cpuct_log: float = parameter(
        0.45, "Exploration, part that grows with the visits' logarithm.", low=0.0, high=10.0, kata="cpuctExplorationLog"
    )
    cpuct_base: float = parameter(
        500.0, "Visits at which that growth sets in.", unit="visits", low=10.0, high=1e5, kata="cpuctExplorationBase"
    )
    cpuct_stdev_prior: float = parameter(
        0.4, "Standard deviation of the utility taken for normal.", low=0.01, high=10.0, kata="cpuctUtilityStdevPrior"
    )
    cpuct_stdev_prior_weight: float = parameter(
        2.0, "Weight of that prior in the estimate of a node's own standard deviation.", unit="visits",
        low=0.0, high=100.0, kata="cpuctUtilityStdevPriorWeight",
    )
    cpuct_stdev_scale: float = parameter(
        0.85, "How much exploration follows the node's standard deviation.", low=0.0, high=1.0,
        kata="cpuctUtilityStdevScale",
    )
    fpu_reduction: float = parameter(
        0.2, "Unvisited moves are this much worse than the node, at most.", low=0.0, high=2.0, kata="fpuReductionMax"
    )
    root_fpu_reduction: float = parameter(
        0.1, "The same for the root's unvisited moves (0 while root noise is on).", low=0.0, high=2.0,
        kata="rootFpuReductionMax",
    )
    fpu_loss_proportion: float = parameter(
        0.0, "Share of a certain loss in unvisited moves' utility.", low=0.0, high=1.0, kata="fpuLossProp"
    )
    root_fpu_loss_proportion: float = parameter(
        0.0, "Share of a certain loss in the root's unvisited moves.", low=0.0, high=1.0, kata="rootFpuLossProp"
    )
    fpu_parent_power: float = parameter(
        2.0, "How fast the node's average replaces its own evaluation as the visited policy grows.", low=0.0, high=5.0,
        kata="fpuParentWeightByVisitedPolicyPow",
    )
    graph_search: bool = parameter(
        True, "Share positions between move orders that lead to them.", kata="useGraphSearch"
    )
    graph_repetition_bound: int = parameter(
        11,
        "A position is shared only if the last move's chain and the empty points around it are more than this; others "
        "might differ by superko.",
        unit="points", low=3, high=50, kata="graphSearchRepBound",
    )

    # --- Backup: how children make up their parent's value ----------------------------------------------------
    value_weight_exponent: float = parameter(
        0.25, "How strongly children that look bad lose weight.", low=0.0, high=1.0, kata="valueWeightExponent"
    )
    noise_pruning: bool = parameter(
        True, "Ignore visits beyond twice a bad move's policy share in its parent's value.", kata="useNoisePruning"
    )
    noise_prune_scale: float = parameter(
        0.15, "Utility gap at which most of that surplus is ignored.", low=0.001, high=10.0,
        kata="noisePruneUtilityScale",
    )
    uncertainty: bool = parameter(
        True, "Weigh evaluations by the network's own error estimate, where it has one.", kata="useUncertainty"
    )
    uncertainty_coefficient: float = parameter(
        0.25, "Utility error at which an evaluation weighs about 1.", low=0.0001, high=1.0, kata="uncertaintyCoeff"
    )
    uncertainty_max_weight: float = parameter(
        8.0, "Weight of an evaluation without error, and of a finished game.", low=1.0, high=100.0,
        kata="uncertaintyMaxWeight",
    )
    subtree_bias_factor: float = parameter(
        0.45, "Correct evaluations by what searching showed after similar local moves.", low=0.0, high=1.0,
        kata="subtreeValueBiasFactor",
    )
    subtree_bias_exponent: float = parameter(
        0.85, "A node counts in that correction with the weight of its children to this power.", low=0.0, high=1.0,
        kata="subtreeValueBiasWeightExponent",
    )
    subtree_bias_free: float = parameter(
        0.8, "Share of the experience forgotten with the subtree it came from.", low=0.0, high=1.0,
        kata="subtreeValueBiasFreeProp",
    )

    # --- The root ---------------------------------------------------------------------------------------------
    root_noise: bool = parameter(False, "Dirichlet noise on the root's policy.", kata="rootNoiseEnabled")
    root_noise_concentration: float = parameter(
        10.83, "Total concentration of that noise.", low=0.001, high=1e4, kata="rootDirichletNoiseTotalConcentration"
    )
    root_noise_weight: float = parameter(
        0.25, "Its share of the policy.", low=0.0, high=1.0, kata="rootDirichletNoiseWeight"
    )
    policy_optimism: float = parameter(
        1.0, "Share of the optimistic policy, in networks that have one.", low=0.0, high=1.0, kata="policyOptimism"
    )
    root_policy_optimism: float = parameter(
        0.2, "Share of the optimistic policy at the root.", low=0.0, high=1.0, kata="rootPolicyOptimism"
    )
    root_policy_temperature: float = parameter(
        1.0, "Flattens (above 1) the root's policy.", low=0.01, high=100.0, kata="rootPolicyTemperature"
    )
    root_symmetries: int = parameter(
        1, "Symmetries averaged in the root's evaluation.", low=1, high=8, kata="rootNumSymmetriesToSample"
    )
    root_symmetry_pruning: bool = parameter(
        True, "Look at one only of moves that the board's symmetry makes equal.", kata="rootSymmetryPruning"
    )
    wide_root_noise: float = parameter(0.0, "Widens the root in games.", low=0.0, high=5.0, kata="wideRootNoise")
    analysis_wide_root_noise: float = parameter(
        0.04, "Widens the root in analysis.", low=0.0, high=5.0, kata="analysisWideRootNoise"
    )
    counter_mirror: bool = parameter(
        True, "In games, answer mirror Go where it can be refuted.", kata="genmoveAntiMirror"
    )
    analysis_counter_mirror: bool = parameter(False, "The same in analysis.", kata="antiMirror")
    ignore_history: bool = parameter(
        False, "Hide from the network what was played before the root.", kata="ignorePreRootHistory"
    )
    analysis_ignore_history: bool = parameter(False, "The same in analysis.", kata="analysisIgnorePreRootHistory")
    playout_doublings: float = parameter(
        0.0, "Play as if one side searched so many times twice as much; for networks that learned this.",
        unit="doublings", low=-3.0, high=3.0, kata="playoutDoublingAdvantage",
    )
    playout_doublings_side: str = parameter(
        "root", "The side that does; root: whoever is to move.", choices=("root", "black", "white"),
        kata="playoutDoublingAdvantagePla",
    )
    handicap_doublings: float = parameter(
        0.045, "In games, while playout_doublings is 0: the most doublings for each point behind by handicap or komi.",
        unit="doublings a point", low=0.0, high=0.5, kata="dynamicPlayoutDoublingAdvantageCapPerOppLead",
    )

    # --- Choosing the move ------------------------------------------------------------------------------------
    temperature: float = parameter(
        0.1, "Randomness of the chosen move, late in a game.", low=0.0, high=5.0, kata="chosenMoveTemperature"
    )
    temperature_early: float = parameter(
        0.5, "Randomness of the first moves.", low=0.0, high=5.0, kata="chosenMoveTemperatureEarly"
    )
    temperature_halflife: float = parameter(
        19.0, "How fast it goes from one to the other.", unit="moves on 19x19", low=0.1, high=1e5,
        kata="chosenMoveTemperatureHalflife",
    )
    temperature_only_below: float = parameter(
        1.0, "Only moves with a smaller share of the visits are randomised.", low=0.0, high=1.0,
        kata="chosenMoveTemperatureOnlyBelowProb",
    )
    chosen_move_subtract: float = parameter(
        0.0, "Visits taken off each move before choosing; at most a 64th of the best move's.", unit="visits",
        low=0.0, high=1e10, kata="chosenMoveSubtract",
    )
    chosen_move_prune: float = parameter(
        1.0, "Moves with fewer visits are never chosen; the limit is at most a 64th of the best move's visits.",
        unit="visits", low=0.0, high=1e10, kata="chosenMovePrune",
    )
    lcb: bool = parameter(True, "Choose by lower confidence bound.", kata="useLcbForSelection")
    lcb_stdevs: float = parameter(
        5.0, "Width of that bound: how far below the mean it lies.", unit="standard deviations", low=1.0, high=12.0,
        kata="lcbStdevs",
    )
    lcb_min_weight: float = parameter(
        0.15, "Share of the most visited move's weight that a move needs to be considered.", low=0.0, high=1.0,
        kata="minVisitPropForLCB",
    )

    # --- Passing and resigning --------------------------------------------------------------------------------
    root_ending_bonus: float = parameter(
        0.5, "Discourages pointless moves inside settled areas.", unit="points", low=-1.0, high=1.0,
        kata="rootEndingBonusPoints",
    )
    root_prune_useless: bool = parameter(
        True,
        "Never play into pass-alive areas; where a ko, a button or territory rules could make that useful, only once "
        "the opponent's last four moves were passes.",
        kata="rootPruneUselessMoves",
    )
    conservative_pass: bool = parameter(
        True, "Never take one's own pass for the end of the game.", kata="conservativePass"
    )
    explore_pass: bool = parameter(
        True, "Where a pass would end the game, look at a pass and at another move.", kata="enableMorePassingHacks"
    )
    resign: bool = parameter(False, "Resign lost games.", kata="allowResignation")
    resign_threshold: float = parameter(
        -0.90, "Win minus loss below which a game counts as lost.", low=-1.0, high=0.0, kata="resignThreshold"
    )
    resign_turns: int = parameter(
        3, "Resign only after so many lost searches in a row.", unit="moves", low=1, high=100, kata="resignConsecTurns"
    )
    resign_min_score: float = parameter(
        3.0, "Never resign a game closer than this.", unit="points", low=0.0, high=1000.0,
        kata="resignMinScoreDifference",
    )
    resign_min_moves: float = parameter(
        0.0, "Never resign before so many moves.", unit="moves per point of the board", low=0.0, high=1.0,
        kata="resignMinMovesPerBoardArea",
    )

    # --- The machine ------------------------------------------------------------------------------------------
    workers: int = parameter(
        0, "Searching threads; 0 is one per core this process may use.", low=0, high=1024, kata="numSearchThreads",
        commands=("gtp", "benchmark"),
    )
    batch: int = parameter(
        0,
        "Positions each of them has evaluated at a time; 0 is 4, 1 where one alone takes long, or what suits a device.",
        unit="positions", low=0, high=1024, commands=("gtp", "benchmark"),
    )
    cache_memory: int = parameter(
        128, "Memory for past evaluations, two at least; where none is named, at most a sixteenth of that.", unit="MB",
        low=0, high=1 << 20,
    )
    seed: int = parameter(
        -1, "Seed of random choices; -1 takes one from the system.", low=-1, high=(1 << 62), commands=("gtp", "play")
    )
    # fmt: on

    def batch_for(self, evaluator: Evaluator, width: int, height: int) -> int:
        """Return how many positions of such boards each worker has evaluated at a time: at least 1."""
        return self.batch or evaluator.suited_batch(height, width)

    def suited(self) -> SearchParameters:
        """Return these parameters, with less memory where the machine has little."""
        room = memory_for_search() >> 20
        memory, cache_memory = min(self.memory, room // 2), min(self.cache_memory, room // 16)
        return dataclasses.replace(self, memory=memory, cache_memory=cache_memory)

    def check_memory(self) -> None:
        """Raise ParameterError if tree, cache and the workers' buffers are too large together for this machine."""
        workers = self.workers or usable_cores()
        needs = {
            "memory": self.memory * MEGABYTE,
            "cache_memory": self.cache_memory * MEGABYTE,
            "batch": workers * (self.batch or USUAL_BATCH) * LEAF_BYTES,
        }
        if self.workers == 0:
            require_memory(needs, vars(self))
            return
        needs["workers"] = self.workers * thread_bytes()
        if self.workers > self.batch:
            needs["workers"] += needs.pop("batch")
        require_memory(needs, vars(self), usable_cores() * thread_bytes())


@dataclass(frozen=True)
class HumanParameters(SearchParameters, section="human", title="People's moves in the search", live=True):
    """The search's parameters where a human network is given (`human_net`)."""

    # fmt: off
    human_prop: float = parameter(
        0.0, "Probability that the move is one that people would play, and not the search's.", low=0.0, high=1.0,
        kata="humanSLChosenMoveProp",
    )
    human_lambda: float = parameter(
        1e9, "A move that the search finds worse by so much utility is played e times less often than people play it.",
        unit="utility", above=0.0, high=1e9, kata="humanSLChosenMovePiklLambda",
    )
    human_ignore_pass: bool = parameter(
        False, "Let the search alone decide when to pass.", kata="humanSLChosenMoveIgnorePass"
    )
    human_weightless: float = parameter(
        0.0, "Share of the visits that look at a move because people might play it, and count for that move alone.",
        low=0.0, high=1.0, kata="humanSLRootExploreProbWeightless",
    )
    human_weightful: float = parameter(
        0.0, "Share of the visits that look at such a move and count as any other.", low=0.0, high=1.0,
        kata="humanSLRootExploreProbWeightful",
    )
    human_cpuct: float = parameter(
        1.0, "Exploration of such visits, constant part.", low=0.0, high=1000.0, kata="humanSLCpuctExploration"
    )
    human_cpuct_permanent: float = parameter(
        0.0, "Exploration of such visits, part that never fades: moves worse by so much utility stay in sight.",
        unit="utility", low=0.0, high=1000.0, kata="humanSLCpuctPermanent",
    )
    # fmt: on

    @property
    def asks_people(self) -> bool:
        """Whether what people would play makes any difference."""
        return self.human_prop > 0.0 or self.human_weightless > 0.0 or self.human_weightful > 0.0
