"""Analysis of symmetric positions: one of equal moves is searched, and all are reported."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, column_of, from_vertex, row_of
from go_rules.rule_names import preset
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import MoveInfo, SearchResult
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, played

EVERYTHING = ReportRequest(lambda _: None, every=1e9, ownership=True, moves_ownership=True)


def analysed(make: Maker, game: Game, **changes: object) -> SearchResult:
    request = SearchRequest(game, game.to_play, Limits(visits=120), report=EVERYTHING, analysis=True)
    return make(FancifulEvaluator(), **changes).search(request)


def kind(point: int, size: int = 5) -> tuple[int, int]:
    """The same for all permutations of a point on a square board."""
    middle = (size - 1) / 2
    x, y = abs(column_of(point) - middle), abs(row_of(point) - middle)
    return (int(2 * max(x, y)), int(2 * min(x, y))) if point != PASS else (-1, -1)


def test_permutations_are_reported_with_what_was_searched(make: Maker) -> None:
    result = analysed(make, Game(5, 5))
    assert len({move.point for move in result.moves}) == len(result.moves) == 26
    assert [move.order for move in result.moves] == list(range(26))
    searched = {move.point: move for move in result.moves if move.symmetry_of is None}
    assert len(searched) == 7
    assert sum(move.visits for move in searched.values()) <= 119
    for move in result.moves:
        if move.symmetry_of is None:
            continue
        of: MoveInfo = searched[move.symmetry_of]
        assert kind(move.point) == kind(of.point)
        assert [kind(point) for point in move.pv] == [kind(point) for point in of.pv]
        assert move.pv[0] == move.point
        assert (move.visits, move.winrate, move.prior, move.lcb) == (of.visits, of.winrate, of.prior, of.lcb)
        assert move.ownership is not None
        assert of.ownership is not None
        assert sorted(move.ownership.tolist()) == sorted(of.ownership.tolist())
        assert move.ownership[12] == of.ownership[12]
    corners = [move for move in result.moves if kind(move.point) == (4, 4)]
    assert len({tuple(move.ownership.tolist()) for move in corners if move.ownership is not None}) == 4


@pytest.mark.parametrize(("moves", "searched"), [("C3", 6), ("B2 D4", 14), ("A1", 15)])
def test_only_the_symmetries_of_the_position_count(make: Maker, moves: str, searched: int) -> None:
    result = analysed(make, played(Game(5, 5), moves))
    assert len({move.point for move in result.moves}) == len(result.moves) == 26 - len(moves.split())
    assert sum(move.symmetry_of is None for move in result.moves) == searched


def test_superko_may_forbid_one_of_two_equal_moves(make: Maker) -> None:
    """The position is its own mirror image, but white may not play at every pair of mirrored points."""
    game = Game(4, 4, preset("tromp-taylor")[0])
    played(game, "B2 A2 D1 A1 A3 A4 B4 B3 C3 C4 B3 pass D3 C2 B1 A2 pass")
    moves = analysed(make, game, root_prune_useless=False).moves
    assert {move.point for move in moves} == set(game.legal_moves(WHITE))
    assert all(move.symmetry_of is None for move in moves)


def test_without_symmetry_or_where_it_is_not_wanted_all_moves_are_searched(make: Maker) -> None:
    assert all(move.symmetry_of is None for move in analysed(make, played(Game(5, 5), "B1")).moves)
    result = analysed(make, Game(5, 5), root_symmetry_pruning=False)
    assert all(move.symmetry_of is None for move in result.moves)
    assert sum(move.visits > 0 for move in result.moves) > 7
    corner = MoveFilter(avoid={BLACK: ((frozenset({from_vertex("A1", 5, 5)}), 1),)})
    request = SearchRequest(Game(5, 5), BLACK, Limits(visits=60), filter=corner, analysis=True)
    result = make(FancifulEvaluator()).search(request)
    assert len(result.moves) == 25
    assert all(move.symmetry_of is None for move in result.moves)


def test_a_game_has_no_permutations(make: Maker) -> None:
    result = make(FancifulEvaluator()).search(SearchRequest(Game(5, 5), WHITE, Limits(visits=60)))
    assert len(result.moves) == 7
    assert all(move.symmetry_of is None for move in result.moves)


def test_what_was_searched_of_equal_moves_leaves_room_for_a_search(make: Maker) -> None:
    """A position of the tree that becomes the root had visits in moves of which only one is looked at now."""
    game = Game(5, 5)
    player = make(FancifulEvaluator())
    player.search(SearchRequest(game, BLACK, Limits(visits=400)))
    game.play(BLACK, from_vertex("C3", 5, 5))
    first = player.search(SearchRequest(game, WHITE, Limits(visits=1)))
    assert first.visits == 1 + visits_of_moves(first)
    further = player.search(SearchRequest(game, WHITE, Limits(visits=first.visits + 5)))
    assert further.new_visits == 5
    assert further.visits == 1 + visits_of_moves(further)


def visits_of_moves(result: SearchResult) -> int:
    return sum(move.edge_visits for move in result.moves if move.symmetry_of is None)
