"""Searching as a whole: limits, interruption, reuse, filters and seeds."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex, to_vertex
from go_rules.rule_names import preset
from go_rules.rules import KO_SIMPLE
from nets.evaluator import ConstantEvaluator, Evaluation, EvaluationRequest, Evaluator, EvaluatorError
from search.nobi.iteration import advance_tree
from search.nobi.player import PuctPlayer
from search.nobi.tree.nodes import EXPANDED, NODES
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import SearchResult, StopReason
from tests.search.evaluators import CarelessEvaluator, CountingEvaluator, FailingEvaluator, FancifulEvaluator
from tests.search.searches import SMALL, Maker, played, tree_of, visits

TROMP_TAYLOR = preset("tromp-taylor")[0]
CHINESE = preset("chinese-ogs")[0]
ALL = Limits(may_stop_early=False)


def vertices(result: SearchResult, height: int) -> list[str]:
    return [to_vertex(move.point, height) for move in result.moves]


# --- Limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("count", [1, 2, 3, 50, 333])
def test_visits_are_exactly_as_asked(make: Maker, workers: int, batch: int, count: int) -> None:
    player = make(FancifulEvaluator(), workers=workers, batch=batch)
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(count)))
    assert result.visits == count
    assert result.reason is StopReason.VISITS
    assert sum(move.edge_visits for move in result.moves) == count - 1
    assert len(result.moves) == 26 or player.parameters.root_symmetry_pruning


def test_batches_grow_with_the_tree(make: Maker) -> None:
    sizes: list[int] = []

    class Recording(FancifulEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            sizes.append(len(request.spatial))
            return super().evaluate(request)

    make(Recording(), batch=4).search(SearchRequest(Game(9, 9), BLACK, visits(300)))
    assert sum(sizes[:10]) == 10
    assert max(sizes) == 4
    assert sizes.index(2) < sizes.index(3) < sizes.index(4)


def test_time_limit(make: Maker) -> None:
    player = make(FancifulEvaluator(), workers=2)
    player.warm_up(9, 9)
    started = time.perf_counter()
    result = player.search(SearchRequest(Game(9, 9), BLACK, Limits(seconds=0.3, may_stop_early=False)))
    assert time.perf_counter() - started >= 0.29
    assert result.reason is StopReason.TIME
    assert result.new_visits > 10


def test_no_time_at_all_still_gives_a_move(make: Maker) -> None:
    player = make(FancifulEvaluator())
    result = player.search(SearchRequest(Game(9, 9), BLACK, Limits(seconds=0.0)))
    assert result.visits >= 1
    assert Game(9, 9).is_legal(BLACK, player.choose(Game(9, 9), result))


def test_stop_set_before_the_search(make: Maker) -> None:
    stop = threading.Event()
    stop.set()
    result = make(FancifulEvaluator()).search(SearchRequest(Game(9, 9), BLACK, ALL, stop=stop))
    assert (result.reason, result.visits) == (StopReason.INTERRUPTED, 1)
    assert result.moves


@pytest.mark.parametrize("early", [True, False])
def test_no_limits_need_kernels_of_their_own(make: Maker, early: bool) -> None:
    """Each kernel has one signature after the warm-up: another one would be compiled while a clock runs."""
    player = make(FancifulEvaluator())
    player.warm_up(5, 5)
    before = list(advance_tree.signatures)
    for limits in (Limits(seconds=0.05), Limits(visits=40), Limits(40, 1e6), Limits(10**12, 0.05)):
        player.clear()
        player.search(SearchRequest(Game(5, 5), BLACK, dataclasses.replace(limits, may_stop_early=early)))
    assert list(advance_tree.signatures) == before


def test_few_visits_are_made_by_few_workers(make: Maker) -> None:
    seen: set[int] = set()

    class Noting(FancifulEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            seen.add(threading.get_ident())
            return super().evaluate(request)

    player = make(Noting(), workers=6)
    player.search(SearchRequest(Game(9, 9), BLACK, visits(26)))
    assert len(seen - {threading.get_ident()}) <= 3


def test_decided_search_stops_early(make: Maker) -> None:
    player = make(FancifulEvaluator(sharpness=4.0), random_symmetry=False)
    full = player.search(SearchRequest(Game(5, 5), BLACK, visits(600)))
    player.clear()
    early = player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=600, seconds=60)))
    assert early.reason is StopReason.DECIDED
    assert early.visits < 600
    assert early.moves[0].point == full.moves[0].point


def test_time_that_nobody_wants_back_is_used(make: Maker) -> None:
    player = make(FancifulEvaluator(sharpness=4.0), random_symmetry=False)
    limits = Limits(visits=600, seconds=60, unused_time_carries_over=False)
    assert player.search(SearchRequest(Game(5, 5), BLACK, limits)).reason is StopReason.VISITS
    only = MoveFilter(allow={BLACK: (frozenset([from_vertex("C3", 5, 5)]), 1)})
    limits = dataclasses.replace(limits, visits=10**6)
    alone = player.search(SearchRequest(Game(5, 5), BLACK, limits, only))
    assert alone.reason is StopReason.DECIDED, "there is one move only"


def test_evaluator_failure_is_raised_and_survived(make: Maker) -> None:
    evaluator = FailingEvaluator(EvaluatorError("net: broken"), 20)
    player = make(evaluator, workers=2)
    with pytest.raises(EvaluatorError, match="net: broken"):
        player.search(SearchRequest(Game(5, 5), BLACK, visits(100)))
    evaluator.good_calls = 10**9
    assert player.search(SearchRequest(Game(5, 5), BLACK, visits(100))).visits == 100


# --- Reports ----------------------------------------------------------------------------------------------------------


def test_reports_while_searching(make: Maker) -> None:
    player = make(FancifulEvaluator(), workers=2)
    player.warm_up(5, 5)
    seen: list[SearchResult] = []
    stop = threading.Event()

    def on_report(result: SearchResult) -> None:
        seen.append(result)
        if len(seen) == 3:
            stop.set()

    report = ReportRequest(on_report, 0.05, ownership=True, ownership_stdev=True, moves_ownership=True)
    result = player.search(SearchRequest(Game(5, 5), BLACK, report=report, analysis=True, stop=stop))
    assert len(seen) >= 3
    assert [each.visits for each in seen] == sorted(each.visits for each in seen)
    assert result.ownership is not None
    assert result.ownership_stdev is not None
    assert result.ownership.shape == (25,)
    assert np.abs(result.ownership).max() <= 1.0
    tried = [move for move in result.moves if move.visits > 0]
    assert all(move.ownership is not None and move.ownership.shape == (25,) for move in tried)
    assert [move.order for move in result.moves] == list(range(len(result.moves)))
    for move in tried:
        assert move.pv[0] == move.point
        assert len(move.pv) == len(move.pv_visits) == len(move.pv_edge_visits)
        assert (move.pv_visits[0], move.pv_edge_visits[0]) == (move.visits, move.edge_visits)
        assert all(edge <= node for edge, node in zip(move.pv_edge_visits, move.pv_visits, strict=True))
        assert move.lcb <= move.winrate
    assert 0.0 <= result.winrate <= 1.0


def test_tree_ownership_is_the_average_of_evaluations(make: Maker) -> None:
    class Owner(ConstantEvaluator):
        def evaluate(self, request: EvaluationRequest) -> Evaluation:
            evaluation = super().evaluate(request)
            evaluation.ownership[:] = 0.5  # always the side to move's
            return evaluation

    player = make(Owner())
    report = ReportRequest(lambda result: None, 10.0, ownership=True, moves_ownership=True)
    result = player.search(SearchRequest(Game(4, 4), BLACK, visits(2), report=report))
    # One evaluation says 1/2 for black, the other, white to move, 1/2 for white.
    assert result.ownership is not None
    assert result.ownership == pytest.approx(np.zeros(16), abs=0.01)
    assert result.moves[0].ownership == pytest.approx(np.full(16, -0.5), abs=0.01)


# --- Reuse ------------------------------------------------------------------------------------------------------------


def test_tree_is_kept_after_both_moves(make: Maker) -> None:
    player = make(FancifulEvaluator())
    game = Game(5, 5)
    first = player.search(SearchRequest(game, BLACK, visits(400)))
    reply = first.moves[0].pv[1]
    kept = first.moves[0].pv_visits[1]
    game.play(BLACK, first.moves[0].point)
    game.play(WHITE, reply)
    second = player.search(SearchRequest(game, BLACK, visits(400)))
    assert kept > 20
    assert second.visits == 400
    assert second.new_visits == 400 - kept


def test_same_position_goes_on_from_where_it_was(make: Maker) -> None:
    player = make(FancifulEvaluator())
    game = Game(5, 5)
    player.search(SearchRequest(game, BLACK, visits(100)))
    assert player.search(SearchRequest(game, BLACK, visits(150))).new_visits == 50
    assert player.search(SearchRequest(game, BLACK, visits(150))).new_visits == 0


CHANGES: list[tuple[str, Callable[[Game], None]]] = [
    ("komi", lambda game: game.set_komi(0.5)),
    ("rules", lambda game: game.set_rules(TROMP_TAYLOR)),
    ("undo", lambda game: game.undo()),
    ("clear", lambda game: game.clear()),
]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=[what for what, _ in CHANGES])
def test_another_game_is_another_tree(make: Maker, what: str, change: Callable[[Game], None]) -> None:
    player = make(FancifulEvaluator())
    game = Game(5, 5)
    game.play(BLACK, from_vertex("C3", 5, 5))
    player.search(SearchRequest(game, game.to_play, visits(100)))
    change(game)
    assert player.search(SearchRequest(game, game.to_play, visits(100))).new_visits == 99


def test_the_other_colour_is_another_tree(make: Maker) -> None:
    player = make(FancifulEvaluator())
    game = Game(5, 5)
    player.search(SearchRequest(game, BLACK, visits(100)))
    result = player.search(SearchRequest(game, WHITE, visits(100)))
    assert (result.colour, result.new_visits) == (WHITE, 99)


def test_cache_spares_evaluations(make: Maker) -> None:
    player = make(FancifulEvaluator(), random_symmetry=False)
    game = Game(5, 5)
    first = player.search(SearchRequest(game, BLACK, visits(200)))
    game.play(BLACK, from_vertex("A1", 5, 5))
    player.search(SearchRequest(game, WHITE, visits(10)))
    game.undo()
    again = player.search(SearchRequest(game, BLACK, visits(200)))
    assert again.new_visits == 199
    assert again.evaluations < 0.1 * first.evaluations
    assert vertices(again, 5)[:3] == vertices(first, 5)[:3]


def test_reused_tree_equals_one_brought_up_to_date(make: Maker) -> None:
    """Averages kept by replacing contributions stay near those computed afresh."""
    from search.nobi.tree.reuse import recompute

    player = make(FancifulEvaluator(sharpness=0.2), memory=64)
    player.search(SearchRequest(Game(9, 9), BLACK, visits(6000)))
    space = tree_of(player).space
    tree = space.tree
    used = int(tree.used[NODES])
    before = tree.nodes[:used].copy()
    recompute(tree, space.context)
    wide = ((before["n_edges"] > 40) | (before["visits"] > 500)) & (before["state"] == EXPANDED)
    assert wide.sum() >= 3
    for name, tolerance in (("utility", 0.02), ("score", 0.3), ("weight", 0.02 * before["weight"][wide].max())):
        assert np.abs(before[name][wide] - tree.nodes[name][:used][wide]).max() < tolerance


def test_a_pass_that_ends_the_game_by_repetition_is_looked_at_again(make: Maker) -> None:
    """Black's next pass repeats one in the same position, and ends the game at the root as it did not in the tree."""
    player = make(CountingEvaluator(), conservative_pass=True)
    game = Game(2, 1, dataclasses.replace(TROMP_TAYLOR, ko=KO_SIMPLE), 0.0)
    played(game, "pass A1 pass")
    player.search(SearchRequest(game, WHITE, visits(100)))
    game.play(WHITE, from_vertex("B1", 2, 1))  # suicide: the board is as it was when black passed first
    assert game.position["passed_here"]
    assert player.search(SearchRequest(game, BLACK, visits(50))).new_visits >= 49


