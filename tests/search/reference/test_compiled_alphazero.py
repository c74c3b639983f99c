"""The compiled `puct` and `gumbel` against the reference search: the same tree from the same priors and values."""

from __future__ import annotations

import dataclasses
from functools import partial
from random import Random

import numpy as np
import pytest

import go_rules.game
from go_rules.points import BLACK, from_vertex, to_vertex
from search.reference.formulas import Gumbel, puct
from search.reference.go import Go
from search.reference.mcts import Game, Node, Pieces, Played, Prior, State, search
from search.request import Limits, SearchRequest
from search.textbook.parameters import AlphaZeroParameters
from search.textbook.players import TextbookPlayer
from search.textbook.tree import children_of
from tests.search.evaluators import FancifulEvaluator
from tests.search.textbook.making import index_of

PLAIN = AlphaZeroParameters(
    leaves_in_flight=1,
    random_symmetry=False,
    c_init=2.0,
    c_base=1e9,  # AlphaZero's growth of the exploration rate is no part of the reference
    first_play="draw",
    visits_each=1,
    early_stop=False,
)
SCALE = 0.02
"""Of Gumbel's values, so that the noise of the evaluator leaves every move a chance."""


class NoNoise(Random):
    """Numbers of which Gumbel noise is zero."""

    def expovariate(self, lambd: float = 1.0) -> float:
        return 1.0


class Table:
    """What a compiled search knows of every position in its tree, by the moves that lead there."""

    def __init__(self, nodes: np.ndarray, height: int) -> None:
        self.nodes, self.height = nodes, height

    def index(self, state: go_rules.game.Game) -> int:
        index = index_of(self.nodes, state)
        assert self.nodes[index]["visits"], "the compiled search was not there"
        return index

    def priors(self, game: Game, state: State) -> dict[str, Prior]:
        children = children_of(self.nodes, self.index(state))
        return {to_vertex(int(each["move"]), self.height): Prior(float(each["prior"])) for each in children}

    def evaluate(self, game: Game, state: State, random: Random) -> tuple[float, Played]:
        value = float(self.nodes[self.index(state)]["own_value"])
        return value if state.to_play == BLACK else 1.0 - value, ()


def assert_same_tree(table: Table, node: Node) -> int:
    """Returns the number of visits that were compared."""
    children = children_of(table.nodes, table.index(node.state))
    compared = 0
    for child in node.children:
        there = children[children["move"] == from_vertex(child.move, table.height, table.height)][0]
        assert there["visits"] == child.visits
        assert there["wins"] == pytest.approx(child.wins, abs=1e-4)
        compared += child.visits + (assert_same_tree(table, child) if child.children else 0)
    return compared


def compiled_tree(
    name: str, parameters: AlphaZeroParameters, start: go_rules.game.Game, seed: int, visits: int
) -> tuple[np.ndarray, int]:
    """Search with a network of random opinions. Returns the tree and the chosen point."""
    player = TextbookPlayer(name, FancifulEvaluator(seed), parameters, workers=1, seed=1)
    result = player.search(SearchRequest(start, BLACK, Limits(visits=visits, may_stop_early=False)))
    nodes = player.searcher.nodes
    player.close()
    return nodes, result.moves[0].point


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "visits"), [(2, 150), (3, 400)])
def test_puct(size: int, visits: int, seed: int) -> None:
    game = Go(size, komi=0.5)
    nodes, point = compiled_tree("puct", PLAIN, game.start(), seed, visits)
    table = Table(nodes, size)
    pieces = Pieces(partial(puct, exploration=PLAIN.c_init / 2, unvisited=0.5), table.evaluate, table.priors)
    move, root = search(game, game.start(), int(children_of(nodes)["visits"].sum()), pieces, Random())
    assert root.visits >= visits - 1
    assert assert_same_tree(table, root) > visits
    assert move == to_vertex(point, size)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("size", "visits"), [(2, 33), (3, 17), (3, 33), (3, 200)])
def test_gumbel(size: int, visits: int, seed: int) -> None:
    """Sequential halving and the improved policy, without noise."""
    game = Go(size, komi=0.5)
    nodes, point = compiled_tree("gumbel", dataclasses.replace(PLAIN, c_scale=SCALE), game.start(), seed, visits)
    table = Table(nodes, size)
    gumbel = Gumbel(considered=PLAIN.considered, visit_offset=PLAIN.c_visit, value_scale=2 * SCALE)
    pieces = Pieces(gumbel.rule, table.evaluate, table.priors)
    move, root = gumbel.search(game, game.start(), int(children_of(nodes)["visits"].sum()), pieces, NoNoise())
    assert root.visits >= visits - 1
    assert assert_same_tree(table, root) > 0
    assert move == to_vertex(point, size)
