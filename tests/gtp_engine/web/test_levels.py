"""How the levels play, those of people too, and how games are counted."""

from __future__ import annotations

import dataclasses
import os
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from go_rules.agreement import agreed_score, chains
from go_rules.game import Game
from go_rules.points import PASS, board_points
from go_rules.rule_names import PRESETS
from go_rules.scoring import result_text
from gtp_engine.configuration.configuration import Configuration
from gtp_engine.errors import Refused
from gtp_engine.players import make_player
from gtp_engine.web.counting import Count
from gtp_engine.web.levels import CALIBRATED, FLOOR, FULL, RANKS, Strength, calibrated, strength_of
from nets.evaluator import Evaluator
from search.player import Player
from search.result import MoveInfo, SearchResult
from tests.campaigns.finished_positions import fault, network, positions
from tests.campaigns.levels import Ours
from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.web.browser import Browser, Server
from tests.nets.random_networks import RandomNetwork


def result_with(priors: dict[int, float]) -> SearchResult:
    moves = tuple(
        MoveInfo(*(point, 0, 0, 0.5, 0.0, 0.0, 10.0, 0.0, prior, 0.5, 0.0, 0.0), order=order, pv=(point,))
        for order, (point, prior) in enumerate(priors.items())
    )
    return SearchResult(1, 1, 0.5, 0.0, 0.0, 10.0, 0.0, 1.0, moves)


def chosen(temperature: float, priors: dict[int, float], game: Game, owned: dict[int, float] | None = None) -> set[int]:
    player, generator, result = FakePlayer(), np.random.default_rng(1), result_with(priors)
    if owned is not None:
        ownership = np.array([owned.get(point, 0.0) for point in board_points(game.width, game.height)], np.float32)
        result = dataclasses.replace(result, ownership=ownership)
    return {Strength(1, temperature).choose(game, result, player, generator) for _ in range(300)}


def test_the_weaker_levels_play_more_than_the_likeliest_move_but_nothing_senseless() -> None:
    game = Game(9, 9)
    points = board_points(9, 9)
    priors = {points[0]: 0.5, points[1]: 0.3, points[2]: 0.1, points[3]: 0.5 * FLOOR / 2, PASS: 0.05}
    assert chosen(3.0, priors, game) == set(points[:3])
    assert chosen(0.0, priors, game) == {points[0]}


def test_settled_points_are_not_drawn_but_for_the_likeliest() -> None:
    game, points = Game(9, 9), board_points(9, 9)
    priors = {points[0]: 0.5, points[1]: 0.3, points[2]: 0.1}
    assert chosen(3.0, priors, game, {points[0]: 1.0, points[1]: -1.0}) == {points[0], points[2]}


def test_every_level_passes_where_the_policy_likes_nothing_better() -> None:
    game, points = Game(9, 9, *PRESETS["japanese"]), board_points(9, 9)
    assert chosen(3.0, {PASS: 0.4, points[0]: 0.35, points[1]: 0.25}, game) == {PASS}


@pytest.mark.parametrize("size", CALIBRATED)
def test_levels_grow_with_a_network_and_without(size: int, evaluator: Evaluator) -> None:
    game, player = Game(size, size), FakePlayer()
    for player.evaluator in (None, evaluator):
        *strengths, full = (strength_of(level, game, player) for level in range(1, FULL + 1))
        assert full is None
        assert len(strengths) == FULL - 1
        for weaker, stronger in pairwise(strengths):
            assert weaker is not None
            assert stronger is not None
            assert (weaker.visits, -weaker.temperature) < (stronger.visits, -stronger.temperature)


@pytest.mark.parametrize("level", [1, 6, 11])
@pytest.mark.parametrize("wanted", ["dame in the middle, 9x9, Black to move", "a row of dame, 9x9, White to move"])
def test_a_finished_game_is_ended(wanted: str, level: int, evaluator: Evaluator) -> None:
    position = next(position for position in positions() if str(position) == wanted)
    side = Ours(calibrated(9, 9)[level - 1], evaluator)
    assert fault(evaluator, side.move, position) == ""
    side.close()


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return network("strong", "auto")


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_of_a_count_make_up_its_result(name: str) -> None:
    draw = random.Random(name)
    for size in (3, 5, 7):
        game = Game(size, size, *PRESETS[name])
        for _ in range(draw.randrange(4, 3 * size * size)):
            game.play(game.to_play, draw.choice(game.legal_moves(game.to_play)[:-1] or [PASS]))
        stones = chains(game)
        dead = frozenset(p for chain in draw.sample(stones, min(2, len(stones))) for p in chain)
        count = Count(game, dead)
        told, score = count.told(), agreed_score(game, count.dead)
        assert told["white"]["total"] - told["black"]["total"] == pytest.approx(score)
        assert told["result"] == result_text(score)
        for side in (told["black"], told["white"]):
            parts = ("stones", "territory", "prisoners", "komi", "bonus")
            assert sum(side[part] for part in parts) == pytest.approx(side["total"])
        assert set(told["owner"]) <= {1, 2, 3}


def test_komi_and_what_the_rules_give_besides_are_apart() -> None:
    game = Game(9, 9, *PRESETS["chinese"])
    game.place_handicap([board_points(9, 9)[20], board_points(9, 9)[60]])
    assert Count(game, frozenset()).told()["white"] == {
        "stones": 0, "territory": 0, "prisoners": 0, "komi": 7.5, "bonus": 2.0, "total": 9.5,
    }  # fmt: skip


def test_a_toggle_needs_a_stone_and_rules_by_which_stones_may_be_dead() -> None:
    game = Game(3, 3, *PRESETS["japanese"])
    game.play(1, board_points(3, 3)[0])
    count = Count(game, frozenset())
    assert count.toggled(board_points(3, 3)[0]).told()["dead"] == [0]
    with pytest.raises(Refused, match="no stone"):
        count.toggled(board_points(3, 3)[1])
    with pytest.raises(Refused, match="every stone counts"):
        Count(Game(3, 3, *PRESETS["tromp-taylor"]), frozenset()).toggled(board_points(3, 3)[0])


# --- Levels that play as people of a rank do -----------------------------------------------------------------------


WEAKEST_RANK = min(RANKS)


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
    assert page.ask("new", level=WEAKEST_RANK)["error"] == f"no such level: {WEAKEST_RANK}"


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
    for level, name in ((WEAKEST_RANK, "18k"), (max(RANKS), "9d")):
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
