"""Moves that a search may or may not look at, and moves that a root's policy all but rules out."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex
from search.request import MoveFilter, SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, visits


def test_avoided_moves_are_not_searched(make: Maker) -> None:
    player = make(FancifulEvaluator())
    banned = frozenset(board_points(5, 5)[:20])
    filter = MoveFilter(avoid={BLACK: ((banned, 1),)})
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(100), filter=filter))
    assert not {move.point for move in result.moves} & banned
    assert PASS in {move.point for move in result.moves}


def test_allowed_moves_alone_are_searched(make: Maker) -> None:
    player = make(FancifulEvaluator(), root_symmetry_pruning=False)
    corner, centre = from_vertex("A1", 5, 5), from_vertex("C3", 5, 5)
    filter = MoveFilter(allow={BLACK: (frozenset({corner, centre}), 1), WHITE: (frozenset({PASS}), 2)})
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(200), filter=filter))
    assert {move.point for move in result.moves} == {corner, centre}
    assert all(move.pv[1] == PASS for move in result.moves if len(move.pv) > 1)
    assert any(len(move.pv) > 3 for move in result.moves)


def test_everything_forbidden(make: Maker) -> None:
    player = make(FancifulEvaluator())
    filter = MoveFilter(avoid={BLACK: ((frozenset({*board_points(5, 5), PASS}), 1),)})
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(20), filter=filter))
    assert [move.point for move in result.moves] == [PASS]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.1])
def test_a_filter_that_allows_no_legal_move_leaves_the_pass(make: Maker, temperature: float) -> None:
    game = Game(5, 5)
    game.play(BLACK, from_vertex("C3", 5, 5))
    only = MoveFilter(allow={WHITE: (frozenset({from_vertex("C3", 5, 5)}), 1)})
    player = make(FancifulEvaluator(), root_policy_temperature=temperature)
    result = player.search(SearchRequest(game, WHITE, visits(40), filter=only, analysis=True))
    assert {move.point for move in result.moves} == {PASS}


def test_a_cold_policy_makes_no_move_illegal(make: Maker) -> None:
    player = make(FancifulEvaluator(sharpness=4.0), root_policy_temperature=0.01, root_symmetry_pruning=False)
    result = player.search(SearchRequest(Game(5, 5), BLACK, visits(20), analysis=True))
    assert len(result.moves) == 26
