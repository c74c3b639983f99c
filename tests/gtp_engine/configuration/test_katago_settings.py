"""KataGo's settings for a GTP engine: adopted, refused, or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from go_rules.rule_names import named_rules
from gtp_engine import command_line
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.katago import Adopted, Settings, adopt, of_a_game, read_settings
from gtp_engine.errors import UserError
from gtp_engine.gtp import command
from gtp_engine.json_engine.command import analysis
from gtp_engine.session.records import conditions
from gtp_engine.version import GTP_VERSION
from nobi_machine.parameters import ParameterError
from nobi_machine.text import printable_path
from search.nobi.parameters import HumanParameters, SearchParameters

Start = Callable[..., Configuration]

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


def adopted_from(texts: dict[str, str], has_human_net: bool = False) -> Adopted:
    return adopt(Settings(texts, {}, []), of_a_game(has_human_net))


def test_what_is_ours_is_adopted_and_the_rest_is_named() -> None:
    given = {"maxVisits": "500", "RULES": "japanese", "antiMirror": "true", "defaultBoardSize": "13"}
    given |= {"lagBuffer": "1.0"}
    ignored = {"logDir": "x", "numSearchThreads": "6", "searchFactorAfterOnePass": "0.50", "humanSLProfile": ""}
    adopted = adopted_from(given | ignored)
    assert adopted.values == {
        "visits": 500, "rules": "japanese", "analysis_counter_mirror": True, "size": "13", "lag": 1.0,
        "human_profile": None,
    }  # fmt: skip
    assert adopted.implied == {"counter_mirror": True}
    assert adopted.unused == ["logDir", "numSearchThreads"]
    assert adopted.reasons == ["searchFactorAfterOnePass can only be 1.0 here: passes do not shorten a search"]


@pytest.mark.parametrize("subcommand", ["gtp", "analysis"])
def test_settings_of_a_graphics_card(subcommand: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count where a device is named that is not the processor."""
    (tmp_path / "katago.cfg").write_text("nnMaxBatchSize = 16\ncudaUseFP16 = true\nnumSearchThreads = 6\n")
    found: list[Configuration] = []

    class Enough(Exception):
        pass

    def check(configuration: Configuration, *_: int) -> Configuration:
        found.append(configuration)
        raise Enough

    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_engine.players.check", check)
    arguments = ["-config", str(tmp_path / "katago.cfg"), "-override-config", "maxVisits=7"]
    for device in ("cuda", "auto"):
        run = command.gtp if subcommand == "gtp" else analysis
        result = CliRunner().invoke(run, [*arguments, "--set", f"device={device}"])
        assert isinstance(result.exception, Enough), result.output
        ignored = "numSearchThreads" if device == "cuda" else "cudaUseFP16, nnMaxBatchSize, numSearchThreads"
        assert f"settings that mean nothing here: {ignored}\n" in result.output
    assert [(each.engine.device_batch, each.engine.precision) for each in found] == [(16, "fp16"), (0, "auto")]
    result = CliRunner().invoke(run, ["-override-config", "cudaUseFP16=x", "--set", "device=cuda"])
    assert "cudaUseFP16 must be true, false or auto, not x" in str(result.exception)


def test_katagos_words_for_no_limit() -> None:
    """Its configuration files write its bounds."""
    limits = {"maxVisits": str(1 << 50), "maxPlayouts": str(1 << 50), "maxTime": "1e20", "maxTimePondering": "1e20"}
    assert adopted_from(limits).values == {"visits": 1 << 50, "playouts": 1 << 50, "time": 1e20, "ponder_time": 1e20}
    with pytest.raises(ParameterError, match="maxTime must be"):
        adopted_from({"maxTime": "1e21"})


def test_settings_of_a_human_network_need_one() -> None:
    given = {"humanSLChosenMoveProp": "1.0", "humanSLRootExploreProbWeightless": "0.8"}
    given |= {"humanSLPlaExploreProbWeightless": "0"}
    without = adopted_from(given)
    assert (without.values, without.unused) == ({}, [])
    assert without.reasons == [
        f"{name} can only be 0.0 here: there is no human network (-human-model)" for name in list(given)[:2]
    ]
    with_one = adopted_from(given, has_human_net=True)
    assert (with_one.values, with_one.unused) == ({"human_prop": 1.0, "human_weightless": 0.8}, [])
    assert not with_one.reasons
    in_the_tree = adopted_from({"humanSLOppExploreProbWeightful": "0.5"}, has_human_net=True)
    assert "not further down the tree" in in_the_tree.reasons[0]


@pytest.mark.parametrize(
    ("overrides", "values"),
    [
        ("playoutDoublingAdvantage=0.0", {"playout_doublings": 0.0, "handicap_doublings": 0.0}),
        ("dynamicPlayoutDoublingAdvantageCapPerOppLead=0.1", {"handicap_doublings": 0.1}),
        (
            "playoutDoublingAdvantage=1,dynamicPlayoutDoublingAdvantageCapPerOppLead=0.1",
            {"playout_doublings": 1.0, "handicap_doublings": 0.1},
        ),
        ("antiMirror=false", {"analysis_counter_mirror": False, "counter_mirror": False}),
        ("genmoveAntiMirror=false", {"counter_mirror": False}),
        ("genmoveAntiMirror=true,antiMirror=false", {"analysis_counter_mirror": False, "counter_mirror": True}),
    ],
)
def test_a_setting_stands_for_another_that_is_not_named(
    overrides: str, values: dict[str, object], start: Start
) -> None:
    """Fixed doublings take the place of those by handicap, and the setting for mirror Go in analysis is that of games.
    Each is so in KataGo."""
    assert start("-override-config", overrides).values == values