def test_a_finished_game_is_searched_anew(make: Maker) -> None:
    """What was the end for the root before has no moves in the tree."""
    player = make(CountingEvaluator(), conservative_pass=False)
    game = Game(2, 2, preset("japanese")[0], 0.0)
    for count in (1000, 1000, 20, 1000, 20):
        result = player.search(SearchRequest(game, game.to_play, visits(count)))
        assert sum(move.visits for move in result.moves) >= 19
        game.play(game.to_play, PASS)


# --- The same again ---------------------------------------------------------------------------------------------------


SIGNATURE = "d41a1c396d6e"
"""Of `signature` with the counting evaluator. A change of behaviour changes it, on purpose; a refactoring must not."""


def signature(player: PuctPlayer) -> str:
    """The visits of a few searches and the moves chosen after them in one number."""
    digest = hashlib.sha256()
    for size, rules in ((5, CHINESE), (7, TROMP_TAYLOR), (5, preset("japanese")[0])):
        game = Game(size, size, rules, 6.5)
        player.clear()
        for _ in range(4):
            result = player.search(SearchRequest(game, game.to_play, visits(150)))
            for move in result.moves:
                digest.update(f"{move.point} {move.visits};".encode())
            game.play(game.to_play, player.choose(game, result))
    return digest.hexdigest()[:12]


