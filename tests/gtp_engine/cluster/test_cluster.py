"""Units of work on a Dask cluster of several processes: each is done once, whatever happens to who works there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gtp_engine.cluster.tasks import OWN_CORES
from gtp_engine.errors import UserError
from gtp_engine.version import VERSION
from nobi_machine.inputs import Inputs
from nobi_machine.units import Batch, Unit
from tests.conftest import REPOSITORY, SMALL_NETWORK
from tests.gtp_engine.cluster.machines import Machines
from tests.gtp_engine.cluster.trial_worker import TASK
from tests.systems import PATIENCE, needs_signals

pytest.importorskip("distributed", reason="Dask is missing")
pytestmark = needs_signals

from gtp_engine.cluster.client import Cluster  # noqa: E402


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    found = Machines(tmp_path_factory.mktemp("cluster"))
    found.worker()
    yield found
    found.end()


@pytest.fixture
def cluster(machines: Machines) -> Iterator[Cluster]:
    opened = Cluster(machines.address)
    yield opened
    opened.close()


def units(*verbs: str) -> Iterator[Unit]:
    return iter([Unit(f"unit {number}", TASK, f"{verb} {number}".encode()) for number, verb in enumerate(verbs)])


class Kept:
    """The results that came, and a wait for so many."""

    def __init__(self) -> None:
        self.results = list[tuple[str, bytes]]()

    def __call__(self, unit: Unit, result: bytes) -> None:
        self.results.append((unit.name, result))

    def names(self) -> list[str]:
        return [name for name, _ in self.results]

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + PATIENCE
        while len(self.results) < count and time.monotonic() < until:
            time.sleep(0.02)
        assert len(self.results) >= count


def done_beside(cluster: Cluster, kept: Kept, *verbs: str) -> threading.Thread:
    """Have units done while the test does something else."""
    pool = cluster.pool(cluster.job(TASK, b"", Inputs({})))
    thread = threading.Thread(target=pool.run, args=([Batch("", units(*verbs))], kept), daemon=True)
    thread.start()
    return thread


def wait_until_at_work(cluster: Cluster, *processes: subprocess.Popen[bytes]) -> None:
    kept, wanted, until = Kept(), {process.pid for process in processes}, time.monotonic() + PATIENCE
    while not wanted <= {int(pid) for _, pid in kept.results} and time.monotonic() < until:
        cluster.pool(cluster.job(TASK, b"", Inputs({}))).run([Batch("", units(*["sleep 0.3"] * 4))], kept)
    assert {int(pid) for _, pid in kept.results} >= wanted


@pytest.mark.slow
def test_each_unit_is_done_once_though_workers_die_and_sleep_and_come_late(
    machines: Machines, cluster: Cluster
) -> None:
    first, second = machines.processes[1], machines.worker()
    wait_until_at_work(cluster, first, second)
    kept = Kept()
    running = done_beside(cluster, kept, *["sleep 0.5"] * 20)
    kept.wait_for(3)
    late = machines.worker()
    second.kill()
    kept.wait_for(6)
    first.send_signal(signal.SIGSTOP)
    running.join(PATIENCE)  # the late one does what the other, which was given up, has begun
    assert sorted(kept.names()) == sorted(unit.name for unit in units(*["sleep"] * 20))
    first.send_signal(signal.SIGCONT)
    wait_until_at_work(cluster, first, late)
    running = done_beside(cluster, kept, *["sleep 2"] * 2)
    time.sleep(0.5)
    late.terminate()
    running.join(PATIENCE)
    assert late.wait(PATIENCE) == 130
    assert [int(pid) for _, pid in kept.results[20:]] == [first.pid] * 2


@pytest.mark.slow
def test_a_unit_that_fails_is_named_and_the_others_are_done(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Kept()
    with pytest.raises(UserError, match=r"not done: unit 1: internal error: ValueError: no such thing \(") as caught:
        cluster.pool(cluster.job(TASK, b"", Inputs({}))).run([Batch("", units("sleep 0", "fail", "sleep 0"))], kept)
    assert sorted(kept.names()) == ["unit 0", "unit 2"]
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().err.count("nobi: unit 1: internal error: ValueError: no such thing") == 3


@pytest.mark.slow
def test_files_travel_by_their_content_to_workers_that_come_later_too(
    machines: Machines, cluster: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(b"old")
    old = cluster.job(TASK, b"settings", Inputs({"net": path}))
    path.write_bytes(b"new")
    new = cluster.job(TASK, b"settings", Inputs({"net": path}))
    machines.worker()
    kept = Kept()
    cluster.pool(old).run([Batch("", units(*["read"] * 6))], kept)
    assert {result for _, result in kept.results} == {b"settings old"}
    cluster.pool(new).run([Batch("", units("read"))], kept)
    assert kept.results[-1][1] == b"settings new"


@pytest.mark.slow
def test_a_full_disk_at_home_ends_the_work_and_what_is_kept_is_kept(cluster: Cluster) -> None:
    kept = Kept()

    def keep(unit: Unit, result: bytes) -> None:
        if len(kept.results) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "results")
        kept(unit, result)

    pool = cluster.pool(cluster.job(TASK, b"", Inputs({})))
    with pytest.raises(OSError, match="No space left"):
        pool.run([Batch("", units(*["sleep 0"] * 50))], keep)
    assert len(kept.results) == 3


@pytest.mark.slow
def test_other_versions_and_shared_cores_are_left_out(
    machines: Machines, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    other = machines.worker(TRIAL_VERSION="99.0")
    text, until = "", time.monotonic() + PATIENCE
    kept = Kept()
    while "workers of version 99.0 are left out" not in text and time.monotonic() < until:
        cluster.pool(cluster.job(TASK, b"", Inputs({}))).run([Batch("", units("sleep 0", "sleep 0"))], kept)
        text += capsys.readouterr().err
    assert "workers of version 99.0 are left out; this is version " in text
    assert other.pid not in {int(pid) for _, pid in kept.results}
    stop = threading.Event()
    threading.Timer(5.0, stop.set).start()
    cluster.pool(cluster.job(TASK, b"", Inputs({})), stop, needs=(OWN_CORES,)).run([Batch("", units("sleep 0"))], kept)
    assert f"with version {VERSION}, own cores" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_scheduler_there_is_one_line(tmp_path: Path) -> None:
    alone = Machines(tmp_path)
    try:
        alone.worker()
        cluster, kept = Cluster(alone.address), Kept()
        failures = list[UserError]()

        def work() -> None:
            try:
                cluster.pool(cluster.job(TASK, b"", Inputs({}))).run([Batch("", units(*["sleep 0.1"] * 500))], kept)
            except UserError as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        kept.wait_for(3)
        alone.scheduler.kill()
        thread.join(PATIENCE)
        assert "is gone; what was done is kept, and the same command goes on" in str(failures[0])
        cluster.close()
    finally:
        alone.end()


def review(games: Path, out: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gtp_engine.cli", "review", str(games), "--out", str(out), "--visits", "4"]
    command += ["--net", str(SMALL_NETWORK), "--set", "precision=fp32", "--parallel", "2", *options]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_a_review_is_the_same_as_at_home_though_its_driver_is_killed(machines: Machines, tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    for number, moves in enumerate(("ccggcgge", "ggccgccg", "eecceggc")):
        text = "".join(f";{'BW'[place // 2 % 2]}[{moves[place : place + 2]}]" for place in range(0, len(moves), 2))
        (games / f"{number}.sgf").write_text(f"(;SZ[9]KM[7]{text})")
    results = tmp_path / "away" / "review.results"
    first = review(games, tmp_path / "away", "--cluster", machines.address)
    until = time.monotonic() + PATIENCE
    while not results.exists() and time.monotonic() < until and first.poll() is None:
        time.sleep(0.02)
    first.kill()
    first.wait(PATIENCE)
    again = review(games, tmp_path / "away", "--cluster", machines.address)
    assert again.wait(PATIENCE) == 0, again.stderr and again.stderr.read()
    here = review(games, tmp_path / "here")
    assert here.wait(PATIENCE) == 0
    keys = [line.split()[0] for line in results.read_bytes().splitlines()]
    assert len(keys) == len(set(keys))
    assert sorted(results.read_bytes().splitlines()) == sorted(
        (tmp_path / "here" / "review.results").read_bytes().splitlines()
    )
    for number in range(3):
        away, home = ((tmp_path / place / f"{number}.sgf").read_bytes() for place in ("away", "here"))
        assert away == home
