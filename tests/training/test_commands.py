"""The training commands of `nobi`, one after another: label, train, export, play, measure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gtp_engine import command_line
from nets.open import open_network
from tests.training.games import random_games, read_samples, write_records
from tests.training.pytorch import torch  # noqa: F401
from training.labels.samples import sample_files

SETTINGS = {
    "network.blocks": "2", "network.channels": "8",
    "run.batch": "4", "run.threads": "1", "run.device": "cpu",
    "data.records_share": "0", "data.canvas_shares": '{"9": 1.0}',
}  # fmt: skip


def with_settings(*words: object, **changes: str) -> list[str]:
    settings = {**SETTINGS, **{name.replace("__", "."): value for name, value in changes.items()}}
    return [*map(str, words), *(word for name, value in settings.items() for word in ("-s", f"{name}={value}"))]


@pytest.mark.slow
def test_from_labels_to_figures(tmp_path: Path, teacher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, samples, games = (tmp_path / name for name in ("run", "samples", "games"))
    label = with_settings("label", samples, "--count", 40, "--student", teacher, data__teacher=str(teacher))
    assert command_line.run(label) == 0
    assert sum(read_samples(path).length for path in sample_files(samples)) >= 40

    sources = {"data__play_share": "0", "data__samples_share": "1", "data__samples": f'["{samples}"]'}
    assert command_line.run(with_settings("train", run, "--budget", "10s", **sources)) == 0
    assert command_line.run(["export", str(run), str(tmp_path / "network.onnx")]) == 0
    names = {open_network(path, "fp32").attributes.name for path in (run / "student.bin.gz", tmp_path / "network.onnx")}
    assert len(names) == 1
    assert command_line.run(["export", str(run), str(tmp_path / "network.txt")]) == 1
    assert "ends in .bin.gz or .onnx" in capsys.readouterr().err

    play = with_settings("selfplay", games, "--net", run / "student.bin.gz", "--teacher", teacher, "--seed", 1)
    assert command_line.run([*play, "--games", "1", "--threads", "1", "--leaves", "0.5", "--precision", "fp32"]) == 0
    capsys.readouterr()
    for network in (str(run / "student.bin.gz"), "strong"):
        assert command_line.run(["yardstick", network, str(games), "--precision", "fp32"]) == 0
        assert "rows: policy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("selfplay OUT --net {file} --leaves 0.5", "--teacher and --leaves need each other"),
        ("selfplay OUT --net strong --teacher {file}", "--teacher and --leaves need each other"),
        ("selfplay OUT --net stronger", "stronger' does not exist"),
        ("train", "Missing argument 'RUN'"),
        ("train OUT --without 1", "--without needs --from"),
        ("train OUT --budget soon", "soon is no duration"),
        ("train OUT -s run.bach=3", "run.bach=3: not a setting"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    file = tmp_path / "file"
    file.touch()
    words = command.replace("OUT", str(tmp_path / "out")).format(file=file).split()
    assert command_line.run(words) != 0
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "learn", "label"])
def test_a_folder_is_for_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    out = tmp_path / "out"
    code = "import sys, pathlib; from nobi_machine.locks import folder_for_one\n"
    code += "with folder_for_one(pathlib.Path(sys.argv[1])): print('mine', flush=True); sys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", code, out], stdin=-1, stdout=-1, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "mine\n"
    try:
        assert command_line.run(with_settings(command, out)) == 1
        assert f"{out}: another process is working in this folder" in capsys.readouterr().err
    finally:
        other.communicate()


def test_what_fails_at_once_leaves_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the next command would go on with it: with another shape of the network, say."""
    run, games = tmp_path / "run", write_records(tmp_path / "games.npz", random_games(count=4, length=30, seed=2))
    records = {"data__records_share": "1", "data__play_share": "0", "data__records__path": str(games)}
    assert (
        command_line.run(with_settings("train", run, "--budget", "10s", network__channels="24", data__play_share="1"))
        == 1
    )
    capsys.readouterr()
    assert command_line.run(with_settings("train", run, "--budget", "10s", **records)) == 0
    assert "channels = 8" in (run / "training.toml").read_text()
    assert command_line.run(["export", str(run), str(tmp_path / "network.bin.gz")]) == 0


@pytest.mark.skipif(not hasattr(os, "nice"), reason="this system sets priorities otherwise")
def test_long_work_gives_way_where_it_is_asked_to() -> None:
    code = "import sys, os; from gtp_engine import command_line; command_line.run(sys.argv[1:]); print(os.nice(0))"
    command = [sys.executable, "-c", code, "train", "--defaults", "--nice"]
    assert int(subprocess.check_output(command, text=True).splitlines()[-1]) == 19
