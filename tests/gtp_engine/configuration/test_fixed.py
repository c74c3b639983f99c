"""KataGo's parameters that have one value here: read, set to that value, and refused with the reason otherwise."""

from __future__ import annotations

import json

import pytest

from gtp_engine.configuration.katago import FIXED, fixed_name, require_fixed, value_text
from gtp_engine.configuration.parameters import parameters
from nobi_machine.parameters import ParameterError, declared_by, folded
from search.nobi.parameters import HumanParameters
from tests.gtp_engine.fakes import Dialogue

KATAGO = """
    allowResignation alwaysComputePassAliveUnderSuicideRules analysisIgnorePreRootHistory analysisWideRootNoise
    antiMirror avoidMYTDaggerHackPla avoidRepeatedPatternUtility chosenMovePrune chosenMoveSubtract
    chosenMoveTemperature chosenMoveTemperatureEarly chosenMoveTemperatureHalflife
    chosenMoveTemperatureOnlyBelowProb conservativePass cpuctExploration cpuctExplorationBase
    cpuctExplorationLog cpuctUtilityStdevPrior cpuctUtilityStdevPriorWeight cpuctUtilityStdevScale delayMoveMax
    delayMoveScale drawEquivalentWinsForWhite dynamicScoreCenterScale dynamicScoreCenterZeroWeight
    dynamicScoreUtilityFactor enableMorePassingHacks enablePassingHacks endgameTurnTimeDecay evalCacheMinVisits
    fillDameBeforePass fpuLossProp fpuParentWeight fpuParentWeightByVisitedPolicy
    fpuParentWeightByVisitedPolicyPow fpuReductionMax futileVisitsThreshold genmoveAntiMirror
    graphSearchCatchUpLeakProb graphSearchRepBound humanSLProfile humanSLChosenMoveIgnorePass
    humanSLChosenMovePiklLambda humanSLChosenMoveProp humanSLCpuctExploration humanSLCpuctPermanent
    humanSLOppExploreProbWeightful humanSLOppExploreProbWeightless humanSLPlaExploreProbWeightful
    humanSLPlaExploreProbWeightless humanSLRootExploreProbWeightful humanSLRootExploreProbWeightless
    ignoreAllHistory ignorePreRootHistory lagBuffer lcbStdevs maxPlayouts maxPlayoutsPondering maxTime
    maxTimePondering maxVisits maxVisitsPondering midgameTimeFactor midgameTurnPeakTime minPlayoutsPerThread
    minVisitPropForLCB nnPolicyTemperature noResultUtilityForWhite nodeTableShardsPowerOfTwo
    noisePruneUtilityScale noisePruningCap numSearchThreads numVirtualLossesPerThread
    obviousMovesPolicyEntropyTolerance obviousMovesPolicySurpriseTolerance obviousMovesTimeFactor
    overallocateTimeFactor playoutDoublingAdvantage playoutDoublingAdvantagePla policyOptimism ponderingEnabled
    rootDesiredPerChildVisitsCoeff rootDirichletNoiseTotalConcentration rootDirichletNoiseWeight
    rootEndingBonusPoints rootFpuLossProp rootFpuReductionMax rootNoiseEnabled rootNumSymmetriesToSample
    rootPolicyOptimism rootPolicyTemperature rootPolicyTemperatureEarly rootPruneUselessMoves
    rootSymmetryPruning searchFactorAfterOnePass searchFactorAfterTwoPass staticScoreUtilityFactor
    subtreeValueBiasFactor subtreeValueBiasFreeProp subtreeValueBiasTableNumShards
    subtreeValueBiasWeightExponent treeReuseCarryOverTimeFactor uncertaintyCoeff uncertaintyExponent
    uncertaintyMaxWeight useEvalCache useGraphSearch useLcbForSelection useNoisePruning useNonBuggyLcb
    useUncertainty valueWeightExponent wideRootNoise winLossUtilityFactor
"""
"""What KataGo 1.17's `kata-list-params` names, without the hashes of a human profile, which no user sets."""


def test_every_parameter_of_katago_is_known() -> None:
    ours = {folded(name) for each in parameters() for name in (each.name, each.kata)}
    assert [name for name in KATAGO.split() if folded(name) not in ours and fixed_name(name) is None] == []


def test_none_is_fixed_that_can_be_set() -> None:
    """But for those that there are only where a network imitates people."""
    of_people = {"humanslprofile", *(folded(each.kata) for each in declared_by(HumanParameters))}
    ours = {folded(each.kata) for each in parameters()} - of_people
    assert [name for name in FIXED if folded(name) in ours] == []


@pytest.mark.parametrize("name", FIXED)
def test_one_value(name: str) -> None:
    value, reason = FIXED[name]
    assert fixed_name(name.upper()) == name
    require_fixed(name, value)
    require_fixed(name, value_text(value))
    for other in (not value if isinstance(value, bool) else 7.25, "no such", None, [1], "9" * 5000):
        with pytest.raises(ParameterError, match="can only be") as error:
            require_fixed(name, other)
        assert str(error.value).endswith(reason)


def test_they_are_listed_and_told_with_the_others() -> None:
    dialogue = Dialogue()
    assert set(FIXED) <= set(dialogue.ask("kata-list-params").split())
    told = json.loads(dialogue.ask("kata-get-params"))
    assert {name: told.get(name) for name in FIXED} == {name: value for name, (value, _) in FIXED.items()}
