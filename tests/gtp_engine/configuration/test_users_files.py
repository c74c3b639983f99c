"""Files of the user's that an earlier version read, or that were never right: a line each, and the engine starts.

What is given on the command line stays an error, but for a value that an earlier version took.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.configuration import parameters
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.edit import write_values
from gtp_engine.configuration.katago import Settings, adopt, of_a_game
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.players import check, chosen_player, make_surely
from nets.at_hand import AmbiguousName
from nets.evaluator import EvaluatorError
from nobi_machine.parameters import MOST_COMPLAINTS, ParameterError
from nobi_machine.text import printable_path
from tests.conftest import REPOSITORY

TINY = REPOSITORY / "tests" / "nets" / "golden_rows"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration file, which is not there yet."""
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr("gtp_engine.players.lacking_addresses", lambda _bytes: None)
    return tmp_path / "config.toml"


def complaints_of(configuration: Configuration, file: Path) -> list[str]:
    """The complaints, without what all of them begin and end with."""
    start, end = f"{printable_path(file)}: ", " ignored"
    assert all(each.startswith(start) and each.endswith(end) for each in configuration.complaints)
    return [each[len(start) : -len(end)].rstrip(";") for each in configuration.complaints]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("visit_limit = 1", "unknown parameter: visit_limit (did you mean visits?)"),
        ("playout_share = 0.5", "unknown parameter: playout_share (gone: a network's values stand alone)"),
        ("[uct]\nexploration = 9", "uct.exploration must be 0 to 2, not 9"),
        ("visits = true", "visits must be a whole number, not True"),
        ("visits = 0", "visits must be 1 to 1125899906842624, not 0"),
        ("[search.deep]\ncpuct = 1", "unknown parameter: deep ("),
        ('precision = "int4"', "precision must be one of auto, int16, fp32, fp16, not int4"),
        ('precision = "int8"', "precision int8 is gone: auto instead"),
        ('human_profile = "rank_99k"', "human_profile: "),
        ('net = "gone.bin.gz"', "gone.bin.gz: No such file or directory; net"),
        ('device = "directml"', "device directml is not here (there is: "),
        ('player = "nobody"', "unknown player nobody (known: "),
        ("memory = 1048576", "memory must be at most "),
    ],
)
def test_one_wrong_line(text: str, complaint: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else in the file holds."""
    monkeypatch.setattr("nobi_machine.parameters.memory_for_search", lambda: 4 << 30)
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    file.write_text(f"komi = 1.5\n{text}\n[engine]\nlag = 2\n", encoding="utf-8")
    configuration = check(load(None, [], {}))
    (found,) = complaints_of(configuration, file)
    assert found.startswith(complaint)
    assert configuration.values == {"komi": 1.5, "lag": 2.0}
    assert check(configuration) == configuration
    assert chosen_player(configuration) == "nobi"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("visits = 1\n[search]\nvisits = 2", "visits = 2"),
        ("visits = 3\nmax_visits = 1\nmaxVisits = 2", "maxVisits = 2"),
        ("visits = 1\nmaxVisits = 2\n[search]\nvisits = 0", "maxVisits = 2"),
    ],
)
def test_of_several_values_the_last_holds(text: str, last: str, file: Path) -> None:
    file.write_text(text)
    configuration = load(None, [], {})
    assert configuration.values == {"visits": 2}
    assert configuration.complaints[-1:] == (f"{printable_path(file)}: visits is given twice; {last} holds",)


@pytest.mark.parametrize("text", ["exploration = 0.5", "[playouts]\nexploration = 0.5"])
def test_a_name_that_got_a_scope_is_understood(text: str, file: Path) -> None:
    file.write_text(text)
    configuration = load(None, [], {})
    assert configuration.values == {"uct.exploration": 0.5}
    place = printable_path(file)
    assert configuration.complaints == (f"{place}: exploration is uct.exploration now; taken for that",)
    write_values(file, {"uct.exploration": 0.25})
    assert file.read_text().strip() == text.replace("0.5", "0.25")


def test_what_is_no_toml_is_said_with_its_line(file: Path) -> None:
    file.write_text("visits = 1\nkomi = 1,5\n")
    configuration = load(None, [], {})
    assert configuration.values == {}
    (complaint,) = configuration.complaints
    assert complaint.startswith(f"{file}: not TOML: ")
    assert "line 2" in complaint
    assert complaint.endswith("; the file is ignored")


def test_files_that_cannot_be_read(file: Path) -> None:
    file.symlink_to(file.with_name("gone"))
    assert load(None, [], {}).complaints == (f"{file}: No such file or directory; the file is ignored",)
    file.unlink()
    file.write_bytes(b"net = '\xe9'")
    assert load(None, [], {}).complaints == (f"{file}: not TOML: not in UTF-8; the file is ignored",)
    file.write_text("#" * (1 << 20))
    assert load(None, [], {}).complaints == (f"{file}: larger than 262144 bytes; the file is ignored",)


def test_values_that_do_not_go_together_are_left_out_together(file: Path) -> None:
    """None of a pair holds alone, as nobody asked for that."""
    file.write_text('player = "puct"\nnet = "none"\nkomi = 1.5\n')
    configuration = check(load(None, [], {}))
    assert configuration.values == {"komi": 1.5}
    assert complaints_of(configuration, file) == ["the player puct needs a network: --net FILE; player and net"]


def test_where_one_of_a_pair_is_from_the_command_line_that_one_holds(file: Path) -> None:
    for text, options, values in (
        ('net = "none"', {"player": "puct"}, {"player": "puct"}),
        ('player = "puct"', {"net": "none"}, {"net": "none"}),
        ('human_profile = "rank_5k"', {"net": "strong"}, {"net": "strong"}),
        ('device = "directml"\nkomi = 1', {"precision": "int16"}, {"precision": "int16", "komi": 1.0}),
    ):
        file.write_text(text)
        configuration = check(load(None, [], options))
        assert configuration.values == values
        assert len(configuration.complaints) == 1


def test_several_faults_are_told_apart(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is innocent stays: the profile needs its network, and memory has nothing to do with either."""
    monkeypatch.setattr("nobi_machine.parameters.memory_for_search", lambda: 4 << 30)
    opened: list[str | None] = []
    monkeypatch.setattr("gtp_engine.players.check_network", lambda each, **_: opened.append(each.engine.net))
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    file.write_text(
        'net = "human.bin.gz"\nhuman_profile = "rank_5k"\nworkers = 2\nmemory = 1048576\n'
        'device = "cuda"\nprecision = "fp32"\n'
    )
    configuration = check(load(None, [], {}))
    assert set(configuration.values) == {"net", "human_profile", "workers", "precision"}
    assert [each.rpartition("; ")[2] for each in complaints_of(configuration, file)] == ["memory", "device"]
    assert opened[-1] == "human.bin.gz"


def test_the_command_line_stays_an_error(file: Path) -> None:
    file.write_text("visits = 0\n")
    for settings in (["visits=0"], ["player=puct", "net=none"], ["net=gone.bin.gz"], ["device=directml"]):
        with pytest.raises((ParameterError, UserError, EvaluatorError)):
            check(load(None, settings, {}))
    with pytest.raises(ParameterError, match=r"--set: unknown parameter: playout_share \(gone: "):
        load(None, ["playout_share=1"], {})


def test_a_departed_value_is_a_line_on_the_command_line_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GUIs have command lines of earlier versions."""
    gone = "precision int8 is gone: auto instead"
    for settings, options, line in ((["precision=INT8"], {}, f"--set: {gone}"), ([], {"precision": "int8"}, gone)):
        configuration = load(None, settings, options)
        assert (configuration.engine.precision, configuration.complaints) == ("auto", (line,))
    for command in ("gtp", "benchmark"):
        assert command_line.run([command, "--precision", "int8", "--net", "gone.bin.gz"]) == 1
        assert capsys.readouterr().err == f"nobi: {gone}\nnobi: gone.bin.gz: No such file or directory\n"
    adopted = adopt(Settings({"precision": "int8"}, {}, []), of_a_game(False))
    assert (adopted.values, adopted.reasons) == ({"precision": "auto"}, [gone])


def test_what_departed_is_declared_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in parameters.DEPARTED.items():
        assert parameters.known_parameter(name) is None
        assert not text.startswith("write ") or parameters.known_parameter(text.removeprefix("write "))
    monkeypatch.setitem(parameters.DEPARTED, "yesterdaysName", "write cpuct")
    file.write_text("yesterdays-name = 1\n")
    assert complaints_of(load(None, [], {}), file) == ["unknown parameter: yesterdays-name (gone: write cpuct)"]
    with pytest.raises(ParameterError, match=r"unknown parameter: yesterdays_name \(gone: write cpuct\)"):
        load(None, ["yesterdays_name=1"], {})


@pytest.mark.parametrize("content", [b"not a network", gzip.compress(b"broken\n8\n")], ids=["a text", "compressed"])
def test_a_damaged_network_gives_way_to_the_embedded_one(content: bytes, file: Path, tmp_path: Path) -> None:
    net = tmp_path / "damaged.bin.gz"
    net.write_bytes(content)
    file.write_text(f"net = {str(net)!r}\n")
    configuration = check(load(None, [], {}))
    assert configuration.values == {}
    (complaint,) = complaints_of(configuration, file)
    assert complaint.startswith(f"{net}: ")
    assert complaint.endswith("; net")


def test_what_fails_only_when_it_is_opened_gives_way_too(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A device that is offered and does not start; a network that was readable when it was last opened."""
    file.write_text('device = "cuda"\nnet = "a.bin.gz"\nkomi = 1\n')
    tried: list[dict[str, object]] = []

    def make(configuration: Configuration) -> Configuration:
        tried.append(dict(configuration.values))
        if "device" in configuration.values:
            raise EvaluatorError("device cuda does not start")
        if "net" in configuration.values:
            raise EvaluatorError("a.bin.gz: Permission denied")
        return configuration

    assert make_surely(load(None, [], {}), make).values == {"komi": 1.0}
    assert [set(each) for each in tried] == [{"device", "net", "komi"}, {"net", "komi"}, {"komi"}]
    assert capsys.readouterr().err == (
        f"nobi: {file}: device cuda does not start; device ignored\n"
        f"nobi: {file}: a.bin.gz: Permission denied; net ignored\n"
    )
    with pytest.raises(EvaluatorError):
        make_surely(load(None, ["device=cuda"], {}), make)


def start(folder: Path, *options: str, commands: str = "name\nquit\n") -> subprocess.CompletedProcess[str]:
    """Start the engine as a GUI does."""
    return subprocess.run(
        [sys.executable, "-m", "gtp_engine.cli", *options],
        cwd=REPOSITORY,
        env={**os.environ, "NOBI_CONFIG_DIR": str(folder)},
        input=commands,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_an_engine_starts_and_says_what_it_left_out(file: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    names = "".join(f"old_{number} = {number}\n" for number in range(5000))
    file.write_text(f'log = {str(log)!r}\nnet = "gone.bin.gz"\n{names}')
    done = start(tmp_path, "gtp")
    assert (done.returncode, done.stdout) == (0, "= Nobi\n\n= \n\n")
    lines = done.stderr.splitlines()
    assert f"nobi: {file}: gone.bin.gz: No such file or directory; net ignored" in lines
    assert f"nobi: {file}: and {5000 - MOST_COMPLAINTS} more; ignored" in lines
    assert len(lines) == MOST_COMPLAINTS + 3  # and that it is ready
    assert len(done.stderr) < 4096, "where nobody reads stderr, an engine stops at 64 KiB"
    logged = log.read_text()
    assert all(line.removeprefix("nobi: ").replace(str(file), file.name) in logged for line in lines[:-1])


def test_an_analysis_engine_starts_with_a_file_for_another_network(file: Path, tmp_path: Path) -> None:
    """Configurations of KataGo's that people share name a profile of a HumanSL network."""
    config = tmp_path / "analysis.cfg"
    config.write_text("humanSLProfile = rank_5k\nmaxVisits = 0\nnumAnalysisThreads = 2\n")
    file.write_text('net = "none"\nplayer = "rave"\n')
    query = '{"id":"a","action":"query_version"}\n'
    done = start(tmp_path, "analysis", "-config", str(config), commands=query)
    assert done.returncode == 0
    assert '"version"' in done.stdout
    assert f"nobi: {config}: maxVisits must be 1 to 1125899906842624, not 0; ignored\n" in done.stderr
    assert f"nobi: {config}: human_profile needs a HumanSL network: --net FILE; human_profile ignored\n" in done.stderr
    assert f"nobi: {file}: the analysis engine needs a network: --net FILE; net ignored\n" in done.stderr
    file.unlink()
    done = start(tmp_path, "analysis", "-override-config", "humanSLProfile=rank_5k", commands=query)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_name_that_several_networks_have_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def network_named(name: str) -> None:
        raise AmbiguousName(f"{name}: two networks begin so")

    monkeypatch.setattr("nets.at_hand.network_named", network_named)
    file.write_text('net = "b18"\nhuman_net = "b18"\n')
    configuration = load(None, [], {})
    assert configuration.has_human_net, "which is asked before anything is checked"
    found = complaints_of(check(configuration), file)
    assert found == [f"b18: two networks begin so; {name}" for name in ("net", "human_net")]


def test_editing_keeps_what_is_left_out_as_it_is(file: Path) -> None:
    text = '# mine\nvisit_limit = 7 # old\nprecision = "int4"\n[search]\nvisits = "many"\nbatch = 2\n'
    file.write_text(text)
    write_values(file, {"batch": 3, "workers": 1})
    assert file.read_text() == text.replace("batch = 2\n", "batch = 3\n").replace(
        "[search]\n", "[search]\nworkers = 1\n"
    )
    write_values(file, {"precision": "fp32"})
    assert load(None, [], {}).values == {"batch": 3, "workers": 1, "precision": "fp32"}
    for content in (b"visits = \n", b"# \xff\n"):
        file.write_bytes(content)
        with pytest.raises(UserError, match="set batch = 3 in it yourself"):
            write_values(file, {"batch": 3})
        assert file.read_bytes() == content
