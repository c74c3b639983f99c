"""Nothing of Dask is imported before a cluster is asked for, and one line says what is missing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
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
from tests.first_together import first_together
from tests.gtp_engine.cluster import trial_worker
from tests.gtp_engine.cluster.trial_worker import TASK, Trial
from tests.systems import PATIENCE


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tasks.Desk:
    monkeypatch.setitem(tasks.KINDS, TASK, trial_worker.__name__)
    return tasks.Desk(tasks.Here(1, load(None, (), {}), threading.Event(), "worker", "kernels"), tmp_path)


def trial_job(settings: bytes, **files: str) -> bytes:
    return msgspec.msgpack.encode(tasks.Job(TASK, settings, files))


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


def test_a_worker_never_mixes_two_contents_of_a_file(desk: tasks.Desk) -> None:
    net = desk.folder / f"{sha256(b'old')[: tasks.HASH]}-net.bin"
    net.write_bytes(b"old")
    job, unit = trial_job(b"settings", net=net.name), Unit("unit", TASK, b"read")
    assert desk.carry_out(job, unit) == b"settings old"
    net.write_bytes(b"new")
    with pytest.raises(OSError, match="changed while it was in use"):
        desk.carry_out(job, unit)
    with pytest.raises(UserError, match=r"net\.bin: this worker has another file, or none"):
        tasks.Desk(desk.here, desk.folder).carry_out(job, unit)


SEVERAL_JOBS = """
import threading
from contextlib import suppress
from pathlib import Path
import msgspec
from gtp_engine.cluster import tasks
from gtp_engine.configuration.sources import load
from nobi_machine.units import Unit
from training.selfplay import DataConfig, Players

desk = tasks.Desk(tasks.Here(1, load(None, (), {}), threading.Event(), "worker", "kernels"), Path())

def decode(number):
    players = Players(networks={}, precision=str(number), leaves=None, config=DataConfig())
    job = tasks.Job("selfplay", msgspec.json.encode(players), {})
    with suppress(KeyError):  # there is no network
        desk.carry_out(msgspec.msgpack.encode(job), Unit("unit", "selfplay", b""))
"""


def test_several_jobs_may_be_opened_by_several_threads_at_once() -> None:
    assert first_together(SEVERAL_JOBS, "Job", "Players") == (0, b"")


def test_units_of_an_open_job_do_not_wait_while_another_is_opened(
    desk: tasks.Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = Unit("unit", TASK, b"read")
    assert desk.carry_out(trial_job(b"first"), unit) == b"first"
    begun, may_end = threading.Event(), threading.Event()

    def open_slowly(settings: bytes, files: Mapping[str, Path], _here: tasks.Here) -> Trial:
        begun.set()
        assert may_end.wait(PATIENCE)
        return Trial(settings, files)

    monkeypatch.setattr(trial_worker, "open_job", open_slowly)
    with ThreadPoolExecutor(2) as threads:
        second = threads.submit(desk.carry_out, trial_job(b"second"), unit)
        assert begun.wait(PATIENCE)
        assert threads.submit(desk.carry_out, trial_job(b"first"), unit).result(PATIENCE) == b"first"
        may_end.set()
        assert second.result(PATIENCE) == b"second"


def test_jobs_that_are_in_use_stay_open_and_so_does_the_latest(
    desk: tasks.Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = list[bytes]()

    def use(settings: bytes, *meanwhile: bytes) -> None:
        desk.carry_out(trial_job(settings), Unit("unit", TASK, b" ".join(meanwhile)))

    class Watched(Trial):
        def __init__(self, settings: bytes) -> None:
            self._settings = settings

        def do(self, unit: Unit) -> bytes | None:
            for each in unit.arguments.split():
                use(each)
            return b""

        def close(self) -> None:
            closed.append(self._settings)

    monkeypatch.setattr(trial_worker, "open_job", lambda settings, _files, _here: Watched(settings))
    use(b"first", b"second", b"third", b"fourth")
    assert closed == [b"second", b"third"]
    use(b"first")
    use(b"fifth")
    assert closed == [b"second", b"third", b"fourth"]
    desk.close()
    assert closed == [b"second", b"third", b"fourth", b"first", b"fifth"]
