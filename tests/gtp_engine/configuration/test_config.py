"""Parameters: where their values come from, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from go_rules.rule_names import OTHER_NAMES, PRESETS, rules_from_object
from go_rules.rules import Rules
from gtp_engine import command_line
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.edit import changed, template
from gtp_engine.configuration.katago import Adopted
from gtp_engine.configuration.parameters import find_parameter, parameters
from gtp_engine.configuration.settings import OTHER_RULE_NAMES, RULE_NAMES, EngineSettings
from gtp_engine.configuration.sources import load
from gtp_engine.networks import suited_to
from gtp_engine.players import PLAYERS, check, chosen_player
from gtp_engine.session.records import conditions
from nets.embedded import embedded_network
from nets.evaluator import ConstantEvaluator
from nobi_machine.memory import LEAST
from nobi_machine.parameters import ParameterError, toml_value
from search.nobi.parameters import SearchParameters
from search.textbook.parameters import AlphaZeroParameters, UctParameters
from tests.conftest import REPOSITORY
from tests.gtp_engine.fakes import Dialogue


@pytest.fixture(autouse=True)
def _no_user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path / "user"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_which_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load(None, ["net=~/a.onnx"], {}).net == Path("~/a.onnx").expanduser()
    assert load(None, ["net=none"], {}).net is None
    monkeypatch.setattr("nets.embedded.WEIGHTS", tmp_path)
    assert load(None, [], {}).net is None
    (tmp_path / "nobi-strong.bin.gz").touch()
    assert load(None, [], {}).net == load(None, ["net=strong"], {}).net == tmp_path / "nobi-strong.bin.gz"


def test_a_network_that_has_gone_is_one_line_and_the_embedded_one_plays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "config.toml", 'net = "fast"\nhuman_net = "fast"\n')
    configuration = load(file, [], {})
    assert (configuration.net, configuration.human_net) == (embedded_network(), None)
    gone, human = "net fast is gone: strong instead", "human_net fast is gone: none instead"
    assert configuration.complaints == (f"{file}: {gone}; ignored", f"{file}: {human}; ignored")
    write(file, 'net = "mine.onnx"\n')
    assert load(file, ["net=fast"], {}).net == embedded_network()
    assert load(file, ["net=fast"], {}).complaints == (f"--set: {gone}",)
    assert command_line.run(["gtp", "--net", "fast", "--player", "uct"]) == 1
    assert capsys.readouterr().err.splitlines()[0] == f"nobi: {gone}"


def test_an_installation_without_its_network_plays_by_playouts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen_player(load(None, [], {})) == "nobi"
    assert chosen_player(load(None, ["net=none"], {})) == "rave"
    monkeypatch.setattr("nets.embedded.WEIGHTS", tmp_path)
    configuration = load(None, [], {})
    assert chosen_player(configuration) == "rave"
    check(configuration)
    assert "lacks its network" in capsys.readouterr().err
    for setting in ("net=none", "player=uct"):
        check(load(None, [setting], {}))
        assert capsys.readouterr().err == ""
    with pytest.raises(ParameterError, match="the player network needs a network"):
        check(load(None, ["player=network"], {}))
    for settings in (["net=strong"], ["net=strong", "player=puct"]):
        with pytest.raises(ParameterError, match=r"lacks its network strong \(.*nobi-strong\.bin\.gz\)"):
            chosen_player(load(None, settings, {}))
    assert chosen_player(load(None, ["net=strong", "player=rave"], {})) == "rave"


def test_a_device_has_its_own_defaults() -> None:
    class OnGpu(ConstantEvaluator):
        suited_workers = 2

    defaults = suited_to(OnGpu())
    assert (defaults.workers, defaults.batch) == (2, 0)
    assert suited_to(ConstantEvaluator()) == SearchParameters()
    parameters = load(None, [], {"batch": 3}).fill(defaults)
    assert (parameters.workers, parameters.batch) == (2, 3)


GIGABYTE = 1 << 30


def give_room(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Have a machine with so many bytes for a search."""
    for module in ("nobi_machine.parameters", "search.nobi.parameters", "search.textbook.parameters"):
        monkeypatch.setattr(f"{module}.memory_for_search", lambda: room)


