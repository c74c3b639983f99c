"""Playout doublings in handicap games: KataGo's own figures, and what the network is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from go_rules.game import Game
from go_rules.handicap import fixed_handicap
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from go_rules.rule_names import PRESETS
from nets.embedded import embedded_network
from nets.evaluator import LOSS, WIN, Evaluation, EvaluationRequest
from nets.features import GLOBAL_ADVANTAGE, OPPONENT, OWN
from nets.open import open_network
from search.nobi.doublings import black_lead_at_start, handicap_doublings, has_learned_doublings
from search.nobi.parameters import SearchParameters
from search.request import SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, visits

A_POINT = SearchParameters().handicap_doublings


def handicap_game(size: int, rules: str, komi: float, stones: int) -> Game:
    game = Game(size, size, komi=komi, rules=PRESETS[rules][0])
    if stones:
        game.place_handicap(fixed_handicap(stones, size, size))
    return game


@pytest.mark.parametrize(
    ("size", "rules", "komi", "stones", "doublings"),
    [
        # As KataGo 1.17.2 said beside its first move ("PDA", two digits), as white's.
        (19, "chinese", 0.5, 4, 2.0),
        (19, "japanese", 0.5, 4, 2.0),
        (19, "tromp-taylor", 0.5, 9, 2.75),
        (9, "tromp-taylor", 0.5, 2, 2.75),
        (13, "chinese", 0.5, 3, 2.5),
        (19, "aga", 0.5, 2, 0.75),
        (7, "chinese", 0.5, 2, 0.0),
        (19, "tromp-taylor", 7.5, 0, 0.0),
        (19, "tromp-taylor", 0.5, 0, 0.125),
        (19, "tromp-taylor", 20.5, 0, -0.375),
        (9, "tromp-taylor", 12.5, 0, -0.5),
    ],
)
def test_doublings_at_the_start_are_katagos(size: int, rules: str, komi: float, stones: int, doublings: float) -> None:
    assert handicap_doublings(handicap_game(size, rules, komi, stones), A_POINT, ()) == doublings


def test_points_of_a_start() -> None:
    assert black_lead_at_start(handicap_game(19, "tromp-taylor", 7.0, 0)) == 0.0
    assert black_lead_at_start(handicap_game(19, "tromp-taylor", 0.5, 2)) == 15.0 + 6.5
    assert black_lead_at_start(handicap_game(19, "chinese", 0.5, 2)) == 15.0 + 6.5 - 2.0
    assert black_lead_at_start(handicap_game(19, "japanese", 0.5, 3)) == 28.0 + 6.5


def test_stones_that_black_plays_before_white_are_a_handicap() -> None:
    game = Game(19, 19, komi=0.5)
    for vertex in ("D4", "Q16", "D16", "Q4"):
        game.play(BLACK, from_vertex(vertex, 19, 19))
    assert handicap_doublings(game, A_POINT, ()) == 2.0


@pytest.mark.parametrize(
    ("found", "change"),
    [
        ([-0.7], 0.0),
        ([-0.95], 0.0),  # not above the most
        ([-0.4], -0.125),
        ([0.9] * 3, -0.375),
        ([0.9] * 3 + [-0.95], -0.25),
        ([0.9] * 99, -2.125),
        ([0.9] * 99 + [-0.95] * 2, -1.875),
    ],
)
def test_doublings_follow_the_game(found: list[float], change: float) -> None:
    game = handicap_game(19, "tromp-taylor", 0.5, 4)
    assert handicap_doublings(game, A_POINT, found) == 2.125  # before there is any white stone
    game.play(WHITE, from_vertex("K10", 19, 19))
    assert handicap_doublings(game, A_POINT, found) == 2.125 + change


def test_black_behind_by_komi_sees_the_game_from_the_other_side() -> None:
    game = handicap_game(19, "tromp-taylor", 20.5, 0)
    game.play(BLACK, from_vertex("D4", 19, 19))
    game.play(WHITE, from_vertex("Q16", 19, 19))
    assert handicap_doublings(game, A_POINT, [-0.95]) == -0.25
    assert handicap_doublings(game, A_POINT, [0.95]) == -0.375


class Told(FancifulEvaluator):
    """Remembers the doublings that it is told, and may have learned that they win."""

    def __init__(self, learned: bool) -> None:
        super().__init__()
        self.learned = learned
        self.told: list[float] = []

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        evaluation = super().evaluate(request)
        advantage = request.global_[:, GLOBAL_ADVANTAGE]
        if request.spatial[:, [OWN, OPPONENT]].any():  # not asked whether it has learned
            self.told.append(2.0 * float(advantage[0]))
        if self.learned:
            evaluation.value[:, WIN] = 0.3 + 0.1 * advantage
            evaluation.value[:, LOSS] = 1.0 - evaluation.value[:, WIN]
        return evaluation


def start() -> Game:
    game = handicap_game(9, "tromp-taylor", 0.5, 2)
    game.play(WHITE, from_vertex("E5", 9, 9))
    return game


@pytest.mark.parametrize(
    ("learned", "changes", "analysis", "root"),
    [
        (True, {}, False, -2.75),
        (False, {}, False, 0.0),
        (True, {}, True, 0.0),
        (True, {"handicap_doublings": 0.0}, False, 0.0),
        (True, {"playout_doublings": 0.5}, False, 0.5),
    ],
)
def test_who_is_told(make: Maker, learned: bool, changes: dict[str, float], analysis: bool, root: float) -> None:
    told = Told(learned)
    result = make(told, **changes).search(SearchRequest(start(), BLACK, visits(3), analysis=analysis))
    assert result.doublings == root
    assert told.told[:2] == [root, -root]  # the second is of a position with white to move


def test_hopes_change_what_is_told_and_pondering_keeps_it(make: Maker) -> None:
    told = Told(learned=True)
    player, game = make(told), start()
    game.play(BLACK, from_vertex("C5", 9, 9))
    first = player.search(SearchRequest(game, WHITE, visits(4)))
    assert first.doublings == 2.75
    game.play(WHITE, player.choose(game, first))
    # 30 % and more is more than hope: less is asked for.
    assert first.winrate > 0.25
    pondering = player.search(SearchRequest(game, BLACK, visits(4)))
    assert pondering.doublings == -2.625
    game.play(BLACK, next(move.point for move in pondering.moves if move.visits and move.point != PASS))
    again = player.search(SearchRequest(game, WHITE, visits(4)))
    assert (again.doublings, again.new_visits < 4) == (2.625, True)


@pytest.mark.parametrize("network", ["g170-b6c96-s175395328-d26788732.bin.gz", "b7c96h3tfrs-test5-cnorm.bin.gz"])
@pytest.mark.parametrize("size", [9, 19])
def test_katagos_networks_have_learned_of_doublings(shared: Callable[[str], Path], network: str, size: int) -> None:
    assert has_learned_doublings(open_network(shared(f"nets/{network}")), size, size)


@pytest.mark.parametrize("size", [9, 19])
def test_the_embedded_network_has_learned_of_doublings(size: int) -> None:
    path = embedded_network()
    assert path is not None
    assert has_learned_doublings(open_network(path), size, size)


def test_a_network_that_does_not_look_at_them_has_not() -> None:
    assert not has_learned_doublings(Told(learned=False), 9, 9)


@pytest.mark.parametrize("side", ["root", "white", "black"])
def test_what_was_pondered_is_used_whoever_is_told_to_be_stronger(make: Maker, side: str) -> None:
    changes = {"playout_doublings": 1.0, "playout_doublings_side": side, "root_symmetry_pruning": False}
    player = make(FancifulEvaluator(), **changes)
    game = Game(5, 5)
    game.play(BLACK, from_vertex("C3", 5, 5))
    found = player.search(SearchRequest(game, WHITE, visits(300), pondering=True))
    assert found.doublings == {"root": -1.0, "white": 1.0, "black": -1.0}[side]
    game.play(WHITE, found.moves[0].point)
    kept = found.moves[0].visits
    assert player.search(SearchRequest(game, BLACK, visits(kept + 10))).new_visits <= 12
