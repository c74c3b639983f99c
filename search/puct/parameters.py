"""Every knob of the network-guided search, declared once: default, unit, bounds and what it is for.

The command line, configuration files, GTP's parameter commands and the documentation are generated from here.
Names in `kata` are those that KataGo's users and clients know. Sources: "Accelerating Self-Play Learning in Go"
(Wu 2019) with KataGo's later notes on its methods, unless a line says otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class ParameterError(ValueError):
    """A parameter that does not exist or a value outside its bounds. One line, fit for a user."""


@dataclass(frozen=True)
class Knob:
    """How one parameter is shown, checked and converted."""

    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    kata: str = ""
    """KataGo's name, where it has the same parameter."""


def knob(
    default: Any, help: str, *, unit: str = "", low: float | None = None, high: float | None = None, kata: str = ""
) -> Any:
    """Declare a parameter: a dataclass field with its Knob in the metadata."""
    return dataclasses.field(default=default, metadata={"knob": Knob(help, unit, low, high, kata)})


@dataclass(frozen=True)
class SearchParameters:
    """The search's parameters. Utilities are in [-1.4, 1.4] by default: winning chance plus score terms."""

    # --- Utility: what is maximised ---------------------------------------------------------------------------
    win_loss_factor: float = knob(
        1.0, "Weight of winning and losing in the utility.", low=0.0, high=1.0, kata="winLossUtilityFactor"
    )
    static_score_factor: float = knob(
        0.1, "Weight of the score relative to an even game.", low=0.0, high=1.0, kata="staticScoreUtilityFactor"
    )
    dynamic_score_factor: float = knob(
        0.3, "Weight of the score relative to the present game's.", low=0.0, high=1.0, kata="dynamicScoreUtilityFactor"
    )
    dynamic_score_center_zero_weight: float = knob(
        0.2,
        "How far the dynamic score's centre is pulled towards 0.",
        low=0.0,
        high=1.0,
        kata="dynamicScoreCenterZeroWeight",
    )
    dynamic_score_center_scale: float = knob(
        0.75,
        "Width of the dynamic score's S curve.",
        unit="square roots of the board's area",
        low=0.2,
        high=5.0,
        kata="dynamicScoreCenterScale",
    )
    no_result_utility: float = knob(
        0.0, "White's utility of a game without result.", low=-1.0, high=1.0, kata="noResultUtilityForWhite"
    )
    draw_wins_for_white: float = knob(
        0.5, "What a drawn game is worth to white.", unit="wins", low=0.0, high=1.0, kata="drawEquivalentWinsForWhite"
    )

    # --- Selection: which move to look at next ----------------------------------------------------------------
    cpuct: float = knob(1.0, "Exploration, constant part.", low=0.0, high=10.0, kata="cpuctExploration")
    cpuct_log: float = knob(
        0.45, "Exploration, part that grows with the visits' logarithm.", low=0.0, high=10.0, kata="cpuctExplorationLog"
    )
    cpuct_base: float = knob(
        500.0, "Visits at which that growth sets in.", unit="visits", low=10.0, high=1e5, kata="cpuctExplorationBase"
    )
    cpuct_stdev_prior: float = knob(
        0.4, "Standard deviation of the utility taken for normal.", low=0.01, high=10.0, kata="cpuctUtilityStdevPrior"
    )
    cpuct_stdev_prior_weight: float = knob(
        2.0, "Weight of that in a node's own.", unit="visits", low=0.0, high=100.0, kata="cpuctUtilityStdevPriorWeight"
    )
    cpuct_stdev_scale: float = knob(
        0.85,
        "How much exploration follows the node's standard deviation.",
        low=0.0,
        high=1.0,
        kata="cpuctUtilityStdevScale",
    )
    fpu_reduction: float = knob(
        0.2, "Unvisited moves are this much worse than the node, at most.", low=0.0, high=2.0, kata="fpuReductionMax"
    )
    root_fpu_reduction: float = knob(
        0.1, "The same at the root (0 while root noise is on).", low=0.0, high=2.0, kata="rootFpuReductionMax"
    )
    fpu_loss_proportion: float = knob(
        0.0, "Share of a certain loss in unvisited moves' utility.", low=0.0, high=1.0, kata="fpuLossProp"
    )
    root_fpu_loss_proportion: float = knob(0.0, "The same at the root.", low=0.0, high=1.0, kata="rootFpuLossProp")
    fpu_parent_power: float = knob(
        2.0,
        "How fast the node's average replaces its own evaluation as the visited policy grows.",
        low=0.0,
        high=5.0,
        kata="fpuParentWeightByVisitedPolicyPow",
    )
    virtual_loss: float = knob(
        1.0,
        "Losses a visit under way counts for.",
        unit="visits",
        low=0.01,
        high=1000.0,
        kata="numVirtualLossesPerThread",
    )
    graph_search: bool = knob(True, "Share positions between move orders that lead to them.", kata="useGraphSearch")
    graph_repetition_bound: int = knob(
        11,
        "Positions whose last move has no more stones and empty points around are never shared, for superko's sake.",
        unit="points",
        low=3,
        high=50,
        kata="graphSearchRepBound",
    )

    # --- Backup: how children make up their parent's value ----------------------------------------------------
    value_weight_exponent: float = knob(
        0.25, "How strongly children that look bad lose weight.", low=0.0, high=1.0, kata="valueWeightExponent"
    )
    noise_pruning: bool = knob(
        True, "Ignore visits beyond a bad move's policy share in its parent's value.", kata="useNoisePruning"
    )
    noise_prune_scale: float = knob(
        0.15,
        "Utility gap at which most of that surplus is ignored.",
        low=0.001,
        high=10.0,
        kata="noisePruneUtilityScale",
    )
    uncertainty: bool = knob(
        True, "Weigh evaluations by the network's own error estimate, where it has one.", kata="useUncertainty"
    )
    uncertainty_coefficient: float = knob(
        0.25, "Utility error at which an evaluation weighs about 1.", low=0.0001, high=1.0, kata="uncertaintyCoeff"
    )
    uncertainty_max_weight: float = knob(
        8.0,
        "Weight of an evaluation without error, and of a finished game.",
        low=1.0,
        high=100.0,
        kata="uncertaintyMaxWeight",
    )
    subtree_bias_factor: float = knob(
        0.45,
        "Correct evaluations by what searching showed after similar local moves.",
        low=0.0,
        high=1.0,
        kata="subtreeValueBiasFactor",
    )
    subtree_bias_exponent: float = knob(
        0.85,
        "Power of the visits that such experience weighs.",
        low=0.0,
        high=1.0,
        kata="subtreeValueBiasWeightExponent",
    )
    subtree_bias_free: float = knob(
        0.8,
        "Share of the experience forgotten with the subtree it came from.",
        low=0.0,
        high=1.0,
        kata="subtreeValueBiasFreeProp",
    )

    # --- The root ---------------------------------------------------------------------------------------------
    root_noise: bool = knob(False, "Dirichlet noise on the root's policy.", kata="rootNoiseEnabled")
    root_noise_concentration: float = knob(
        10.83, "Total concentration of that noise.", low=0.001, high=1e4, kata="rootDirichletNoiseTotalConcentration"
    )
    root_noise_weight: float = knob(
        0.25, "Its share of the policy.", low=0.0, high=1.0, kata="rootDirichletNoiseWeight"
    )
    policy_optimism: float = knob(
        1.0, "Share of the optimistic policy, in networks that have one.", low=0.0, high=1.0, kata="policyOptimism"
    )
    root_policy_optimism: float = knob(0.2, "The same at the root.", low=0.0, high=1.0, kata="rootPolicyOptimism")
    root_policy_temperature: float = knob(
        1.0, "Flattens (above 1) the root's policy.", low=0.01, high=100.0, kata="rootPolicyTemperature"
    )
    root_symmetries: int = knob(
        1, "Symmetries averaged in the root's evaluation.", low=1, high=8, kata="rootNumSymmetriesToSample"
    )
    root_symmetry_pruning: bool = knob(
        True, "Look at one only of moves that the board's symmetry makes equal.", kata="rootSymmetryPruning"
    )
    wide_root_noise: float = knob(0.0, "Widens the root in games.", low=0.0, high=5.0, kata="wideRootNoise")
    analysis_wide_root_noise: float = knob(
        0.04, "Widens the root in analysis.", low=0.0, high=5.0, kata="analysisWideRootNoise"
    )
    random_symmetry: bool = knob(True, "Show the network each position in a random one of its 8 symmetries.")

    # --- Choosing the move ------------------------------------------------------------------------------------
    temperature: float = knob(
        0.1, "Randomness of the chosen move, late in a game.", low=0.0, high=5.0, kata="chosenMoveTemperature"
    )
    temperature_early: float = knob(
        0.5, "Randomness of the first moves.", low=0.0, high=5.0, kata="chosenMoveTemperatureEarly"
    )
    temperature_halflife: float = knob(
        19.0,
        "How fast it goes from one to the other.",
        unit="moves on 19x19",
        low=0.1,
        high=1e5,
        kata="chosenMoveTemperatureHalflife",
    )
    temperature_only_below: float = knob(
        1.0,
        "Only moves with a smaller share of the visits are randomised.",
        low=0.0,
        high=1.0,
        kata="chosenMoveTemperatureOnlyBelowProb",
    )
    chosen_move_subtract: float = knob(
        0.0, "Visits taken off each move before choosing.", unit="visits", low=0.0, high=1e10, kata="chosenMoveSubtract"
    )
    chosen_move_prune: float = knob(
        1.0, "Moves with fewer visits are never chosen.", unit="visits", low=0.0, high=1e10, kata="chosenMovePrune"
    )
    lcb: bool = knob(True, "Choose by lower confidence bound.", kata="useLcbForSelection")
    lcb_stdevs: float = knob(5.0, "How confident.", unit="standard deviations", low=1.0, high=12.0, kata="lcbStdevs")
    lcb_min_weight: float = knob(
        0.15,
        "Share of the most visited move's weight that a move needs to be considered.",
        low=0.0,
        high=1.0,
        kata="minVisitPropForLCB",
    )

    # --- Passing and resigning --------------------------------------------------------------------------------
    root_ending_bonus: float = knob(
        0.5,
        "Discourages pointless moves inside settled areas.",
        unit="points",
        low=-1.0,
        high=1.0,
        kata="rootEndingBonusPoints",
    )
    root_prune_useless: bool = knob(
        True, "After four passes of the opponent, never play into settled areas.", kata="rootPruneUselessMoves"
    )
    conservative_pass: bool = knob(True, "Never take one's own pass for the end of the game.", kata="conservativePass")
    explore_pass: bool = knob(
        True, "Where a pass would end the game, look at a pass and at another move.", kata="enableMorePassingHacks"
    )
    resign: bool = knob(False, "Resign lost games.", kata="allowResignation")
    resign_threshold: float = knob(
        -0.90, "Win minus loss below which a game counts as lost.", low=-1.0, high=0.0, kata="resignThreshold"
    )
    resign_turns: int = knob(3, "How often in a row.", unit="moves", low=1, high=100, kata="resignConsecTurns")
    resign_min_score: float = knob(
        3.0,
        "Never resign a game closer than this.",
        unit="points",
        low=0.0,
        high=1000.0,
        kata="resignMinScoreDifference",
    )
    resign_min_moves: float = knob(
        0.0,
        "Nor before this many moves.",
        unit="moves per point of the board",
        low=0.0,
        high=1.0,
        kata="resignMinMovesPerBoardArea",
    )

    # --- The machine ------------------------------------------------------------------------------------------
    workers: int = knob(
        0, "Searching threads; 0 is one per core this process may use.", low=0, high=1024, kata="numSearchThreads"
    )
    batch: int = knob(4, "Positions each of them has evaluated at a time.", unit="positions", low=1, high=1024)
    memory: int = knob(1024, "Memory for the tree.", unit="MB", low=16, high=1 << 20)
    cache_memory: int = knob(128, "Memory for past evaluations; 0 keeps none.", unit="MB", low=0, high=1 << 20)
    seed: int = knob(-1, "Seed of all random choices; -1 takes one from the system.", low=-1, high=(1 << 62))

    def __post_init__(self) -> None:
        """Raises ParameterError for a value outside its bounds."""
        for field, spec in knobs():
            value = getattr(self, field.name)
            if isinstance(value, bool):
                continue
            if not (
                value == value and (spec.low is None or value >= spec.low) and (spec.high is None or value <= spec.high)
            ):
                raise ParameterError(f"{field.name} must be {bounds_text(spec)}, not {value}")

    def with_value(self, name: str, value: object) -> SearchParameters:
        """These parameters with one changed, by our name or KataGo's, to a value or its text. Raises ParameterError."""
        field, _ = find_knob(name)
        return dataclasses.replace(self, **{field.name: _convert(field, value)})


