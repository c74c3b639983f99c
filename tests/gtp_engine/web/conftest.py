"""Fixtures for the tests of the board in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.web.browser import Browser, Server


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> FakePlayer:
    """The player of the servers that a test starts."""
    player = FakePlayer()
    monkeypatch.setattr("gtp_engine.players.make_player", lambda _configuration: player)
    return player


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder."""
    monkeypatch.setenv("NOBI_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def server(player: FakePlayer, data: Path) -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def page(server: Server) -> Iterator[Browser]:
    page = Browser(server.port, server.entrance.token)
    yield page
    page.leave()
