"""Mirror Go: when an opponent plays it, and what a search then looks at."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, column_of, from_vertex, opponent, point_at, row_of
from go_rules.rule_names import preset
from nets.evaluator import ConstantEvaluator
from search.nobi.mirror import LEAST, mirroring_opponent
from search.nobi.tree.nodes import EXPANDED, decode_priors
from search.request import Limits, SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, edges_of, tree_of

CHINESE = preset("chinese-ogs")[0]
ENOUGH = 2 * LEAST
"""Mirrored moves that are enough where every move is mirrored."""
SPREAD = ["A9", "C9", "E9", "G9", "J9", "A7", "C7", "E7", "G7", "J7", "B8", "D8", "F8", "H8", "B6", "H6"]
"""Moves on the upper half of 9x9 that capture nothing when they are mirrored."""


def image(point: int, size: int = 9) -> int:
    return point_at(size - 1 - column_of(point), size - 1 - row_of(point))


def mirrored(moves: int = len(SPREAD), komi: float = 7.5, first: int = BLACK) -> Game:
    """A game of so many moves and their images, with `first` to play."""
    game = Game(9, 9, CHINESE, komi)
    for vertex in SPREAD[:moves]:
        point = from_vertex(vertex, 9, 9)
        game.play(first, point)
        game.play(opponent(first), image(point))
    return game


@pytest.mark.parametrize(("moves", "expected"), [(ENOUGH - 1, False), (ENOUGH, True), (len(SPREAD), True)])
def test_enough_moves_have_to_be_mirrored(moves: int, expected: bool) -> None:
    assert (mirroring_opponent(mirrored(moves), BLACK) is not None) == expected
    assert mirroring_opponent(mirrored(moves), WHITE) is None


def test_the_last_move_has_to_be_mirrored() -> None:
    game = mirrored()
    game.play(BLACK, from_vertex("D5", 9, 9))
    game.play(WHITE, from_vertex("C5", 9, 9))
    assert mirroring_opponent(game, BLACK) is None
    game = mirrored()
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    assert mirroring_opponent(game, BLACK) is None


@pytest.mark.parametrize(("komi", "first", "wins"), [(7.5, BLACK, True), (-0.5, BLACK, False), (-0.5, WHITE, True)])
def test_komi_and_the_last_point_decide_who_wins_by_mirroring(komi: float, first: int, wins: bool) -> None:
    known = mirroring_opponent(mirrored(komi=komi, first=first), first)
    assert known is not None
    assert known == (opponent(first), wins)


@pytest.mark.parametrize("counter_mirror", [True, False])
def test_the_mirror_image_and_the_centre_are_looked_at(make: Maker, counter_mirror: bool) -> None:
    player = make(ConstantEvaluator(), counter_mirror=counter_mirror)
    player.search(SearchRequest(mirrored(), BLACK, Limits(visits=60, may_stop_early=False)))
    kept = tree_of(player)
    tree, edges = kept.space.tree, edges_of(kept, kept.root)
    centre = [float(edge["prior"]) for edge in edges if edge["move"] == 40]
    others = [float(edge["prior"]) for edge in edges if edge["move"] != 40]
    assert bool(centre and centre[0] > 2 * max(others)) == counter_mirror
    looked_at = children = 0
    for edge in edges:
        child = int(edge["child"])
        if tree.nodes[child]["state"] != EXPANDED or edge["move"] in (40, 81):
            continue
        priors = decode_priors(tree.priors[child]).astype(np.float64)
        replies = edges_of(kept, tree.nodes[child])
        priors[replies["move"]] = replies["prior"]
        children += 1
        looked_at += int(priors.argmax()) == 80 - int(edge["move"]) and priors.max() > 2 * np.median(priors)
        assert priors.sum() == pytest.approx(1.0, abs=0.01)
    assert looked_at == (children if counter_mirror else 0)
    assert children > 2


def test_nothing_of_such_a_search_is_kept_for_others(make: Maker) -> None:
    """The same position, reached without mirroring, is searched as ever."""
    game, other = mirrored(), Game(9, 9, CHINESE, 7.5)
    points = [from_vertex(vertex, 9, 9) for vertex in SPREAD]
    for point, reply in zip(points, [image(point) for point in reversed(points)], strict=True):
        other.play(BLACK, point)
        other.play(WHITE, reply)
    assert mirroring_opponent(other, BLACK) is None
    players = [make(FancifulEvaluator(), random_symmetry=False) for _ in range(2)]
    players[0].search(SearchRequest(game, BLACK, Limits(visits=40, may_stop_early=False)))
    request = SearchRequest(other, BLACK, Limits(visits=40, may_stop_early=False))
    first, second = (player.search(request) for player in players)
    assert [(move.point, move.visits) for move in first.moves] == [(move.point, move.visits) for move in second.moves]
