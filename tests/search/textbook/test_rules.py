"""The rules of selection, the tree they read, and the schedules of the root."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from go_rules.points import MAX_MOVES
from search.textbook.network import dirichlet
from search.textbook.parameters import PURE_UCT, AlphaZeroParameters, TextbookParameters
from search.textbook.rules import PUCT, UCB1, choose, improved_logits, ucb1_value
from search.textbook.schedules import phases
from search.textbook.tree import ROOT, children_of, new_nodes, pack_children
from search.textbook.walk import NETWORK, PLAYOUT, new_context


def settings_of(rule: int, **changes: object) -> np.ndarray:
    base: TextbookParameters = PURE_UCT if rule == UCB1 else AlphaZeroParameters()
    parameters = dataclasses.replace(base, **changes)  # type: ignore[arg-type]
    return new_context(parameters, rule, PLAYOUT if rule == UCB1 else NETWORK).settings


def root_with(count: int) -> np.ndarray:
    """A root with so many new children, all alike."""
    nodes = new_nodes(1 + count)
    nodes[ROOT]["children"] = pack_children(1, count)
    children = children_of(nodes)
    children["move"] = np.arange(count) + 27
    children["prior"] = 1.0 / count
    return nodes


def chosen(nodes: np.ndarray, settings: np.ndarray) -> int:
    """The place among the root's children of the one that the rule chooses."""
    return int(choose(nodes, np.int64(ROOT), settings[0], np.zeros(MAX_MOVES))) - 1


# --- UCT --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("losses", [0.0, 1.0, 5.0])
def test_a_visit_under_way_counts_as_losses(losses: float) -> None:
    settings = settings_of(UCB1, virtual_loss=losses)[0]
    node = new_nodes(1)[0]
    node["wins"], node["visits"] = 3.0, 4
    before = ucb1_value(node, 2.0, settings)
    node["in_flight"] = 3
    assert (ucb1_value(node, 2.0, settings) < before) == (losses > 0)
    lost = new_nodes(1)[0]
    lost["wins"], lost["visits"] = 3.0, 4 + 3 * losses
    assert ucb1_value(node, 2.0, settings) == pytest.approx(ucb1_value(lost, 2.0, settings))


# --- AlphaZero --------------------------------------------------------------------------------------------------------


def test_a_move_that_is_only_in_flight_has_no_value_where_flights_lose_nothing() -> None:
    nodes = root_with(10)
    nodes[1]["in_flight"] = 3
    nodes[ROOT]["own_value"] = 0.05
    settings = settings_of(PUCT, c_init=0.1, virtual_loss=0.0, first_play="parent", c_scale=1.0)
    assert chosen(nodes, settings) != 0
    logits = np.zeros(MAX_MOVES)
    improved_logits(nodes, np.int64(ROOT), settings[0], logits)
    assert np.ptp(logits[:10]) == pytest.approx(0.0)


# --- Sequential halving -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("simulations", "considered", "plan"),
    [
        # A phase has simulations / log2(considered) of them, rounded down to as many for each move, and at least one.
        (16, 16, [(16, 16)]),
        (32, 16, [(16, 16), (8, 8), (4, 8)]),
        (200, 16, [(16, 48), (8, 48), (4, 48), (2, 50), (2, 6)]),
        (64, 4, [(4, 32), (2, 32)]),
        (20, 16, [(16, 16), (8, 4)]),
        (15, 15, [(15, 15)]),
        (5, 1, [(1, 5)]),
        (0, 1, []),
    ],
)
def test_phases(simulations: int, considered: int, plan: list[tuple[int, int]]) -> None:
    assert phases(simulations, considered) == plan


@pytest.mark.parametrize("count", [1, 2, 82, 362])
def test_dirichlet_noise_sums_to_one(count: int) -> None:
    noise = dirichlet(count, 10.83, np.random.default_rng(1))
    assert noise.shape == (count,)
    assert noise.sum() == pytest.approx(1.0)
    assert (noise >= 0.0).all()
    assert dirichlet(count, 1e-9, np.random.default_rng(1)).sum() == pytest.approx(1.0)
