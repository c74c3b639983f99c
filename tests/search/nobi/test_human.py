"""What people would play: mixed into the choice of a move, and looked at by the root's search."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import BLACK, PASS, board_points, point_at
from nets.bare_evaluation import HumanNetwork
from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest, EvaluatorAttributes
from search.nobi.move_choice import with_peoples_choice
from search.nobi.parameters import HumanParameters, SearchParameters
from search.nobi.player import PuctPlayer
from search.request import ReportRequest, SearchRequest
from search.result import MoveInfo, SearchResult
from tests.search.evaluators import FancifulEvaluator
from tests.search.nobi.test_move_choice import info
from tests.search.searches import SMALL, tree_of, visits
from tests.systems import PATIENCE

A, B, C = (point_at(x, 0) for x in range(3))
BOARD = Game(3, 3)
ALONE = HumanParameters(human_prop=1.0)


def likelihoods(of: Mapping[int, float]) -> NDArray[np.float64]:
    return np.array([of.get(point, 0.0) for point in [*board_points(3, 3), PASS]])


def tried(point: int, choice: float, utility: float, visits: int = 10) -> MoveInfo:
    return dataclasses.replace(info(point, choice), utility=utility, visits=visits)


def mixed(moves: list[MoveInfo], of: Mapping[int, float], parameters: SearchParameters) -> dict[int, float]:
    """The choices as shares of their sum."""
    found = with_peoples_choice(BOARD, moves, likelihoods(of), parameters)
    total = sum(move.choice for move in found)
    assert [move.order for move in found] == list(range(len(moves)))
    assert found == tuple(sorted(found, key=lambda move: (move.visits == 0, -move.choice)))
    return {move.point: move.choice / total for move in found}


MOVES = [tried(A, 60.0, 0.5), tried(B, 30.0, 0.3), tried(C, 0.0, 9.9, visits=0), tried(PASS, 10.0, -0.1)]
PEOPLE = {A: 0.1, B: 0.2, C: 0.3, PASS: 0.4}


@pytest.mark.parametrize(
    ("of", "changes", "wanted"),
    [
        (PEOPLE, {}, PEOPLE),
        (PEOPLE, {"human_prop": 0.25}, {A: 0.45 + 0.025, B: 0.225 + 0.05, C: 0.075, PASS: 0.075 + 0.1}),
        (PEOPLE, {"human_ignore_pass": True}, {A: 0.15, B: 0.3, C: 0.45, PASS: 0.1}),
        # People who only pass do so all the same, as in KataGo: no other move is known of them.
        ({PASS: 1.0}, {"human_ignore_pass": True}, {A: 0.0, B: 0.0, C: 0.0, PASS: 1.0}),
    ],
)
def test_peoples_part_of_the_choice(of: Mapping[int, float], changes: dict[str, Any], wanted: dict[int, float]) -> None:
    assert mixed(MOVES, of, dataclasses.replace(ALONE, **changes)) == pytest.approx(wanted)


@pytest.mark.parametrize("scale", [0.05, 0.3, 2.0])
def test_what_the_search_finds_bad_is_played_less(scale: float) -> None:
    """A move that was not tried counts as the mean of the others."""
    utilities = {A: 0.5, B: 0.3, C: (0.5 + 0.3 - 0.1) / 3, PASS: -0.1}
    weights = {point: PEOPLE[point] * math.exp((utilities[point] - 0.5) / scale) for point in PEOPLE}
    wanted = {point: each / sum(weights.values()) for point, each in weights.items()}
    assert mixed(MOVES, PEOPLE, dataclasses.replace(ALONE, human_lambda=scale)) == pytest.approx(wanted)


@pytest.mark.parametrize(("of", "parameters"), [(PEOPLE, SearchParameters()), (PEOPLE, HumanParameters()), ({}, ALONE)])
def test_nothing_changes_without_people(of: Mapping[int, float], parameters: SearchParameters) -> None:
    assert with_peoples_choice(BOARD, MOVES, likelihoods(of), parameters) == tuple(MOVES)
    assert with_peoples_choice(BOARD, [], likelihoods(of), parameters) == ()


class FirstPoints(ConstantEvaluator):
    """Plays the first points of the board, each half as often as the one before."""

    attributes = EvaluatorAttributes("first points", "fp32", "none")

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        answer = super().evaluate(request)
        return answer._replace(policy=answer.policy - np.arange(answer.policy.shape[1]) * np.float32(math.log(2.0)))


Make = Callable[..., PuctPlayer]


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Make:
    def made(**changes: object) -> PuctPlayer:
        values = {**vars(SMALL), "random_symmetry": False, **changes}
        player = PuctPlayer(FancifulEvaluator(), HumanParameters(**values), HumanNetwork(FirstPoints()))
        request.addfinalizer(player.close)
        return player

    return made


def test_a_player_chooses_as_people_do(make: Make) -> None:
    player = make(human_prop=1.0, temperature=0.0, temperature_early=0.0)
    game = Game(7, 7)
    for _ in range(3):
        result = player.search(SearchRequest(game, game.to_play, visits(8)))
        first = next(point for point in board_points(7, 7) if game.is_legal(game.to_play, point))
        assert player.choose(game, result) == first
        assert [move.order for move in result.moves] == list(range(len(result.moves)))
        game.play(game.to_play, first)


def test_analysis_has_their_part_too_in_every_report(make: Make) -> None:
    game, seen = Game(7, 7), list[SearchResult]()
    report = ReportRequest(seen.append, every=0.01)
    asked = SearchRequest(game, BLACK, visits(500), report=report, analysis=True, fresh=True)
    result = make(human_prop=1.0, human_weightless=0.5, human_cpuct=100.0).search(asked)
    assert seen
    for each in (*seen, result):
        known = [move for move in each.moves if move.visits > 0]
        assert known == list(each.moves[: len(known)])
        assert [move.choice for move in known] == sorted((move.choice for move in known), reverse=True)
        assert all(move.utility_lcb > -1e3 for move in each.moves)
    assert result.moves[0].point == point_at(0, 0)


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_interruption_does_not_wait_for_people(make: Make, is_stopped: bool) -> None:
    """A network cannot be stopped, but nobody has to wait for it."""
    asleep = threading.Event()

    class Slow(FirstPoints):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            threading.Timer(0.2, (stop if is_stopped else asleep).set).start()
            asleep.wait(PATIENCE)
            return super().evaluate(request)

    player, stop = make(human_prop=1.0), threading.Event()
    player.human = HumanNetwork(Slow())
    result = player.search(SearchRequest(Game(7, 7), BLACK, visits(5), stop=stop))
    assert result.moves
    assert result.seconds < PATIENCE / 2
    assert result.seconds > 0.1 or is_stopped
    asleep.set()


def test_more_than_all_visits_go_by_people(make: Make) -> None:
    """Shares of more than 1 together: the rest of the tree is searched as always."""
    results = [
        make(human_weightless=0.5, human_weightful=share).search(SearchRequest(Game(7, 7), BLACK, visits(400)))
        for share in (0.5, 1.0)
    ]
    assert results[0].moves == results[1].moves


def root_visits(player: PuctPlayer) -> int:
    return int(tree_of(player).root["visits"])


def test_weightless_visits_count_for_their_move_alone(make: Make) -> None:
    """They use up the visits of a search, but its averages and its choice are those of the others."""
    game = Game(7, 7)
    player = make(human_weightless=0.75, human_cpuct=100.0)
    result = player.search(SearchRequest(game, BLACK, visits(400)))
    assert result.new_visits == 399
    assert 60 <= root_visits(player) <= 140
    assert sum(move.visits - move.edge_visits for move in result.moves) > 150
    assert sum(move.edge_visits for move in result.moves) == root_visits(player) - 1
    first = next(move for move in result.moves if move.point == point_at(0, 0))
    assert first.visits > 100
    for move in result.moves:
        assert move.weight == 0.0 if move.edge_visits == 0 else move.weight > 0.0
    alone = make().search(SearchRequest(game, BLACK, visits(root_visits(player))))
    assert result.winrate == pytest.approx(alone.winrate, abs=0.1)


def test_weightful_visits_count_as_others_do(make: Make) -> None:
    game = Game(7, 7)
    player = make(human_weightful=0.75, human_cpuct=100.0)
    result = player.search(SearchRequest(game, BLACK, visits(400)))
    assert result.visits == root_visits(player) == 400
    assert sum(move.edge_visits for move in result.moves) == 399
    first = next(move for move in result.moves if move.point == point_at(0, 0))
    assert first.edge_visits > 100


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_of_weightless_visits_alone_ends(make: Make, workers: int) -> None:
    game = Game(5, 5)
    player = make(human_weightless=1.0, human_prop=1.0, workers=workers, batch=4)
    for _ in range(6):
        result = player.search(SearchRequest(game, game.to_play, visits(40)))
        point = player.choose(game, result)
        assert game.is_legal(game.to_play, point)
        game.play(game.to_play, point)


def test_a_tree_is_kept_from_move_to_move(make: Make) -> None:
    game = Game(7, 7)
    player = make(human_weightless=0.5)
    result = player.search(SearchRequest(game, BLACK, visits(200)))
    best = result.moves[0]
    game.play(BLACK, best.point)
    again = player.search(SearchRequest(game, game.to_play, visits(best.visits + 20)))
    assert 0 < again.new_visits <= 21
