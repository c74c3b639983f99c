"""What the tutorials add to UCT: UCB1's constant, first-play urgency, widening, virtual loss, depth, early stop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from search.request import Limits, SearchRequest
from search.result import SearchResult, StopReason
from search.uct.formulas import selection_value
from search.uct.iteration import new_context
from search.uct.parameters import PURE_UCT, UctParameters
from search.uct.player import UctPlayer
from search.uct.tree import new_nodes
from search.uct.virtual_loss import add_virtual_loss, turn_loss_into_visit
from search.uct.widening import number_considered, sort_by_prior


def search(parameters: UctParameters, visits: int, workers: int = 1, size: int = 9) -> SearchResult:
    player = UctPlayer("uct", parameters, workers, seed=1)
    try:
        return player.search(SearchRequest(Game(size, size), BLACK, Limits(visits=visits, may_stop_early=False)))
    finally:
        player.close()


def visited(result: SearchResult) -> int:
    return sum(move.visits > 0 for move in result.moves)


@pytest.mark.parametrize("constant", [0.0, 0.3, 1.4])
def test_ucb1(constant: float) -> None:
    """The formula of the paper, computed a second time."""
    settings = new_context(replace(PURE_UCT, exploration=constant)).settings[0]
    node = new_nodes(1)[0]
    rng = np.random.default_rng(1)
    for _ in range(100):
        visits, parent = int(rng.integers(1, 1000)), int(rng.integers(1000, 10**6))
        node["visits"], node["wins"] = visits, visits * rng.random()
        expected = node["wins"] / visits + constant * math.sqrt(math.log(parent) / visits)
        assert selection_value(node, math.log(parent), settings) == pytest.approx(expected)


def test_every_move_is_tried_once_before_any_twice() -> None:
    moves = search(replace(PURE_UCT, expand_visits=1.0), 82).moves
    assert {move.visits for move in moves} == {1}


def test_a_low_urgency_leaves_moves_untried() -> None:
    eager = search(replace(PURE_UCT, expand_visits=1.0), 400)
    lazy = search(replace(PURE_UCT, expand_visits=1.0, first_play_urgency=0.3, exploration=0.1), 400)
    assert visited(eager) == 82
    assert visited(lazy) < 41


def test_more_exploration_spreads_the_visits() -> None:
    shares = [search(replace(PURE_UCT, exploration=c), 4000, size=5).moves[0].visits for c in (0.1, 0.5, 2.0)]
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize(("factor", "exponent"), [(1.0, 0.5), (4.0, 0.25), (0.1, 0.5), (2.0, 0.0)])
def test_the_number_of_moves_considered_follows_its_formula(factor: float, exponent: float) -> None:
    parameters = UctParameters(widening=factor, widening_exponent=exponent)
    settings = new_context(parameters).settings[0]
    for visits in (1, 2, 3, 10, 100, 5000, 10**6):
        expected = min(82, max(1, math.ceil(factor * visits**exponent)))
        assert number_considered(float(visits), 82, settings) == expected
    assert number_considered(7.0, 82, new_context(UctParameters()).settings[0]) == 82
    # In a search with UCB1 every move that is considered is soon tried, and no other.
    for visits in (50, 600):
        result = search(replace(PURE_UCT, widening=factor, widening_exponent=exponent), visits)
        assert visited(result) == min(82, max(1, math.ceil(factor * visits**exponent)))


def test_the_likeliest_moves_come_first() -> None:
    rng = np.random.default_rng(2)
    nodes = new_nodes(40)
    nodes["move"] = np.arange(40)
    nodes["prior_visits"] = rng.random(40) * 9 + 1
    nodes["prior_wins"] = nodes["prior_visits"] * rng.random(40)
    before = nodes.copy()
    sort_by_prior(nodes, 5, 38)
    likely = 2 * nodes["prior_wins"] - nodes["prior_visits"]
    assert (np.diff(likely[5:38]) <= 0).all()
    order = np.argsort(nodes["move"])
    assert (nodes[order] == before).all()
    assert (nodes[:5] == before[:5]).all()


@pytest.mark.parametrize("losses", [0, 1, 5])
def test_virtual_loss_leaves_no_trace(losses: int) -> None:
    """While playouts are under way a move has lost them; afterwards it has one visit for each and nothing else."""
    settings = new_context(UctParameters(virtual_losses=losses)).settings[0]
    node = new_nodes(1)[0]
    node["wins"], node["visits"] = 3.0, 4
    before = selection_value(node, 2.0, settings)
    for _ in range(3):
        add_virtual_loss(node, settings)
    assert node["visits"] == 4 + 3 * losses
    assert (selection_value(node, 2.0, settings) < before) == (losses > 0)
    for _ in range(3):
        turn_loss_into_visit(node, settings)
    assert (node["visits"], node["wins"]) == (7, 3.0)


@pytest.mark.parametrize("losses", [0, 1, 5])
def test_a_tree_is_consistent_after_a_search_with_virtual_loss(losses: int) -> None:
    result = search(replace(PURE_UCT, virtual_losses=losses), 500)
    assert result.visits == 500
    assert sum(move.visits for move in result.moves) == 500


def test_the_tree_is_no_deeper_than_allowed() -> None:
    deep = search(replace(PURE_UCT, exploration=0.05), 2000, size=5)
    assert max(len(move.pv) for move in deep.moves) > 2
    shallow = search(replace(PURE_UCT, exploration=0.05, largest_depth=2), 2000, size=5)
    assert max(len(move.pv) for move in shallow.moves) == 2


def test_early_stop_can_be_turned_off() -> None:
    for early_stop in (True, False):
        player = UctPlayer(parameters=UctParameters(early_stop=early_stop, expand_visits=1.0), workers=1, seed=1)
        result = player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=6000)))
        assert (result.reason == StopReason.DECIDED) == early_stop
        assert (result.visits == 6000) != early_stop
