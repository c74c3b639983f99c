"""The compiled UCT search against the reference search: the same walks down the tree, and the same tree at the end."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from random import Random

import pytest

import go_rules.game
from go_rules.points import BLACK, EAST, EMPTY, NORTH, PASS, SOUTH, WEST, board_points, from_vertex, to_vertex
from search.reference.formulas import rave, ucb1, widening
from search.reference.go import Go
from search.reference.mcts import FIRST, SECOND, Game, Node, Pieces, Played, Prior, State, expand, iterate
from search.request import SearchRequest
from search.textbook.parameters import PURE_UCT, UctParameters
from search.textbook.playouts.playout import GUIDED, evaluate, new_tools, value_of
from search.textbook.rules import UCB1
from search.textbook.tree import NONE, children_of, new_nodes
from search.textbook.walk import PLAYOUT, back_up, new_buffers, new_context, place_root, select
from tests.search.textbook.making import index_of

CLOSE = 1e-6
"""The compiled search keeps some sums as float32."""


class Compiled:
    """A compiled search of one position, one iteration at a time, and what it tells the reference search."""

    def __init__(self, game: go_rules.game.Game, parameters: UctParameters, seed: int) -> None:
        self.height = game.height
        self.points = board_points(game.width, game.height)
        self.parameters = parameters
        self.nodes = new_nodes(100_000)
        self.buffers = new_buffers(new_tools(seed, GUIDED))
        self.buffers.room[:] = 1, len(self.nodes)
        context = new_context(parameters, UCB1, PLAYOUT)
        self.context = place_root(context, self.buffers, SearchRequest(game, game.to_play))
        self.walk: list[str] = []
        self.outcome: tuple[float, Played] = (0.5, ())

    def iterate(self) -> None:
        depth = select(self.nodes, self.context, self.buffers, NONE)
        self.walk = [to_vertex(int(self.nodes[i]["move"]), self.height) for i in self.buffers.path[1 : depth + 1]]
        leaf = self.buffers.stack[self.buffers.length[1] - 1]
        score = evaluate(leaf, self.context.rules[0], self.buffers.playouts)
        first = self.buffers.playouts.tools.first
        played = [(FIRST if first[p] == BLACK else SECOND, to_vertex(p, self.height)) for p in self.points if first[p]]
        value = float(value_of(score, self.parameters.score_weight))
        self.outcome = 1 - value, played
        back_up(self.nodes, self.context.settings[0], self.buffers.path, depth, leaf["to_play"], value, score, first)

    def priors(self, game: Game, state: State) -> dict[str, Prior]:
        """The moves of a node that has just been expanded."""
        children, weight = children_of(self.nodes, index_of(self.nodes, state)), self.parameters.prior_weight
        return {
            to_vertex(int(each["move"]), self.height): Prior(
                1, weight * float(each["prior_visits"]), weight * float(each["prior"])
            )
            for each in children
        }


def assert_only_senseless_moves_are_missing(game: go_rules.game.Game, moves: list[str]) -> None:
    points = {from_vertex(move, game.width, game.height) for move in moves}
    legal = set(game.legal_moves(game.to_play))
    assert points <= legal
    for point in legal - points:
        assert point != PASS
        assert all(game.position["board"][point + step] != EMPTY for step in (NORTH, WEST, EAST, SOUTH))


def assert_same_tree(compiled: Compiled, node: Node) -> int:
    """Returns the number of nodes."""
    assert_only_senseless_moves_are_missing(node.state, [child.move for child in node.children])
    nodes, number = compiled.nodes, 1
    for child, there in zip(node.children, children_of(nodes, index_of(nodes, node.state)), strict=True):
        assert to_vertex(int(there["move"]), compiled.height) == child.move
        assert there["visits"] == child.visits
        assert there["wins"] == pytest.approx(child.wins)
        if compiled.parameters.rave_equivalence > 0:
            assert there["amaf_visits"] == child.amaf_visits
            assert there["amaf_wins"] == pytest.approx(child.amaf_wins, abs=1e-3)
        number += assert_same_tree(compiled, child) if child.children else 1
    return number


MEMBERS = {
    "uct": PURE_UCT,
    "uct with priors": UctParameters(exploration=0.35, rave_equivalence=0.0),
    "uct, widening": dataclasses.replace(PURE_UCT, widening=1.5),
    "rave, exploring": UctParameters(exploration=0.3, rave_equivalence=300.0),
    "rave": UctParameters(),
}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", MEMBERS)
def test_the_same_walks_and_the_same_tree(size: int, name: str) -> None:
    """The reference search is told moves, priors and playouts, and decides itself where to walk."""
    parameters = dataclasses.replace(MEMBERS[name], expand_visits=2.0, score_weight=0.0)
    equivalence, exploration = parameters.rave_equivalence, parameters.exploration
    formula = partial(rave, equivalence=equivalence, exploration=exploration)
    if equivalence == 0.0:
        formula = partial(ucb1, exploration=exploration)
    widen = partial(widening, factor=parameters.widening, power=0.5)
    game = Go(size, komi=0.5)
    start = game.start()
    compiled = Compiled(start, parameters, seed=size)
    values: dict[int, list[tuple[float, bool]]] = {}

    def rule(node: Node, child: Node) -> float:
        """Follow the compiled search, and write down what the formula says."""
        depth = len(node.state.moves)
        is_next = compiled.walk[depth] == child.move
        values.setdefault(depth, []).append((formula(node, child), is_next))
        return math.inf if is_next else 0.0

    pieces = Pieces(rule, evaluate=lambda game, state, random: compiled.outcome, priors=compiled.priors)
    if parameters.widening:
        pieces = dataclasses.replace(pieces, widening=widen)
    root = Node(start, mover=SECOND)
    steps = 0
    for _ in range(400):
        values.clear()
        compiled.iterate()
        if not root.children:
            expand(game, root, pieces)
        root.visits += 1
        path = [root]
        iterate(game, path, pieces, Random())
        assert [node.move for node in path[1:]] == compiled.walk
        for choices in values.values():
            chosen = next(value for value, is_next in choices if is_next)
            assert chosen >= max(value for value, _ in choices) - CLOSE
            steps += 1
    assert steps > 800
    assert assert_same_tree(compiled, root) > 50