@pytest.mark.parametrize("evaluator", [CountingEvaluator(), CarelessEvaluator(), FancifulEvaluator()])
def test_same_seed_same_search(evaluator: Evaluator) -> None:
    signatures = []
    for _ in range(2):
        player = PuctPlayer(evaluator, SMALL)
        player.warm_up(5, 5)
        signatures.append(signature(player))
        player.close()
    assert signatures[0] == signatures[1]
    if isinstance(evaluator, CountingEvaluator):
        assert signatures[0] == SIGNATURE


def test_a_seed_that_is_set_later_is_as_good() -> None:
    signatures = []
    for first in (SMALL.seed, 5):
        player = PuctPlayer(FancifulEvaluator(), dataclasses.replace(SMALL, seed=first))
        player.search(SearchRequest(Game(5, 5), BLACK, visits(10)))
        player.parameters = dataclasses.replace(SMALL, seed=3)
        signatures.append(signature(player))
        player.close()
    assert signatures[0] == signatures[1]


def test_other_parameters_forget_the_tree_and_no_evaluation(make: Maker) -> None:
    player, request = make(FancifulEvaluator(), random_symmetry=False), SearchRequest(Game(5, 5), BLACK, visits(200))
    first = player.search(request)
    player.parameters = dataclasses.replace(player.parameters, cpuct=player.parameters.cpuct * 1.01)
    second = player.search(request)
    assert (second.visits, second.new_visits) == (200, 199)
    assert second.evaluations < 0.2 * first.evaluations
    player.clear()
    assert player.search(request).evaluations > 0.8 * first.evaluations


def test_another_seed_another_search() -> None:
    found = set()
    for seed in (1, 2, 3):
        player = PuctPlayer(FancifulEvaluator(), dataclasses.replace(SMALL, seed=seed, root_noise=True))
        result = player.search(SearchRequest(Game(5, 5), BLACK, visits(200)))
        found.add(tuple((move.point, move.visits) for move in result.moves))
        player.close()
    assert len(found) > 1
