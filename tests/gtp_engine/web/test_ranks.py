"""Levels that play as people do: offered where a HumanSL network is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gtp_engine.configuration.configuration import Configuration
from gtp_engine.players import make_player
from gtp_engine.web.levels import RANKS
from search.player import Player
from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.web.browser import Browser, Server
from tests.nets.random_networks import RandomNetwork

WEAKEST = min(RANKS)


@pytest.fixture
def human(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small HumanSL network at hand."""
    monkeypatch.setattr("nets.cache.networks_directory", lambda: tmp_path / "networks")
    path = data / "networks" / "human.bin.gz"
    path.parent.mkdir(parents=True)
    write_human(path)
    return path


def write_human(path: Path) -> None:
    network = RandomNetwork(15, activation="ACTIVATION_MISH")
    network.write([{"kind": "ordinary_block"}], meta=True)
    path.write_bytes(network.compressed())


def test_ranks_are_levels_only_where_a_network_plays_them(server: Server, page: Browser) -> None:
    assert [level["is_rank"] for level in server.table.hello("")["levels"]] == [False] * 12
    assert page.ask("new", level=WEAKEST)["error"] == f"no such level: {WEAKEST}"


def test_a_click_fetches_the_network_that_makes_ranks(
    server: Server, page: Browser, player: FakePlayer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = server.table.hello("")["people"]

    def fetched(name: str, progress: object) -> None:
        (data / "networks").mkdir(parents=True)
        path = data / "networks" / f"{name}.bin.gz"
        write_human(path)
        os.truncate(path, people["size"])

    monkeypatch.setattr("gtp_engine.tools.networks.fetched", fetched)
    page.ask("network", name=people["name"])
    told = page.wait("networks")
    assert (told["people"], [level["id"] for level in told["levels"] if level["is_rank"]]) == (None, list(RANKS))
    assert page.wait("message")["texts"][0]["key"] == "ranks_are_there"
    assert not player.closed, "the player before goes on"


def test_the_engine_plays_as_people_of_a_rank_do(
    human: Path, player: FakePlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    imitators: list[Player] = []

    def make(configuration: Configuration) -> Player | FakePlayer:
        if configuration.engine.human_profile is None:
            return player
        imitators.append(make_player(configuration))
        return imitators[-1]

    monkeypatch.setattr("gtp_engine.players.make_player", make)
    server = Server()
    page = Browser(server.port, server.entrance.token)
    offered = server.table.hello("")["levels"]
    assert [(each["id"], each["name"]) for each in offered if each["is_rank"]] == list(RANKS.items())
    for level, name in ((WEAKEST, "18k"), (max(RANKS), "9d")):
        page.ask("new", width=9, height=9, person=2, level=level)
        assert page.wait("game")["black"] == f"Nobi, {name}"
        page.wait("nodes", lambda told: told["nodes"] and told["nodes"][0]["colour"] == 1)
        evaluator = imitators[-1].evaluator
        assert evaluator is not None
        assert evaluator.attributes.profile is not None
        assert evaluator.attributes.profile.name == f"rank_{name}"
    assert len(imitators) == 1, "the network is opened once"
    page.leave()
    server.close()
