"""What people would play: `-human-model` beside the network that searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gtp_engine.configuration.sources import load
from gtp_engine.networks import open_evaluator
from nets.bare_evaluation import HumanNetwork
from nets.evaluator import (
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
    ConstantEvaluator,
    Evaluation,
    EvaluationRequest,
)
from nets.human_profile import HumanProfile
from tests.gtp_engine.json_engine.spoken import Spoken, asking
from tests.nets.random_networks import RandomNetwork

ORDINARY = {"kind": "ordinary_block"}
MOVES = [["B", "E5"], ["W", "C4"]]
"""No two moves after these are alike."""


@pytest.fixture(scope="module")
def human(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HumanNetwork]:
    folder = tmp_path_factory.mktemp("human")
    network = RandomNetwork(15, activation="ACTIVATION_MISH")
    network.write([ORDINARY], meta=True)
    path = folder / "human.bin.gz"
    path.write_bytes(network.compressed())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("nets.cache.networks_directory", lambda: folder / "networks")
        settings = [f"net={path}", "precision=fp32", "human_profile=rank_1d"]
        yield HumanNetwork(open_evaluator(load(None, settings, {})))


def test_profiles_by_query(human: HumanNetwork) -> None:
    spoken = Spoken(human=human)
    plain = spoken.ask(asking(includePolicy=True, maxVisits=20))[0]
    assert "humanPolicy" not in plain
    answers = {}
    for profile in ("rank_5k", "preaz_9d", "proyear_1990", "rank_5k"):
        settings = {"humanSLProfile": profile, "ignorePreRootHistory": False}
        answer = spoken.ask(asking(includePolicy=True, maxVisits=20, overrideSettings=settings))[0]
        policy = answer["humanPolicy"]
        assert len(policy) == 82
        assert sum(share for share in policy if share > 0) == pytest.approx(1.0, abs=1e-5)
        assert [i for i, share in enumerate(policy) if share < 0] == [
            i for i, share in enumerate(answer["policy"]) if share < 0
        ]
        for move in answer["moveInfos"]:
            assert move["humanPrior"] in policy
        assert {name for name in answer["rootInfo"] if name.startswith("human")} == {
            "humanScoreMean", "humanScoreStdev", "humanStScoreError", "humanStWrError", "humanWinrate",
        }  # fmt: skip
        assert answers.setdefault(profile, policy) == policy
    assert answers["rank_5k"] != answers["preaz_9d"] != answers["proyear_1990"]
    spoken.end()


def test_both_networks_are_listed(human: HumanNetwork) -> None:
    spoken = Spoken(human=human)
    (answer,) = spoken.ask({"id": "m", "action": "query_models"})
    assert [model["usesHumanSLProfile"] for model in answer["models"]] == [False, True]
    assert [Path(model["name"]).name for model in answer["models"]] == ["constant.bin.gz", "human.bin.gz"]
    spoken.end()


class Sure(ConstantEvaluator):
    """A network that gives the side to move 70 % and five points everywhere, whomever it imitates."""

    def use_profile(self, profile: HumanProfile) -> None:
        pass

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        evaluation.value[:, [WIN, LOSS]] = 0.7, 0.3
        columns = [SCORE_MEAN, SCORE_STDEV, SHORTTERM_WINLOSS_ERROR, SHORTTERM_SCORE_ERROR]
        evaluation.score[:, columns] = 5.0, 12.0, 0.2, 3.0
        return evaluation


def test_what_such_people_expect() -> None:
    spoken = Spoken(human=HumanNetwork(Sure()))
    for perspective, share, points in (("SIDETOMOVE", 0.7, 5.0), ("WHITE", 0.3, -5.0)):
        settings = {"humanSLProfile": "rank_5k", "reportAnalysisWinratesAs": perspective}
        root = spoken.ask(asking(overrideSettings=settings))[0]["rootInfo"]
        assert {name: value for name, value in root.items() if name.startswith("human")} == pytest.approx(
            {"humanWinrate": share, "humanScoreMean": points, "humanScoreStdev": 12.0, "humanStWrError": 0.1,
             "humanStScoreError": 3.0}
        )  # fmt: skip
    spoken.end()


class LastPoint(Sure):
    """A network for which people play on the last point or nowhere."""

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        evaluation.policy[:, -2] = 12.0
        return evaluation


def test_what_such_people_might_play_is_looked_at() -> None:
    """Visits that count for their move alone show what it is worth; the order is by what is played, as in KataGo."""
    spoken = Spoken(human=HumanNetwork(LastPoint()))
    people = {"humanSLProfile": "rank_5k"}
    looking = {**people, "humanSLRootExploreProbWeightless": 0.5, "humanSLCpuctPermanent": 2.0}
    plain, looked_at, chosen = (
        {
            move["move"]: move
            for move in spoken.ask(asking(moves=MOVES, maxVisits=60, overrideSettings=settings))[0]["moveInfos"]
        }
        for settings in (people, looking, {**looking, "humanSLChosenMoveProp": 1.0})
    )
    assert plain.get("J1", {"visits": 0})["visits"] < 5
    assert looked_at["J1"]["visits"] > 20 > looked_at["J1"]["edgeVisits"]
    assert looked_at["J1"]["order"] > 0 == chosen["J1"]["order"]
    spoken.end()
