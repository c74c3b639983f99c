"""An address at which no scheduler can be ends a command with one line, and one where none answers yet does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is missing")

import distributed

from gtp_engine import command_line
from gtp_engine.cluster import client, tasks, worker
from gtp_engine.configuration.sources import load
from gtp_engine.errors import UserError

WITHOUT_CERTIFICATE = "tls://127.0.0.1:1"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("foo", "missing port number in address 'foo'"),
        ("tcp://host", "missing port number in address 'host'"),
        ("tcp://host:port", "invalid literal for int() with base 10: 'port'"),
        ("tcp://host:99999", "there is no port 99999"),
        ("tcp://:8786", "a host is missing"),
        ("htp://host:8786", "unknown address scheme 'htp'"),
    ],
)
def test_a_bad_address_gets_a_line(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = tmp_path / "game.sgf"
    game.write_text("(;SZ[9];B[ee];W[cc])")

    def begun(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(worker, "load", begun)
    monkeypatch.setattr(client, "Cluster", begun)
    for command in (["worker"], ["review", str(game), "--cluster"]):
        assert command_line.run([*command, address]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"nobi: '{address}' is no address like tcp://192.168.1.10:8786: {reason}")
    assert list(tmp_path.iterdir()) == [game]


def test_without_a_certificate_no_client_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "Client", None)  # one that could not start would be closed at the end, with a traceback
    with pytest.raises(UserError, match="TLS expects"):
        client.Cluster(WITHOUT_CERTIFICATE)


@pytest.fixture
def desk(tmp_path: Path) -> tasks.Desk:
    return tasks.Desk(tasks.Here(1, load(None, (), {}), threading.Event(), "worker", "kernels"), tmp_path)


def test_without_a_certificate_a_worker_ends(desk: tasks.Desk) -> None:
    with pytest.raises(UserError, match="TLS expects"):
        asyncio.run(worker.serve(WITHOUT_CERTIFICATE, desk, own_cores=False))


class Ended(Exception):
    """The test has seen enough."""


def test_a_worker_tries_again_until_a_scheduler_takes_it(
    desk: tasks.Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: Iterator[Exception | None] = iter([OSError(), asyncio.TimeoutError(), None, None, None])

    async def reach(_address: str, _role: str) -> None:
        if (error := next(answers)) is not None:
            raise error

    failures = iter([ValueError("name taken, worker"), OSError("closed")])

    def begun(*_: object, **__: Any) -> None:
        if (reason := next(failures, None)) is None:
            raise Ended
        raise RuntimeError("Worker failed to start.") from reason

    monkeypatch.setattr(client, "reach", reach)
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0)
    monkeypatch.setattr(distributed, "Worker", begun)
    with pytest.raises(Ended):
        asyncio.run(worker.serve("tcp://127.0.0.1:1", desk, own_cores=False))
    assert next(answers, "none left") == "none left"
    assert capsys.readouterr().err == "nobi: worker worker: not connected to tcp://127.0.0.1:1; trying again\n"
