"""Numbers and files on the command line: what is refused, in one line and at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.errors import UserError
from gtp_engine.match.openings import read_openings
from tests.systems import needs_fifos
from training.errors import TrainingError
from training.files import read_arrays, read_network

HUGE = "1" * 5_000


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e400", "1_0", "１２", HUGE, "", "x\n"])
@pytest.mark.parametrize(
    "option", ["--komi", "--time", "--lag", "--hang", "--games", "--visits", "--max-moves", "--clock"]
)
def test_no_numbers(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["match", "none", "none", option, value]) == 2
    text = capsys.readouterr().err
    assert text.startswith("nobi: ")
    assert text.count("\n") == 1
    assert len(text) < 400


@pytest.mark.parametrize("value", ["nan:1", "0:inf", HUGE + ":1", "0:1:2"])
def test_no_elo(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["match", "none", "none", "--sprt", value]) == 2
    assert len(capsys.readouterr().err) < 400


def test_a_configuration_appears_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resource = pytest.importorskip("resource")
    path, limits = tmp_path / "config.toml", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # as if the disk were full
    try:
        assert command_line.run(["config", "--write", "--config", str(path)]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "File too large" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert command_line.run(["config", "--write", "--config", str(path)]) == 0


@needs_fifos
def test_what_is_no_regular_file_is_refused_everywhere(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UserError, match="not a regular file"):
        read_openings(fifo, 9, 9)
    with pytest.raises(TrainingError, match="not a regular file"):
        read_arrays(fifo, ["a"], "a file")
    with pytest.raises(TrainingError, match="not a regular file"):
        read_network(fifo)
    with pytest.raises(UserError, match="No such file"):
        read_openings(tmp_path / "none", 9, 9)