def kept_in(found: list[Configuration]) -> Callable[[Configuration], Configuration]:
    """A check that finds nothing wrong and keeps what it was given."""

    def check(configuration: Configuration) -> Configuration:
        found.append(configuration)
        return configuration

    return check


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts `nobi gtp` with these arguments, up to its first word; the session knows which parameters are named."""
    found: list[Configuration] = []
    told: list[frozenset[str]] = []
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_engine.players.check", kept_in(found))
    monkeypatch.setattr("gtp_engine.gtp.loop.run_gtp", lambda *given: told.append(given[3]))

    def start(*arguments: str) -> Configuration:
        result = CliRunner().invoke(command.gtp, arguments)
        assert result.exit_code == 0, result.output
        assert told[-1] == found[-1].named
        return found[-1]

    return start


def test_rules_as_json_have_quotes_in_them(start: Start, tmp_path: Path) -> None:
    """KataGo ends a value that does not begin with a quote at a #, and at nothing else."""
    for number, line in enumerate((r'{"ko": "SIMPLE", "komi": 3.5}', r'"{\"ko\": \"SIMPLE\", \"komi\": 3.5}"')):
        file = tmp_path / f"{number}.cfg"
        file.write_text(f"rules = {line}  # theirs\n", encoding="utf-8")
        assert conditions(start("-config", str(file))) == (named_rules("koSIMPLE"), 3.5)


def test_of_several_files_the_later_wins(start: Start, tmp_path: Path) -> None:
    first, second = tmp_path / "first.cfg", tmp_path / "second.cfg"
    first.write_text("maxVisits = 30\nmaxPlayouts = 40\nlagBuffer = 1\nantiMirror = true\n", encoding="utf-8")
    second.write_text("maxVisits = 10\nlagBuffer = 2\nantiMirror = false\n", encoding="utf-8")
    files = ["-config", str(first), "-config", str(second)]
    configuration = start(*files, "-override-config", "lagBuffer=3")
    settings = configuration.engine
    assert (settings.visits, settings.playouts, settings.lag) == (10, 40, 3.0)
    assert not configuration.fill(SearchParameters()).counter_mirror
    assert start("-config", str(second), "-config", str(first)).engine.visits == 30


@pytest.mark.parametrize("tool", ["gtp", "analysis"])
def test_what_is_wrong_in_a_file_is_a_line_and_on_the_command_line_an_error(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Configuration] = []

    def check(configuration: Configuration, *_: object) -> Configuration:
        found.append(configuration)
        raise UserError("far enough")

    monkeypatch.setattr("gtp_engine.players.check", check)
    first, second = tmp_path / "first.cfg", tmp_path / "second.cfg"
    first.write_text("maxVisits = many\nmaxPlayouts = 5\nnumAnalysisThreads = 0\nno pair\n", encoding="utf-8")
    second.write_text("maxPlayouts = few\n", encoding="utf-8")
    files = ["-config", str(first), "-config", str(second), "-config", str(tmp_path)]
    assert command_line.run([tool, *files]) == 1
    lines = [
        f"{printable_path(first)}: line 4: not name = value: no pair; ignored",
        f"{printable_path(first)}: maxVisits must be a whole number, not many; ignored",
        f"{printable_path(first)}: numAnalysisThreads must be 1 to 16384, not 0; ignored",
        f"{printable_path(second)}: maxPlayouts must be a whole number, not few; ignored",
        f"{printable_path(tmp_path)}: a folder, not a file; ignored",
    ]
    if tool == "gtp":
        del lines[2]  # it means nothing there
        assert found[0].values == {"playouts": 5}
    assert list(found[0].complaints) == lines
    capsys.readouterr()
    assert command_line.run([tool, *files, "-override-config", "maxVisits=1,maxPlayouts=no"]) == 1
    assert capsys.readouterr().err == "nobi: -override-config: maxPlayouts must be a whole number, not no\n"
    assert command_line.run([tool, *files, "-config", str(tmp_path / "third.cfg")]) == 1
    assert capsys.readouterr().err == f"nobi: {printable_path(tmp_path / 'third.cfg')}: No such file or directory\n"


def test_the_version_that_lizzie_is_told(start: Start) -> None:
    """Old instructions for KataGo end Lizzie's command in `-override-version 0.17`."""
    assert start("-override-version", "0.17").engine.gtp_version == "0.17"
    for arguments in ((), ("-override-version", "")):
        assert start(*arguments).engine.gtp_version == GTP_VERSION


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_files_in_the_encodings_of_windows(encoding: str, tmp_path: Path) -> None:
    """PowerShell writes UTF-16 by `>`, and Notepad may begin with a mark; in the rest only comments are lost."""
    file = tmp_path / "gtp.cfg"
    file.write_text("maxVisits = 3 # für heute\nmaxTime = 2\n", encoding=encoding)
    settings = read_settings([file], [], lambda _setting: None)
    assert (settings.texts, settings.complaints) == ({"maxVisits": "3", "maxTime": "2"}, [])


def test_the_command_line_of_katago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later sources win: the file, -override-config, --set, our own options."""
    (tmp_path / "gtp.cfg").write_text(EXAMPLE)
    found: list[Configuration] = []
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_engine.players.check", kept_in(found))
    monkeypatch.setattr("gtp_engine.gtp.loop.run_gtp", lambda *_: 0)
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
