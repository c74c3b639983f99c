"""How the levels play, and how games are counted."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from go_rules.agreement import agreed_score, chains
from go_rules.game import Game
from go_rules.points import PASS, board_points
from go_rules.rule_names import PRESETS
from go_rules.scoring import result_text
from gtp_engine.errors import Refused
from gtp_engine.web.counting import Count
from gtp_engine.web.levels import FLOOR, LEVELS
from search.result import MoveInfo, SearchResult
from tests.gtp_engine.fakes import FakePlayer


def result_with(priors: dict[int, float]) -> SearchResult:
    moves = tuple(
        MoveInfo(
            *(point, 0, 0, 0.5, 0.0, 0.0, 10.0, 0.0, prior, 0.5, 0.0, 0.0),
            order=order,
            pv=(point,),
        )
        for order, (point, prior) in enumerate(priors.items())
    )
    return SearchResult(1, 1, 0.5, 0.0, 0.0, 10.0, 0.0, 1.0, moves)


def chosen(level: int, priors: dict[int, float], game: Game) -> set[int]:
    player, generator = FakePlayer(), np.random.default_rng(1)
    return {LEVELS[level].choose(game, result_with(priors), player, generator) for _ in range(300)}  # type: ignore[arg-type]


def test_the_weaker_levels_play_more_than_the_likeliest_move_but_nothing_senseless() -> None:
    game = Game(9, 9)
    points = board_points(9, 9)
    priors = {points[0]: 0.5, points[1]: 0.3, points[2]: 0.1, points[3]: 0.5 * FLOOR / 2, PASS: 0.05}
    assert chosen(1, priors, game) == set(points[:3])
    assert chosen(6, priors, game) == {points[0]}


def test_every_level_passes_where_the_policy_likes_nothing_better() -> None:
    game, points = Game(9, 9, *PRESETS["japanese"]), board_points(9, 9)
    for level in range(1, 7):
        assert chosen(level, {PASS: 0.4, points[0]: 0.35, points[1]: 0.25}, game) == {PASS}


def test_levels_grow_and_those_of_players_without_a_network_too() -> None:
    player = FakePlayer()
    levels = list(LEVELS.values())
    assert [level.id for level in levels] == list(range(1, 13))
    for weaker, stronger in pairwise(levels[:-1]):
        assert (weaker.visits, -weaker.temperature) < (stronger.visits, -stronger.temperature)
        assert (weaker.visits_of(player) or 0) < (stronger.visits_of(player) or 0)
    assert levels[-1].visits_of(player) is None


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
    with pytest.raises(Refused, match="captured"):
        Count(Game(3, 3, *PRESETS["tromp-taylor"]), frozenset()).toggled(board_points(3, 3)[0])