def knobs() -> Iterator[tuple[dataclasses.Field[Any], Knob]]:
    """Every parameter with its declaration, in order."""
    for field in dataclasses.fields(SearchParameters):
        yield field, field.metadata["knob"]


def find_knob(name: str) -> tuple[dataclasses.Field[Any], Knob]:
    """A parameter by our name or KataGo's; case, `-` and `_` are free. Raises ParameterError."""
    wanted = _folded(name)
    for field, spec in knobs():
        if wanted in (_folded(field.name), _folded(spec.kata)):
            return field, spec
    raise ParameterError(f"unknown parameter: {name}")


def bounds_text(spec: Knob) -> str:
    """`0 to 1`, `at least 0` or the like."""
    if spec.low is not None and spec.high is not None:
        return f"{spec.low:g} to {spec.high:g}"
    return f"at least {spec.low:g}" if spec.low is not None else "a number"


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _convert(field: dataclasses.Field[Any], value: object) -> Any:
    text = str(value).strip().lower()
    kind: Any = type(field.default)
    if kind is bool:
        if text in ("true", "on", "yes", "1"):
            return True
        if text in ("false", "off", "no", "0"):
            return False
        raise ParameterError(f"{field.name} must be true or false, not {value}")
    try:
        return kind(text)
    except ValueError:
        raise ParameterError(
            f"{field.name} must be {'an integer' if kind is int else 'a number'}, not {value}"
        ) from None
