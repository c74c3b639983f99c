"""A worker's share of the work on the tree: what is inserted, collected and remembered in one call."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from search.puct.game_tree import GameTree
from search.puct.iteration import DECIDED, NO_ROOM, NOT_YET, VISITS_A_LEAF
from search.puct.parameters import SearchParameters
from search.puct.workspace import Desk, Workspace
from search.request import SearchRequest
from tests.search.evaluators import FancifulEvaluator

BATCH = 3


@pytest.fixture
def tree() -> GameTree:
    """The root of an empty board, evaluated."""
    parameters = SearchParameters(workers=1, batch=BATCH, memory=16, cache_memory=1, seed=7)
    space = Workspace(5, 5, parameters, FancifulEvaluator(), 1, 7, False)
    tree = GameTree(space)
    take_root(tree, parameters)
    return tree


def take_root(tree: GameTree, parameters: SearchParameters) -> None:
    tree.take_root(SearchRequest(Game(5, 5), BLACK), parameters, np.random.default_rng(1))


def grow(tree: GameTree, desk: Desk, visits: int) -> None:
    """Until the root has so many."""
    space = tree.space
    while tree.root["visits"] < visits:
        space.advance(desk, visits - int(tree.root["visits"]) - desk.under_way, NOT_YET)
        if desk.asked > 0:
            space.evaluate_missing(desk)


def test_leaves_are_inserted_and_the_next_ones_collected(tree: GameTree) -> None:
    space, desk = tree.space, tree.space.desks[0]
    assert space.advance(desk, 10, NOT_YET)[0] == 0
    assert (desk.under_way, desk.asked) == (1, 1)
    space.evaluate_missing(desk)
    assert space.advance(desk, 9, NOT_YET)[0] == 1
    assert (desk.under_way, desk.asked, tree.root["visits"]) == (1, 1, 2)


def test_as_many_as_the_tree_is_large_and_as_there_is_room(tree: GameTree) -> None:
    space, desk = tree.space, tree.space.desks[0]
    grow(tree, desk, (BATCH - 1) * VISITS_A_LEAF)
    space.advance(desk, 2, NOT_YET)
    assert desk.under_way == 2
    space.evaluate_missing(desk)
    space.advance(desk, 100, NOT_YET)
    assert desk.under_way == BATCH


def test_nothing_is_begun_without_room(tree: GameTree) -> None:
    space, desk = tree.space, tree.space.desks[0]
    space.advance(desk, 10, NOT_YET)
    space.evaluate_missing(desk)
    assert space.advance(desk, NO_ROOM, NOT_YET)[0] == 1
    assert (desk.under_way, desk.asked) == (0, 0)
    before = int(tree.root["visits"])
    assert space.advance(desk, NO_ROOM, NOT_YET)[0] == 0
    assert tree.root["visits"] == before


def test_nothing_is_begun_once_it_is_decided(tree: GameTree) -> None:
    space, desk = tree.space, tree.space.desks[0]
    grow(tree, desk, 20)
    first, second = sorted((move["visits"] for move in links(tree)), reverse=True)[:2]
    assert first > second
    assert space.advance(desk, 10, float(first - second - 1))[1] == DECIDED
    assert desk.under_way == 0
    assert space.advance(desk, 10, float(first - second))[1] != DECIDED
    assert desk.under_way > 0


def links(tree: GameTree) -> np.ndarray:
    root = tree.root
    return tree.space.tree.links[root["links"] : root["links"] + root["n_links"]]


def test_what_was_evaluated_is_not_asked_for_again(tree: GameTree) -> None:
    space, desk = tree.space, tree.space.desks[0]
    grow(tree, desk, 30)
    moves = [int(link["move"]) for link in links(tree)]
    keys = space.cache.keys.copy()
    tree.clear()
    space.cache.keys[:] = keys
    take_root(tree, SearchParameters(workers=1, batch=BATCH, memory=16, cache_memory=1, seed=7))
    for _ in range(5):
        space.advance(desk, 10, NOT_YET)
        assert (desk.under_way, desk.asked) == (1, 0)
    assert [int(link["move"]) for link in links(tree)] == moves[: len(links(tree))]