def test_defaults_fit_into_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    give_room(monkeypatch, 512 << 20)
    small = load(None, [], {}).fill(SearchParameters())
    assert (small.memory, small.cache_memory) == (256, 32)
    assert load(None, ["memory=300"], {}).fill(SearchParameters()).memory == 300
    assert load(None, [], {}).fill(UctParameters()).memory == 128
    give_room(monkeypatch, LEAST)
    assert load(None, [], {}).fill(SearchParameters()).memory > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["memory=1048576"], "memory must be at most 3966 with the memory that this machine has, not 1048576"),
        (["memory=4090", "workers=1"], "memory must be at most 3967 with"),
        (["cache_memory=1048576"], "cache_memory must be at most 3070 with"),
        (["batch=1024", "workers=100"], "batch must be at most 117 with"),
        (["batch=100", "workers=1024"], "workers must be at most 117 with"),
        (["player=rave", "memory=2200"], "memory must be at most 2048 with"),
    ],
)
def test_memory_that_the_machine_lacks_is_refused(
    settings: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.nobi.parameters.usable_cores", lambda: 2)
    give_room(monkeypatch, 4 * GIGABYTE)
    with pytest.raises(ParameterError, match=message):
        check(load(None, settings, {}))
    check(load(None, ["memory=2000", "cache_memory=1000"], {}))
    check(load(None, ["player=rave", "memory=1000"], {}))


def test_threads_need_memory_where_a_process_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.nobi.parameters.usable_cores", lambda: 2)
    monkeypatch.setattr("search.nobi.parameters.thread_bytes", lambda: 80 << 20)
    give_room(monkeypatch, GIGABYTE)
    check(load(None, ["memory=256", "workers=6"], {}))
    with pytest.raises(ParameterError, match="workers must be at most 10 with"):
        check(load(None, ["memory=256", "workers=64"], {}))


def test_later_sources_win(tmp_path: Path) -> None:
    file = write(tmp_path / "config.toml", "visits = 100\nkomi = 0.5\nsize = 9\n[search]\ncpuct = 2\n")
    configuration = load(file, ["komi=1.5", "cpuct=3"], {"komi": 2.5, "visits": None})
    assert configuration.engine.visits == 100
    assert configuration.engine.komi == 2.5
    assert configuration.fill(SearchParameters()).cpuct == 3.0
    assert (configuration.engine.size, configuration.engine.board) == ("9", (9, 9))


NOTATION = "koSIMPLEscoreTERRITORYtaxSEKIsui0"
BUTTON = '{"ko":"SITUATIONAL","hasButton":true}'


@pytest.mark.parametrize(
    ("name", "rules", "komi"),
    [
        ("french", PRESETS["aga"][0], 7.5),
        ("NZ", PRESETS["new-zealand"][0], 7.0),
        ("goe", PRESETS["ing"][0], 7.5),
        ("ancientarea", PRESETS["stone-scoring"][0], 7.5),
        ("Chinese_KGS", PRESETS["chinese-kgs"][0], 7.5),
        (NOTATION, PRESETS["japanese"][0], 6.5),
        (f"{NOTATION}komi3.5", PRESETS["japanese"][0], 3.5),
        (BUTTON, rules_from_object({"ko": "SITUATIONAL", "hasButton": True}), 7.0),
        ('{"score":"AREA","Komi":-2}', PRESETS["tromp-taylor"][0], -2.0),
    ],
)
def test_rules_are_named_as_for_kata_set_rules(name: str, rules: Rules, komi: float, tmp_path: Path) -> None:
    """The customary komi goes with them, unless the user has one of their own."""
    file = write(tmp_path / "config.toml", f"rules = {toml_value(name)}\n")
    for configuration in (load(file, [], {}), load(None, [f"rules={name}"], {}), load(None, [], {"rules": name})):
        assert conditions(configuration) == (rules, komi)
        engine = Dialogue(settings=configuration.fill(EngineSettings(size="9"))).session
        assert (engine.game.rules, engine.komi) == (rules, komi)
    assert conditions(load(file, ["komi=0.5"], {})) == (rules, 0.5)


def test_names_of_rules_are_known_before_the_rules_are_loaded() -> None:
    """`nobi gtp` reads the setting before it may answer."""
    settings = [f"rules={name}" for name in (*RULE_NAMES, *OTHER_RULE_NAMES)]
    code = f"import sys; from gtp_engine.configuration.sources import load; [load(None, [s], {{}}) for s in {settings}]"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('numpy' in sys.modules)"],
        cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_what_follows_from_a_setting_counts_only_where_nobody_says_more(tmp_path: Path) -> None:
    file = write(tmp_path / "config.toml", "handicap_doublings = 0.125\n")
    follows = {"handicap_doublings": 0.0, "counter_mirror": False}
    configuration = load(file, [], {}, Adopted({"playout_doublings": 0.0}, follows, [], [], {}, []))
    assert configuration.values == {"playout_doublings": 0.0, "handicap_doublings": 0.125, "counter_mirror": False}
    assert configuration.named == {"playout_doublings", "handicap_doublings"}
    by_hand = load(None, ["counter_mirror=true"], {}, Adopted({}, follows, [], [], {}, []))
    assert by_hand.values["counter_mirror"] is True


def test_the_users_file_is_read_unless_another_is_named(tmp_path: Path) -> None:
    write(tmp_path / "user" / "config.toml", "visits = 7")
    assert load(None, [], {}).engine.visits == 7
    assert load(write(tmp_path / "other.toml", ""), [], {}).engine.visits is None


def test_names_may_be_katagos_and_are_lenient() -> None:
    assert find_parameter("maxVisits").name == "visits"
    assert find_parameter("max-visits").name == "visits"
    assert find_parameter("analysisWideRootNoise").name == "analysis_wide_root_noise"
    assert find_parameter("Analysis-Wide_Root_Noise").name == "analysis_wide_root_noise"
    assert find_parameter("RULES").convert("New_Zealand") == "new-zealand"


@pytest.mark.parametrize(
    "text",
    [
        "uct.exploration = 0.3",
        '"uct.exploration" = 0.3',
        "[uct]\nexploration = 0.3",
        "[uct]\nuct.exploration = 0.3",
        "[search]\ncpuct = 1.0\nuct.exploration = 0.3",  # added at the end of a file
        "UCT.Exploration = 0.3",
        "uct_exploration = 0.3",
    ],
)
def test_names_with_a_scope(text: str, tmp_path: Path) -> None:
    configuration = load(write(tmp_path / "a.toml", text), ["gumbel.noise=true"], {})
    assert configuration.complaints == ()
    assert {**configuration.values, "cpuct": 1.0} == {"cpuct": 1.0, "uct.exploration": 0.3, "gumbel.noise": True}
    assert configuration.fill(UctParameters()).exploration == 0.3
    assert configuration.fill(AlphaZeroParameters()).gumbel_noise
    assert changed(text, {"uct.exploration": 0.5}).strip() == text.replace("0.3", "0.5")


def test_names_with_a_scope_are_written_below_its_heading(tmp_path: Path) -> None:
    values = {"uct.exploration": 0.5, "gumbel.noise": True}
    for text in (template(), ""):
        new = changed(text, values)
        assert load(write(tmp_path / "a.toml", new), [], {}).values == values
        assert {"exploration = 0.5", "noise = true"} <= set(new.splitlines())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("cpuct=x", "--set: cpuct must be a number, not x"),
        ("cpuct=-1", "--set: cpuct must be 0 to 10, not -1"),
        ("visits=0", "--set: visits must be 1 to 1125899906842624, not 0"),
        ("ponder=perhaps", "--set: ponder must be true or false, not perhaps"),
        ("precision=int4", "--set: precision must be one of auto, int16, fp32, fp16, not int4"),
        ("size=1", "--set: size: 1 is no board size (2 to 25, or WIDTHxHEIGHT)"),
        ("rules=chess", "--set: rules: unknown rules: chess (known: tromp-taylor, "),
        ("no_such=1", "--set: unknown parameter: no_such (`nobi config` lists them)"),
        ("=1", "--set: =1 is not name=value"),
    ],
)
def test_bad_settings(setting: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        load(None, [setting], {})
    assert str(caught.value).startswith(message)


def test_the_template_changes_nothing_and_can_be_edited(tmp_path: Path) -> None:
    assert load(write(tmp_path / "a.toml", template()), [], {}) == Configuration()
    (tmp_path / "c.toml").write_text(template(), encoding="utf-16")  # as by PowerShell's `nobi config > c.toml`
    assert load(tmp_path / "c.toml", [], {}) == Configuration()
    lines = template().splitlines()
    uncommented = [line[2:] if " = " in line and line.startswith("# ") else line for line in lines]
    assignments = [line for line in uncommented if not line.startswith("#") and " = " in line]
    assert len(assignments) == len(list(parameters()))
    values = load(write(tmp_path / "b.toml", "\n".join(uncommented)), [], {}).values
    for parameter in parameters():
        if parameter.default is not None:
            assert values[parameter.name] == parameter.default


def test_declarations() -> None:
    names = [parameter.name for parameter in parameters()]
    katas = [parameter.kata for parameter in parameters() if parameter.kata]
    assert len(set(names)) == len(names)
    assert len(set(katas)) == len(katas)
    for parameter in parameters():
        assert parameter.help.rstrip().endswith((".", ")")), parameter.name
        value = parameter.example if parameter.default is None else parameter.default
        assert parameter.convert(value) == value
        assert parameter.convert(str(value)) == value
        assert (parameter.default is None) == bool(parameter.absent)
    assert tuple(PRESETS) == RULE_NAMES
    assert tuple(OTHER_NAMES) == OTHER_RULE_NAMES


def test_nobi_config_shows_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["config", "--set", "cpuct=1.25"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[1:3] for line in out.splitlines() if line.startswith("*")] == [["cpuct", "1.25"]]
    assert command_line.run(["config", "--json", "--set", "visits=3"]) == 0
    assert json.loads(capsys.readouterr().out)["visits"] == 3
    assert command_line.run(["config", "--write"]) == 0
    assert (tmp_path / "user" / "config.toml").read_text(encoding="utf-8") == template()
    assert command_line.run(["config", "--write"]) == 1
    assert "exists already" in capsys.readouterr().err
    other = tmp_path / "other.toml"
    assert (
        command_line.run(["config", "--write", "--config", str(other), "--set", "visits=300", "--set", "cpuct=1.5"])
        == 0
    )
    assert load(other, [], {}).values == {"visits": 300, "cpuct": 1.5}
    assert other.read_text(encoding="utf-8").count("\n") == template().count("\n") + 2, "the rest is the template"


def test_nobi_players(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["players"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PLAYERS)
    assert "`network`" in lines[0], "its former name is told"
