"""The kernels' tree against the naive search's, node for node."""

from __future__ import annotations

import dataclasses
from contextlib import closing

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.rule_names import preset
from search.nobi.parameters import SearchParameters
from search.nobi.search import Search
from search.nobi.tree.nodes import NONE, ROOT, TERMINAL, Tree
from search.request import Limits, SearchRequest
from tests.search.evaluators import FancifulEvaluator
from tests.search.nobi.naive_search import NaiveSearch, Node
from tests.search.searches import played

PLAIN = SearchParameters(
    workers=1,
    batch=1,
    memory=32,
    seed=1,
    random_symmetry=False,
    root_symmetry_pruning=False,
    root_prune_useless=False,
    root_ending_bonus=0.0,
    subtree_bias_factor=0.0,
    cache_memory=0,
)


def compare(tree: Tree, index: int, node: Node, compared: set[int]) -> None:
    """Every statistic of the kernels' node and of all below it is the naive one's."""
    if index in compared:
        return
    compared.add(index)
    here = tree.nodes[index]
    assert here["to_play"] == node.colour
    assert here["visits"] == node.visits
    assert (here["state"] == TERMINAL) == node.terminal
    for name in ("weight", "weight_sq", "win_loss", "no_result", "score", "score_sq", "lead", "utility", "utility_sq"):
        assert here[name] == pytest.approx(getattr(node, name), rel=2e-3, abs=2e-3), name
    records = tree.edges[here["edges"] : here["edges"] + here["n_edges"]] if here["edges"] != NONE else []
    known = [(record["move"], record["visits"]) for record in records]
    assert known == [(edge.move, edge.visits) for edge in node.edges]
    row = tree.priors[index] if not node.terminal else []
    assert set(np.flatnonzero(row).tolist()) == set(node.untried)
    for record, edge in zip(records, node.edges, strict=True):
        assert record["prior"] == pytest.approx(edge.prior, rel=1e-3)
        assert record["in_flight"] == 0
        if edge.child is not None:
            compare(tree, int(record["child"]), edge.child, compared)


CASES = [
    # size, rules, moves already played, graph search, error estimates, visits
    (3, "tromp-taylor", "", False, False, 400),
    (3, "tromp-taylor", "B2 pass", True, False, 400),
    (4, "chinese-ogs", "B2 C3", True, False, 300),
    (4, "aga", "", False, True, 300),
    (4, "japanese", "B2 C3 C2 B3", True, False, 300),
    (3, "japanese", "B2 pass A1", False, True, 300),
    (4, "clean-up", "B2 C3 C2 B3", True, False, 300),
    (3, "clean-up", "B2 pass A1", False, True, 300),
    (2, "chinese", "A1 B2", True, False, 200),
    (5, "tromp-taylor", "C3 C2 pass", True, True, 300),
    (5, "chinese", "", True, True, 300),
]


@pytest.mark.parametrize("bias", [0.0, 0.45])
@pytest.mark.parametrize(("size", "rules", "moves", "graph", "errors", "visits"), CASES)
def test_same_tree_as_naive_search(
    size: int, rules: str, moves: str, graph: bool, errors: bool, visits: int, bias: float
) -> None:
    cleans_up = rules == "clean-up"
    game = Game(size, size, dataclasses.replace(preset("japanese" if cleans_up else rules)[0], cleanup=cleans_up), 0.5)
    played(game, moves)
    parameters = PLAIN.with_value("graph_search", graph).with_value("subtree_bias_factor", bias)
    evaluator = FancifulEvaluator(seed=size, with_errors=errors)
    with closing(Search(evaluator, parameters)) as search:
        search.run(SearchRequest(game, game.to_play, Limits(visits=visits, may_stop_early=False)))
        assert search.tree is not None
        space = search.tree.space
    center = float(space.context["settings"]["score_center"][0])
    naive = NaiveSearch(game, evaluator, parameters, center).run(visits)
    compare(space.tree, int(space.tree.used[ROOT]), naive, set())
