"""`nobi tune`: what it tries and writes, and that a user's file keeps everything else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.benchmark import trials, tune
from gtp_engine.benchmark.trials import Choice, Trial
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.configuration.edit import changed, template, write_values
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from nets.at_hand import FOR_PROCESSORS, PUBLISHED
from nets.devices import USUAL_BATCH
from nets.embedded import EMBEDDED, network_file
from nets.evaluator import ConstantEvaluator, Evaluator, EvaluatorAttributes, EvaluatorError
from search.nobi import search as puct_search
from tests.gtp_engine.benchmark.reckoned import Reckoned

FOUND = {"precision": "auto", "workers": 3, "batch": 4}


@pytest.fixture(autouse=True)
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path / "user"))
    return tmp_path / "user" / "config.toml"


# --- The file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[engine]\nprecision = "auto"\n\n[search]\nbatch = 4\nworkers = 3\n'),
        (
            "visits = 7  # few",
            'visits = 7  # few\n\n[engine]\nprecision = "auto"\n\n[search]\nbatch = 4\nworkers = 3\n',
        ),
        (
            "# mine\nbatch=1# why\n\n[search] # s\nnumSearchThreads = 12   # cores\n[engine]\nprecision = 'int16'\n",
            '# mine\nbatch=4# why\n\n[search] # s\nnumSearchThreads = 3   # cores\n[engine]\nprecision = "auto"\n',
        ),
        (
            "[search]\r\ncpuct = 2\r\n",
            '[search]\r\nbatch = 4\r\nworkers = 3\r\ncpuct = 2\r\n\r\n[engine]\r\nprecision = "auto"\r\n',
        ),
        (
            '# precision = "auto"\n# batch = 2\n# workers = 0\n',
            '# precision = "auto"\nprecision = "auto"\n# batch = 2\nbatch = 4\n# workers = 0\nworkers = 3\n',
        ),
        (
            'search = { batch = 2, workers = 1 } # s\nprecision = "int16"\n',
            'search = { batch = 4, workers = 3 } # s\nprecision = "auto"\n',
        ),
        (
            'batch = 2\nprecision = "int16"\n[search]\n"numSearch\\u0054hreads" = 1\n',
            'batch = 4\nprecision = "auto"\n[search]\n"numSearch\\u0054hreads" = 3\n',
        ),
        (
            'log = "a # b = 1"\nsearch.batch = 2\nsearch.workers = 1\n"precision" = "fp32"\n',
            'log = "a # b = 1"\nsearch.batch = 4\nsearch.workers = 3\n"precision" = "auto"\n',
        ),
    ],
)
def test_changed_files(before: str, after: str, user_file: Path) -> None:
    assert changed(before, FOUND) == after
    user_file.parent.mkdir()
    user_file.write_bytes(before.encode())
    earlier = load(user_file, [], {}).values
    write_values(user_file, FOUND)
    assert user_file.read_bytes() == after.encode()
    kept = {name: value for name, value in earlier.items() if name in ("visits", "cpuct", "komi", "log")}
    assert kept.items() <= load(user_file, [], {}).values.items()
    write_values(user_file, FOUND)
    assert user_file.read_bytes() == after.encode()


def test_the_template_is_edited_in_place(user_file: Path) -> None:
    user_file.parent.mkdir()
    user_file.write_text(template(), encoding="utf-8")
    write_values(user_file, FOUND)
    assert load(None, [], {}).values == FOUND
    lines = user_file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line not in FOUND_LINES] == template().splitlines()
    assert lines[lines.index("batch = 4") - 1].startswith("# batch = ")


FOUND_LINES = ('precision = "auto"', "workers = 3", "batch = 4")


def test_files_beyond_editing_stay_as_they_are(user_file: Path) -> None:
    text = 'log = """a\\\n# batch = 1\\\n"""\n'
    user_file.parent.mkdir()
    user_file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"cannot|beyond what can be edited safely; set precision = \"auto\", workers"):
        write_values(user_file, FOUND)
    assert user_file.read_text(encoding="utf-8") == text
    assert [path.name for path in user_file.parent.iterdir()] == ["config.toml"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are POSIX")
def test_links_and_modes_stay(user_file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("visits = 7\n")
    real.chmod(0o640)
    user_file.parent.mkdir()
    user_file.symlink_to(real)
    write_values(user_file, FOUND)
    assert user_file.is_symlink()
    assert load(None, [], {}).values["batch"] == 4
    assert os.stat(real).st_mode & 0o777 == 0o640


# --- The command ------------------------------------------------------------------------------------------------------


class Precise(ConstantEvaluator):
    def __init__(self, precision: str) -> None:
        self.attributes = EvaluatorAttributes("precise", precision, "none")


class Paced(Precise):
    """Takes so many seconds for an evaluation."""

    def __init__(self, pause: float) -> None:
        super().__init__("int16")
        self.pause = pause


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Precisions that were opened; the network in int16 is fit for use. Searches are reckoned."""
    seen: list[str] = []

    def open_evaluator(configuration: Configuration) -> Evaluator:
        seen.append(configuration.engine.precision)
        return Precise("fp32" if configuration.engine.precision == "fp32" else "int16")

    monkeypatch.setattr(tune, "open_evaluator", open_evaluator)
    monkeypatch.setattr(puct_search, "Search", Reckoned)
    monkeypatch.setattr(trials, "MIN_TRIAL_SECONDS", 0.08)
    monkeypatch.setattr(trials, "MIN_EVALUATIONS", 1)
    monkeypatch.setattr(trials, "MIN_BATCHES", 1)
    return seen


def tuned(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert command_line.run(["tune", "--net", "any.bin.gz", "--size", "5", "--seconds", "5", *arguments]) == 0
    return capsys.readouterr().out


def test_what_was_measured_is_reported(opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(tuned(capsys, "--json", "--dry-run"))
    assert report["best"]["precision"] in ("auto", "fp32")
    assert {each["precision"] for each in report["tried"]} == {"int16", "fp32"}
    assert report["best"]["evals_per_second"] > 0
    assert report["present"] == report["tried"][0]
    assert report["seconds_needed"] == 0
    low, high = report["faster_interval"]
    assert low <= report["faster"] <= high
    assert report["present"]["batch"] == USUAL_BATCH
    settings = [(each["precision"], each["workers"], each["batch"]) for each in report["tried"]]
    assert len(set(settings)) == len(settings)
    assert {"auto", "fp32"} == set(opened)


def prefer(monkeypatch: pytest.MonkeyPatch, other_workers: bool) -> None:
    """Let the best setting be the present one, or one that differs from it in the workers only."""

    def choose(present: Trial, others: list[Trial], _seconds: float, _tick: object) -> Choice:
        best = present
        if other_workers:
            alike = [trial for trial in others if trial.evaluator is present.evaluator]
            best = next(trial for trial in alike if trial.parameters.batch == present.parameters.batch)
        for trial in {present, best}:
            trial.search(0, 0.08)
        return Choice(best, present, [present])

    monkeypatch.setattr(tune, "choose", choose)


def test_only_what_changes_is_written(
    opened: list[str], user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Automatic settings that are the best stay automatic: they follow the cores and the network."""
    prefer(monkeypatch, other_workers=False)
    assert f"wrote nothing to {user_file}" in tuned(capsys)
    assert json.loads(tuned(capsys, "--json"))["written"] is None
    assert not user_file.exists()
    prefer(monkeypatch, other_workers=True)
    report = json.loads(tuned(capsys, "--json"))
    assert report["written"] == str(user_file)
    assert load(None, [], {}).values == {"workers": report["best"]["workers"]}


def test_what_was_given_by_hand_is_kept(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefer(monkeypatch, other_workers=False)
    tuned(capsys, "--set", "batch=2", "--set", "precision=int16")
    assert load(None, [], {}).values == {"batch": 2, "precision": "int16"}


def test_a_batch_that_was_measured_is_kept_with_its_precision(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In int16 one position at a time suits this network, and in fp32 four: but what was found best there is one."""

    class Single(Precise):
        def suited_batch(self, height: int, width: int) -> int:
            return 1

    def open_evaluator(configuration: Configuration) -> Evaluator:
        return Precise("fp32") if configuration.engine.precision == "fp32" else Single("int16")

    def choose(present: Trial, others: list[Trial], _seconds: float, _tick: object) -> Choice:
        best = next(each for each in others if each.evaluator.attributes.precision == "fp32")
        best = Trial(best.evaluator, present.parameters, present.width, present.height)
        for trial in (present, best):
            trial.search(0, 0.08)
        return Choice(best, present, [present])

    monkeypatch.setattr(tune, "open_evaluator", open_evaluator)
    monkeypatch.setattr(tune, "choose", choose)
    tuned(capsys)
    assert load(None, [], {}).values == {"precision": "fp32", "batch": 1}


def test_a_dry_run_does_not_take_a_wrong_name_for_a_new_file(
    opened: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "typo.toml")
    assert command_line.run(["tune", "--net", "any.bin.gz", "--seconds", "5", "--dry-run", "--config", missing]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_a_slow_network_is_not_judged_in_haste(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(puct_search, "Search", Reckoned)
    monkeypatch.setattr(tune, "open_evaluator", lambda configuration: Paced(0.1))
    out = tuned(capsys)
    assert "best      unknown: comparing settings at this speed takes --seconds " in out
    assert not user_file.exists()


def test_a_dry_run_writes_nothing(
    opened: list[str], user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefer(monkeypatch, other_workers=True)
    out = tuned(capsys, "--dry-run")
    assert f" to {user_file}" in out
    assert "\nwould write workers = " in out
    assert not user_file.exists()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_as_windows_programs_write_it(user_file: Path, encoding: str) -> None:
    user_file.parent.mkdir(parents=True, exist_ok=True)
    user_file.write_text("visits = 7  # fünf\n", encoding=encoding)
    write_values(user_file, {"workers": 3})
    assert user_file.read_text(encoding="utf-8").startswith("visits = 7  # fünf\n")
    assert load(user_file, [], {}).values == {"visits": 7, "workers": 3}


@pytest.mark.parametrize("before", ["visits = 7\n", None])
def test_another_file_can_be_named(
    opened: list[str],
    user_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    before: str | None,
) -> None:
    """One that exists, or one that is to be made; what is in the user's own file does not count."""
    write_values(user_file, {"workers": 77})
    other = tmp_path / "other.toml"
    if before is not None:
        other.write_text(before)
    prefer(monkeypatch, other_workers=True)
    assert f" to {other}" in tuned(capsys, "--config", str(other))
    assert set(load(other, [], {}).values) == ({"workers"} if before is None else {"workers", "visits"})
    assert load(None, [], {}).values == {"workers": 77}


def test_networks_that_give_no_choice(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def open_evaluator(configuration: Configuration) -> Evaluator:
        if configuration.engine.precision == "fp32":
            raise EvaluatorError("this ONNX file is int16")
        return Precise("int16")

    monkeypatch.setattr(tune, "open_evaluator", open_evaluator)
    report = json.loads(tuned(capsys, "--dry-run", "--json"))
    assert report["written"] is None
    assert report["best"]["precision"] == "auto"
    assert {each["precision"] for each in report["tried"]} == {"int16"}


def test_without_a_network(user_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["tune", "--net", "any.bin.gz", "--set", "player=rave"]) == 1
    assert "only the player nobi" in capsys.readouterr().err
    assert not user_file.exists()


# --- The network ------------------------------------------------------------------------------------------------------


@pytest.fixture
def paced(opened: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The larger of two networks, which was fetched: it makes some 50 evaluations a second, the embedded one more."""
    larger = tmp_path / "data" / "networks" / f"{FOR_PROCESSORS}.bin.gz"
    larger.parent.mkdir(parents=True)
    larger.touch()
    os.truncate(larger, PUBLISHED[0].size)
    monkeypatch.setenv("NOBI_DATA_DIR", str(tmp_path / "data"))

    def open_evaluator(configuration: Configuration) -> Evaluator:
        return Paced(0.02 if configuration.net == larger else 0.0005)

    monkeypatch.setattr(tune, "open_evaluator", open_evaluator)
    monkeypatch.setattr(tune, "check_files", lambda configuration: configuration)
    prefer(monkeypatch, other_workers=False)
    return larger


@pytest.mark.parametrize(
    ("before", "seconds", "is_enough"),
    [(None, "5", True), (EMBEDDED, "0.02", False), (FOR_PROCESSORS, "0.02", False), (FOR_PROCESSORS, "5", True)],
)
def test_the_network_follows_the_time_of_a_move(
    paced: Path, before: str | None, seconds: str, is_enough: bool, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if before is not None:
        write_values(user_file, {"net": before})
    assert command_line.run(["tune", "--size", "9", "--time", seconds, "--set", "workers=1", "--set", "batch=1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("compared  strong (")
    assert ("wrote net = " in out) is (is_enough != (before == FOR_PROCESSORS))
    assert load(None, [], {}).net == (paced if is_enough else network_file())


def test_a_network_that_was_named_or_is_not_ranked_stays(
    paced: Path, user_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.bin.gz"
    own.write_bytes(b"any")
    for arguments, file in ((["--net", "strong"], {}), ([], {"net": str(own)})):
        write_values(user_file, {"visits": 7, **file})
        assert command_line.run(["tune", "--size", "9", "--time", "0.02", *arguments]) == 0
        assert "compared" not in capsys.readouterr().out
        assert load(None, [], {}).values == {"visits": 7, **file}


def test_the_network_is_written_also_where_settings_cannot_be_compared(
    paced: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def choose(present: Trial, _others: list[Trial], _seconds: float, _tick: object) -> Choice:
        present.search(0, 0.08)
        return Choice(present, present, [present], needed=99.0)

    monkeypatch.setattr(tune, "choose", choose)
    assert command_line.run(["tune", "--size", "9", "--time", "5", "--set", "workers=1"]) == 0
    out = capsys.readouterr().out
    assert "stronger than the one so far" in out
    assert "takes --seconds 99 or more" in out
    assert load(None, [], {}).values == {"net": str(paced)}
