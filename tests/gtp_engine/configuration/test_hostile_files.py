"""Configurations that are hostile, or that no text file should be: one line each, at once, and nothing waits."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.configuration.sources import load
from nobi_machine.parameters import MAX_FILE_BYTES, ParameterError, from_values
from tests.gtp_engine.configuration.test_users_files import start
from tests.systems import needs_fifos
from training.config import TrainingConfig, override, read_config
from training.errors import TrainingError

SLOW = 5.0
"""Seconds of processor time: what takes them is not linear."""
DEEP = 100_000

TOML = {
    "arrays": b"visits = " + b"[" * DEEP,
    "closed arrays": b"visits = " + b"[" * DEEP + b"]" * DEEP,
    "inline tables": b"visits = " + b"{a=" * (DEEP // 2),
    "dotted key": b"visits" + b".a" * DEEP + b" = 1",
    "dotted key with blanks": b"visits" + b" . a" * (DEEP // 2) + b" = 1",
    "quoted key": b"visits" + b'."a"' * (DEEP // 2) + b" = 1",
    "dotted key in a table": b"visits = {a" + b".a" * DEEP + b" = 1}",
    "heading": b"[a" + b".a" * DEEP + b"]",
    "unclosed string": b'visits = "' + b'\\"' * DEEP + b"." * 99,
    "digits": b"visits = " + b"1" * 5_000,
    "digits of an integer within Python's limit": b"visits = " + b"1" * 4_000,
    "infinite": b"cpuct = inf",
    "not a number": b"cpuct = nan",
    "date": b"visits = 1979-05-27",
    "wrong type": b"visits = [1]",
    "table": b"visits = {a = 1}",
    "twice": b"visits = 1\nvisits = 2",
    "not UTF-8": b'log = "\xff"',
    "binary": bytes(range(256)),
    "zeros": bytes(1000),
    "large": b"#" * (MAX_FILE_BYTES + 1),
}


def complaint(path: Path) -> str:
    """What is wrong with a file, for a user; it must be one short line, and nothing of the file holds."""
    started = time.process_time()
    configuration = load(path, [], {})
    assert time.process_time() - started < SLOW
    assert configuration.values == {}
    (text,) = configuration.complaints
    assert text.startswith(f"{path}: ")
    assert text.endswith("ignored")
    assert text.isprintable()
    assert len(text) < len(str(path)) + 300
    return text


@pytest.mark.parametrize("case", TOML)
def test_hostile_toml(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(TOML[case])
    complaint(path)
    capsys.readouterr()
    try:
        assert read_config(path) == TrainingConfig()
        text = capsys.readouterr().err.splitlines()[0]
    except TrainingError as error:
        text = str(error)
    assert text.isprintable()


def test_keys_of_many_parts_are_told_from_other_dots(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# " + "." * 500 + f"\ngtp_name = \"{'a.' * 100}\" # a.b{'.c' * 99}\nlog = '{'b.' * 100}'\n")
    assert load(path, [], {}).values == {"gtp_name": "a." * 100, "log": "b." * 100}


@pytest.mark.parametrize(
    "value",
    ["1" * 400, "1" * 5_000, "1" * 1_000_000, "[" * 100_000, "１２", "1_000", "nan", "-Infinity", "1e999", "x\x1b[31m"],
)
@pytest.mark.parametrize("name", ["visits", "cpuct", "komi", "size", "ponder", "rules"])
def test_hostile_settings(name: str, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        load(None, [f"{name}={value}"], {})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["run.batch=" + "1" * 400, "run.seed=" + "1" * 5_000, "data.rules=" + "[" * 100_000])
def test_hostile_settings_of_training(text: str) -> None:
    with pytest.raises(TrainingError) as caught:
        override(TrainingConfig(), (text,))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("value", [10**400, -(10**18), float("nan"), {"a": 1}, None, True, [[]], 1.5])
def test_values_that_are_no_whole_number(value: object) -> None:
    with pytest.raises(ParameterError):
        from_values(TrainingConfig(), {"run": {"seed": value}})
    with pytest.raises(ParameterError):
        from_values(TrainingConfig(), {"learn": {"match_sizes": [9, value]}})


@needs_fifos
def test_what_is_no_file_is_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "config.toml"
    os.mkfifo(fifo)
    for path in (fifo, Path("/dev/zero")):
        assert complaint(path) == f"{path}: not a regular file; the file is ignored"
    assert complaint(tmp_path) == f"{tmp_path}: a folder, not a file; the file is ignored"
    with pytest.raises(ParameterError, match=r"none: No such file or directory$"):
        load(tmp_path / "none", [], {})
    monkeypatch.setenv("NOBI_CONFIG_DIR", str(tmp_path))
    assert "not a regular file" in load(None, [], {}).complaints[0]


@needs_fifos
def test_a_fifo_holds_up_no_start(tmp_path: Path) -> None:
    """A configuration in a FIFO is not read; a log in a FIFO is given up, and the engine plays."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    started = start(tmp_path, "gtp", "--net", "none", "--config", str(fifo))
    assert (started.returncode, started.stdout) == (0, "= Nobi\n\n= \n\n")
    assert started.stderr.startswith(f"nobi: {fifo}: not a regular file; the file is ignored\n")
    logged = start(tmp_path, "gtp", "--net", "none", "--set", f"log={fifo}")
    assert (logged.returncode, logged.stdout) == (0, "= Nobi\n\n= \n\n")
    assert f"cannot write the log {fifo}" in logged.stderr


@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="names of files are text there")
def test_paths_that_are_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xe9"))
    folder.mkdir()
    (folder / "config.toml").write_text("visits = 7\n")
    assert load(folder / "config.toml", [f"net={folder}/a.onnx"], {}).net == folder / "a.onnx"
    assert command_line.run(["config", "--json", "--set", f"log={folder}/log"]) == 0
    assert command_line.run(["config", "--set", f"log={folder}/log"]) == 0
    capsys.readouterr()
    assert command_line.run(["gtp", "--net", f"{folder}/a.onnx"]) == 1
    assert capsys.readouterr().err == rf"nobi: {tmp_path}/\udcff\udce9/a.onnx: No such file or directory" + "\n"
