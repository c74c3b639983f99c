"""KataGo's settings for a GTP engine: adopted, refused, or named."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gtp_engine.configuration.katago_settings import adopt
from gtp_engine.tools import gtp as command
from search.parameters import ParameterError
from search.puct.human_parameters import HumanParameters

EXAMPLE = """
# Logs
logDir = gtp_logs
rules = japanese
allowResignation = true
resignThreshold = -0.85  # lost
maxVisits = 500
# maxPlayouts = 300
ponderingEnabled = false
lagBuffer = 1.0
numSearchThreads = 6
searchFactorAfterOnePass = 0.50
defaultBoardSize = 13
antiMirror = true
humanSLProfile =
humanSLChosenMovePiklLambda = 0.08
nnMaxBatchSize = 32
"""


def test_what_is_ours_is_adopted_and_the_rest_is_named() -> None:
    given = {
        "maxVisits": "500",
        "RULES": "japanese",
        "antiMirror": "true",
        "defaultBoardSize": "13",
        "lagBuffer": "1.0",
    }
    ignored = {"logDir": "x", "numSearchThreads": "6", "searchFactorAfterOnePass": "0.50", "humanSLProfile": ""}
    adopted = adopt(given | ignored)
    assert adopted.values == {
        "visits": 500, "rules": "japanese", "analysis_counter_mirror": True, "size": "13", "lag": 1.0
    }  # fmt: skip
    assert adopted.unused == ["logDir", "numSearchThreads"]
    assert adopted.reasons == ["searchFactorAfterOnePass can only be 1.0 here: passes do not shorten a search"]


def test_katagos_words_for_no_limit() -> None:
    """Its configuration files write its bounds."""
    limits = {"maxVisits": str(1 << 50), "maxPlayouts": str(1 << 50), "maxTime": "1e20", "maxTimePondering": "1e20"}
    assert adopt(limits).values == {"visits": 1 << 50, "playouts": 1 << 50, "time": 1e20, "ponder_time": 1e20}
    with pytest.raises(ParameterError, match="maxTime must be"):
        adopt({"maxTime": "1e21"})


def test_settings_of_a_human_network_need_one() -> None:
    given = {
        "humanSLChosenMoveProp": "1.0",
        "humanSLRootExploreProbWeightless": "0.8",
        "humanSLPlaExploreProbWeightless": "0",
    }
    without = adopt(given)
    assert (without.values, without.unused) == ({}, [])
    assert without.reasons == [
        f"{name} can only be 0.0 here: there is no human network (-human-model)" for name in list(given)[:2]
    ]
    assert adopt(given, has_human_net=True) == ({"human_prop": 1.0, "human_weightless": 0.8}, [], [])
    in_the_tree = adopt({"humanSLOppExploreProbWeightful": "0.5"}, has_human_net=True)
    assert "not further down the tree" in in_the_tree.reasons[0]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"playoutDoublingAdvantage": "0.0"}, {"playout_doublings": 0.0, "handicap_doublings": 0.0}),
        ({"dynamicPlayoutDoublingAdvantageCapPerOppLead": "0.1"}, {"handicap_doublings": 0.1}),
        (
            {"playoutDoublingAdvantage": "1", "dynamicPlayoutDoublingAdvantageCapPerOppLead": "0.1"},
            {"playout_doublings": 1.0, "handicap_doublings": 0.1},
        ),
    ],
)
def test_fixed_doublings_take_the_place_of_those_by_handicap(given: dict[str, str], values: dict[str, float]) -> None:
    assert adopt(given).values == values


def test_a_bad_value_is_refused() -> None:
    with pytest.raises(ParameterError, match="maxVisits must be a whole number, not x"):
        adopt({"maxVisits": "x"})


def test_the_command_line_of_katago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later sources win: the file, -override-config, --set, our own options."""
    (tmp_path / "gtp.cfg").write_text(EXAMPLE)
    found = []
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_engine.players.check", found.append)
    monkeypatch.setattr("gtp_engine.dialogue.loop.run_gtp", lambda *_: 0)
    arguments = ["-model", "other.bin.gz", "-human-model", "h.bin.gz", "-config", str(tmp_path / "gtp.cfg")]
    arguments += ["-override-config", "maxVisits=77,homeDataDir=/x,lagBuffer=0.5", "--set", "lag=0.25", "--time", "3"]
    result = CliRunner().invoke(command.gtp, arguments)
    assert result.exit_code == 0, result.output
    settings = found[0].engine
    assert (settings.net, settings.visits, settings.lag, settings.time) == ("other.bin.gz", 77, 0.25, 3.0)
    assert (settings.rules, settings.size) == ("japanese", "13")
    named = "homeDataDir, logDir, nnMaxBatchSize, numSearchThreads"
    assert f"settings that mean nothing here: {named}\n" in result.output
    assert "searchFactorAfterOnePass can only be 1.0 here" in result.output
    assert (settings.human_net, found[0].fill(HumanParameters()).human_lambda) == ("h.bin.gz", 0.08)
