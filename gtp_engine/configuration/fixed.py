"""KataGo's parameters that have one value here: clients may read them and set them to that value, and to no other.

At each value KataGo does what Nobi does, so nobody is told that something is set which changes nothing.
"""

from __future__ import annotations

from go_rules.machine.texts import parse_number
from search.parameters import ParameterError, folded

_NO_HUMAN_NET = "there is no human network (-human-model)"
_ROOT_ALONE = "what people would play is looked at in the position itself, not further down the tree"
_ONE_TIME = "the clock alone divides the time here"
_OWN_TREE = "the tree is built in another way here"

FIXED: dict[str, tuple[bool | int | float | str, str]] = {
    "avoidMYTDaggerHackPla": (0, "no opening is avoided here"),
    "avoidRepeatedPatternUtility": (0.0, "no pattern is avoided here"),
    "alwaysComputePassAliveUnderSuicideRules": (False, "each network sees what it was trained with"),
    "enablePassingHacks": (True, "networks are never told of a pass in the tree that would lose the game as it stands"),
    "fillDameBeforePass": (False, "dame are not filled for their own sake"),
    "ignoreAllHistory": (False, "only history before the root can be hidden: ignorePreRootHistory"),
    "fpuParentWeight": (0.0, "fpuParentWeightByVisitedPolicy decides"),
    "fpuParentWeightByVisitedPolicy": (True, "the other way is not known here"),
    "uncertaintyExponent": (1.0, "weights fall with the error itself here"),
    "noisePruningCap": (1e50, "weight is pruned without a cap here"),
    "useNonBuggyLcb": (True, "confidence bounds are always right here"),
    "nnPolicyTemperature": (1.0, "only the root's policy can be flattened: rootPolicyTemperature"),
    "rootPolicyTemperatureEarly": (1.0, "one temperature holds for the whole game: rootPolicyTemperature"),
    "rootDesiredPerChildVisitsCoeff": (0.0, "no visits are forced here"),
    "useEvalCache": (False, "only the networks' own evaluations are remembered"),
    "evalCacheMinVisits": (0, "only the networks' own evaluations are remembered"),
    "graphSearchCatchUpLeakProb": (0.0, _OWN_TREE),
    "nodeTableShardsPowerOfTwo": (0, _OWN_TREE),
    "subtreeValueBiasTableNumShards": (1, _OWN_TREE),
    "minPlayoutsPerThread": (8.0, "no more threads search than have eight visits each to make"),
    "midgameTimeFactor": (1.0, _ONE_TIME),
    "midgameTurnPeakTime": (0.0, _ONE_TIME),
    "endgameTurnTimeDecay": (0.0, _ONE_TIME),
    "obviousMovesTimeFactor": (1.0, _ONE_TIME),
    "obviousMovesPolicyEntropyTolerance": (0.0, _ONE_TIME),
    "obviousMovesPolicySurpriseTolerance": (0.0, _ONE_TIME),
    "overallocateTimeFactor": (1.0, _ONE_TIME),
    "treeReuseCarryOverTimeFactor": (0.0, _ONE_TIME),
    "futileVisitsThreshold": (0.0, "a search that may end early does so once the rest will hardly change the move"),
    "searchFactorAfterOnePass": (1.0, "passes do not shorten a search"),
    "searchFactorAfterTwoPass": (1.0, "passes do not shorten a search"),
    "humanSLProfile": ("", "there is no HumanSL network"),
    "humanSLChosenMoveIgnorePass": (False, _NO_HUMAN_NET),
    "humanSLChosenMovePiklLambda": (1e9, _NO_HUMAN_NET),
    "humanSLChosenMoveProp": (0.0, _NO_HUMAN_NET),
    "humanSLCpuctExploration": (1.0, _NO_HUMAN_NET),
    "humanSLCpuctPermanent": (0.0, _NO_HUMAN_NET),
    "humanSLOppExploreProbWeightful": (0.0, _ROOT_ALONE),
    "humanSLOppExploreProbWeightless": (0.0, _ROOT_ALONE),
    "humanSLPlaExploreProbWeightful": (0.0, _ROOT_ALONE),
    "humanSLPlaExploreProbWeightless": (0.0, _ROOT_ALONE),
    "humanSLRootExploreProbWeightful": (0.0, _NO_HUMAN_NET),
    "humanSLRootExploreProbWeightless": (0.0, _NO_HUMAN_NET),
}
"""KataGo's name: the value, and why there is no other."""


def value_text(value: object) -> str:
    """Return a parameter's value as GTP shows it; None means that there is no limit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


_NAMES = {folded(name): name for name in FIXED}


def fixed_name(name: str) -> str | None:
    """Find KataGo's spelling of a parameter with only one value here; None for any other. Case, `-` and `_` are
    free."""
    return _NAMES.get(folded(name))


def require_fixed(name: str, value: object) -> None:
    """Raise ParameterError unless `value`, or its text, is the one value that the parameter has. `name` is in FIXED."""
    fixed, reason = FIXED[name]
    text = value_text(value).strip().lower()
    try:
        is_equal = parse_number(text) == fixed
    except ValueError:
        is_equal = text == value_text(fixed)
    if is_equal:
        return
    raise ParameterError(f"{name} can only be {value_text(fixed) or 'empty'} here: {reason}")
