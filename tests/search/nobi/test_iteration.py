"""One iteration of a worker: what is expanded, selected and remembered."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from search.nobi.game_tree import GameTree
from search.nobi.iteration import DECIDED, NO_CHECK, SELECT_NOTHING, VISITS_OF_A_BATCH, advance, collect, submit
from search.nobi.memory.workspace import WorkerBuffers, Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.tree.nodes import NONE
from search.nobi.tree.rank import is_decided
from search.request import SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import edges_of

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


def grow(tree: GameTree, buffers: WorkerBuffers, visits: int) -> None:
    """Until the root has so many."""
    space = tree.space
    while tree.root["visits"] < visits:
        advance(space, buffers, visits - int(tree.root["visits"]) - buffers.under_way, NO_CHECK)
        if buffers.asked > 0:
            submit(space, buffers)
            collect(space, buffers)


def test_leaves_are_expanded_and_the_next_ones_selected(tree: GameTree) -> None:
    space, buffers = tree.space, tree.space.workers[0]
    assert advance(space, buffers, 10, NO_CHECK)[0] == 0
    assert (buffers.under_way, buffers.asked) == (1, 1)
    submit(space, buffers)
    collect(space, buffers)
    assert advance(space, buffers, 9, NO_CHECK)[0] == 1
    assert (buffers.under_way, buffers.asked, tree.root["visits"]) == (1, 1, 2)


def test_as_many_as_the_tree_is_large_and_as_there_is_room(tree: GameTree) -> None:
    space, buffers = tree.space, tree.space.workers[0]
    grow(tree, buffers, VISITS_OF_A_BATCH - 1)
    advance(space, buffers, 100, NO_CHECK)
    assert buffers.under_way == BATCH - 1
    submit(space, buffers)
    collect(space, buffers)
    grow(tree, buffers, VISITS_OF_A_BATCH)
    advance(space, buffers, 2, NO_CHECK)
    assert buffers.under_way == 2
    submit(space, buffers)
    collect(space, buffers)
    advance(space, buffers, 100, NO_CHECK)
    assert buffers.under_way == BATCH


def test_nothing_is_begun_without_room(tree: GameTree) -> None:
    space, buffers = tree.space, tree.space.workers[0]
    advance(space, buffers, 10, NO_CHECK)
    submit(space, buffers)
    collect(space, buffers)
    assert advance(space, buffers, SELECT_NOTHING, NO_CHECK)[0] == 1
    assert (buffers.under_way, buffers.asked) == (0, 0)
    before = int(tree.root["visits"])
    assert advance(space, buffers, SELECT_NOTHING, NO_CHECK)[0] == 0
    assert tree.root["visits"] == before


def test_nothing_is_begun_once_it_is_decided(tree: GameTree) -> None:
    space, buffers = tree.space, tree.space.workers[0]
    grow(tree, buffers, 20)
    first, second = sorted((move["visits"] for move in edges(tree)), reverse=True)[:2]
    assert first > second
    assert advance(space, buffers, 10, float(first - second - 1))[1] == DECIDED
    assert buffers.under_way == 0
    assert advance(space, buffers, 10, float(first - second))[1] != DECIDED
    assert buffers.under_way > 0


@pytest.mark.parametrize(
    ("utility", "left", "lcb", "decided"),
    [
        (0.2, 4.0, True, True),
        (0.2, 5.0, True, False),
        (0.2, 5.0, False, True),
        (0.2, 89.0, False, True),
        (0.2, 90.0, False, False),
        (0.0, 89.0, True, True),
        (0.0, 90.0, True, False),
    ],
)
def test_it_is_not_decided_while_a_better_move_may_yet_be_chosen(
    tree: GameTree, utility: float, left: float, lcb: bool, decided: bool
) -> None:
    """A confidence bound may choose a move of 10 visits beside one of 100 only once it has 15."""
    space, nodes = tree.space, tree.space.tree.nodes
    grow(tree, space.workers[0], 20)
    edges(tree)["prior"][2:] = -1.0
    tree.root["next_move"] = NONE
    for edge, visits, value in zip(edges(tree), (100, 10), (0.1, utility), strict=False):
        edge["visits"] = visits
        nodes[edge["child"]]["utility"] = -value  # white's view
    space.context["settings"]["lcb"] = lcb
    assert is_decided(space.tree, space.context, left) == decided


def test_a_move_that_was_never_tried_may_yet_be_chosen(tree: GameTree) -> None:
    """Where the network is sure of a move the search may have tried nothing else."""
    space = tree.space
    grow(tree, space.workers[0], 20)
    edges(tree)["prior"][1:] = -1.0
    edges(tree)["visits"][0] = 30
    assert tree.root["next_move"] != NONE
    assert not is_decided(space.tree, space.context, 30.0)
    assert is_decided(space.tree, space.context, 29.0)


def edges(tree: GameTree) -> np.ndarray:
    return edges_of(tree, tree.root)


def test_what_was_evaluated_is_not_asked_for_again(tree: GameTree) -> None:
    space, buffers = tree.space, tree.space.workers[0]
    grow(tree, buffers, 30)
    moves = [int(edge["move"]) for edge in edges(tree)]
    keys = space.cache.keys.copy()
    tree.clear()
    space.cache.keys[:] = keys
    take_root(tree, SearchParameters(workers=1, batch=BATCH, memory=16, cache_memory=1, seed=7))
    for _ in range(5):
        advance(space, buffers, 10, NO_CHECK)
        assert (buffers.under_way, buffers.asked) == (1, 0)
    assert [int(edge["move"]) for edge in edges(tree)] == moves[: len(edges(tree))]
