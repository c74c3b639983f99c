"""Nothing of Dask is imported before a cluster is asked for, and one line says what is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from gtp_engine import command_line
from gtp_engine.cluster import tasks
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError
from gtp_engine.match.engines import engine_command, local_command, portable_command
from nobi_machine.inputs import sha256
from nobi_machine.units import Unit
from tests.conftest import REPOSITORY, SMALL_NETWORK
from tests.gtp_engine.cluster.trial_worker import TASK


def test_commands_that_can_use_a_cluster_do_not_import_dask() -> None:
    modules = "gtp_engine.review.search, gtp_engine.tournament.command, gtp_engine.cluster.worker, training.selfplay"
    code = f"import sys, {modules}\nprint({{'dask', 'distributed', 'tornado'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("command", [["review", "GAME", "--cluster", "x:1"], ["worker", "x:1"]])
def test_one_line_says_what_to_install(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tmp_path / "game.sgf"
    game.write_text("(;SZ[9];B[ee];W[cc])")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert command_line.run([str(game) if word == "GAME" else word for word in command]) == 1
    assert capsys.readouterr().err == (
        'nobi: a cluster needs Dask: pip install "nobi[cluster]", or pipx inject nobi distributed\n'
    )
    assert list(tmp_path.iterdir()) == [game]


@pytest.mark.parametrize("words", [["--net", "FILE"], ["--net=FILE", "--visits", "5"]])
def test_the_networks_of_an_engine_travel_and_others_stay_as_they_are(words: list[str], tmp_path: Path) -> None:
    files = dict[str, Path]()
    command = [*engine_command("nobi"), *(word.replace("FILE", str(SMALL_NETWORK)) for word in words)]
    sent = portable_command(command, files)
    assert portable_command(["gnugo", "--net", str(SMALL_NETWORK)], files) == ["gnugo", "--net", str(SMALL_NETWORK)]
    assert str(REPOSITORY) not in " ".join(sent)
    assert list(files.values()) == [SMALL_NETWORK]
    there = dict.fromkeys(files, tmp_path / "net")
    expected = [*engine_command("nobi"), *(word.replace("FILE", str(tmp_path / "net")) for word in words)]
    assert local_command(sent, there) == expected


def test_a_worker_never_mixes_two_contents_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tasks.KINDS, TASK, "tests.gtp_engine.cluster.trial_worker")
    net = tmp_path / f"{sha256(b'old')[: tasks.HASH]}-net.bin"
    net.write_bytes(b"old")
    here = tasks.Here(1, load(None, (), {}), threading.Event(), "worker", "kernels")
    job, unit = msgspec.msgpack.encode(tasks.Job(TASK, b"settings", {"net": net.name})), Unit("unit", TASK, b"read")
    desk = tasks.Desk(here, tmp_path)
    assert desk.carry_out(job, unit) == b"settings old"
    net.write_bytes(b"new")
    with pytest.raises(OSError, match="changed while it was in use"):
        desk.carry_out(job, unit)
    with pytest.raises(UserError, match=r"net\.bin: this worker has another file, or none"):
        tasks.Desk(here, tmp_path).carry_out(job, unit)
