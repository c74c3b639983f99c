"""The formulas of selection against their plain versions in numpy, and the plan of sequential halving."""

from __future__ import annotations

import math

import numpy as np
import pytest

from go_rules.points import MAX_MOVES
from search.alphazero.formulas import choose_by_improved_policy, choose_by_puct, improved_logits, widened
from search.alphazero.parameters import AlphaZeroParameters
from search.alphazero.root import dirichlet
from search.alphazero.schedules import EachMoveOnce, SequentialHalving, phases
from search.alphazero.tree import EDGES, EXPANDED, NODES, NONE, Tree, copy_subtree, edges_of, new_tree, sort_by_prior
from search.alphazero.walk import BY_PUCT, new_walk


def random_tree(seed: int, tried: float = 0.5) -> Tree:
    """A root whose edges have random statistics, the likeliest first."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 30))
    tree = new_tree(1, count)
    tree.nodes[0]["count"], tree.nodes[0]["state"] = count, EXPANDED
    tree.nodes[0]["value"] = random.uniform(-1, 1)
    tree.used[:] = 1, count
    edges = edges_of(tree)
    edges["move"] = np.arange(count) + 27
    edges["child"] = NONE
    edges["prior"] = np.sort(random.dirichlet(np.full(count, 0.5)))[::-1]
    edges["visits"] = np.where(random.random(count) < tried, random.integers(1, 50, count), 0)
    edges["in_flight"] = np.where(random.random(count) < 0.2, 1, 0)
    edges["total"] = edges["visits"] * random.uniform(-1, 1, count)
    return tree


def settings_of(**changes: object) -> np.ndarray:
    return new_walk(AlphaZeroParameters(**changes), BY_PUCT).settings  # type: ignore[arg-type]


def q_and_n(tree: Tree, losses: float, untried: float) -> tuple[np.ndarray, np.ndarray]:
    edges = edges_of(tree)
    lost = losses * edges["in_flight"]
    n = edges["visits"] + edges["in_flight"]
    q = np.where(n > 0, (edges["total"] - lost) / np.maximum(edges["visits"] + lost, 1e-9), untried)
    return q, n


@pytest.mark.parametrize("first_play", ["draw", "loss", "parent"])
@pytest.mark.parametrize("seed", range(20))
def test_puct(seed: int, first_play: str) -> None:
    tree = random_tree(seed)
    settings = settings_of(c_init=1.5, c_base=300.0, first_play=first_play, first_play_reduction=0.1)
    untried = {"draw": 0.0, "loss": -1.0, "parent": float(tree.nodes[0]["value"])}[first_play] - 0.1
    q, n = q_and_n(tree, 1.0, untried)
    total = 1 + n.sum()
    rate = math.log((1 + total + 300.0) / 300.0) + 1.5
    scores = q + rate * edges_of(tree)["prior"] * math.sqrt(total) / (1 + n)
    assert choose_by_puct(tree, np.int64(0), settings[0]) == np.argmax(scores)


@pytest.mark.parametrize("seed", range(20))
def test_the_improved_policy(seed: int) -> None:
    tree = random_tree(seed, tried=0.5 if seed % 4 else 0.0)
    settings = settings_of(c_visit=20.0, c_scale=0.1)
    edges = edges_of(tree)
    q, n = q_and_n(tree, 1.0, 0.0)
    tried = n > 0
    value = float(tree.nodes[0]["value"])
    mixed = value
    if tried.any():
        prior = edges["prior"].astype(float)
        mixed = (value + n.sum() * (prior[tried] * q[tried]).sum() / prior[tried].sum()) / (1 + n.sum())
    logits = np.log(np.maximum(edges["prior"].astype(float), 1e-12))
    wanted = logits + (20.0 + n.max()) * 0.1 * np.where(tried, q, mixed)
    found = np.zeros(MAX_MOVES)
    improved_logits(tree, np.int64(0), settings[0], found)
    assert found[: len(edges)] == pytest.approx(wanted, abs=1e-4)
    improved = np.exp(wanted - wanted.max())
    improved /= improved.sum()
    chosen = choose_by_improved_policy(tree, np.int64(0), settings[0], np.zeros(MAX_MOVES))
    assert chosen == np.argmax(improved - n / (1 + n.sum()))


def test_an_edge_that_is_only_in_flight_has_no_value_where_flights_lose_nothing() -> None:
    tree = random_tree(1, tried=0.0)
    edges = edges_of(tree)
    edges["in_flight"] = 0
    edges["in_flight"][0] = 3
    edges["prior"] = 1.0 / len(edges)
    tree.nodes[0]["value"] = -0.9
    settings = settings_of(c_init=0.1, flight_losses=0.0, first_play="parent", c_scale=1.0)
    assert choose_by_puct(tree, np.int64(0), settings[0]) != 0
    logits = np.zeros(MAX_MOVES)
    improved_logits(tree, np.int64(0), settings[0], logits)
    assert np.ptp(logits[: len(edges)]) == pytest.approx(0.0)


def test_widening() -> None:
    assert widened(100, 50, settings_of()[0]) == 50
    narrow = settings_of(policy_widening=2.0, policy_widening_power=0.5)[0]
    assert [widened(n, 50, narrow) for n in (1, 4, 5, 100, 10000)] == [2, 4, 5, 20, 50]


def test_sorting_keeps_statistics_beside_their_move() -> None:
    tree = random_tree(3)
    edges = edges_of(tree)
    edges[:] = edges[::-1].copy()
    before = {int(edge["move"]): edge.copy() for edge in edges}
    sort_by_prior(tree.edges, 0, len(edges))
    assert (np.diff(edges["prior"]) <= 0).all()
    assert {int(edge["move"]): edge for edge in edges} == before


def test_a_copied_subtree_is_the_same_below_its_top() -> None:
    tree = new_tree(5, 8)
    # 0 -> 1 and 2; 1 -> 3 and 4.
    for index, (first, count) in enumerate([(0, 2), (2, 2), (4, 1), (5, 2), (7, 1)]):
        tree.nodes[index]["first"], tree.nodes[index]["count"], tree.nodes[index]["value"] = first, count, index / 10
    tree.edges["child"] = [1, 2, 3, 4, NONE, NONE, NONE, NONE]
    tree.edges["visits"] = np.arange(8)
    tree.used[:] = 5, 8
    kept = new_tree(5, 8)
    copy_subtree(tree, 1, kept)
    assert (kept.used[NODES], kept.used[EDGES]) == (3, 5)
    assert edges_of(kept)["visits"].tolist() == [2, 3]
    assert [edges_of(kept, int(child))["visits"].tolist() for child in edges_of(kept)["child"]] == [[5, 6], [7]]


# --- Sequential halving --------------------------------------------------------------------------------------------


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


def play_out(tree: Tree, simulations: int, considered: int, noise: np.ndarray, values: np.ndarray) -> list[int]:
    """Run a halving in which edge i is always worth values[i]. Returns the visits; asserts that the best has most."""
    schedule = SequentialHalving(tree, simulations, considered, settings_of(c_scale=1.0), noise)
    edges = edges_of(tree)
    while (edge := schedule.next_edge(tree, 0)) >= 0:
        schedule.begun(edge)
        edges["visits"][edge] += 1
        edges["total"][edge] += values[edge]
    best = int(np.argmax(schedule.ranking(tree)))
    assert edges["visits"][best] == edges["visits"].max()
    assert schedule.choice(tree)[best] == 1.0
    return edges["visits"].tolist()


def even_tree(count: int) -> Tree:
    tree = new_tree(1, count)
    tree.nodes[0]["count"] = count
    tree.used[:] = 1, count
    edges_of(tree)["prior"] = 1.0 / count
    edges_of(tree)["child"] = NONE
    return tree


def test_halving_keeps_the_better_half() -> None:
    values = np.linspace(-0.5, 0.5, 8)
    # 24 simulations, 8 moves: 3 phases of 8: each one once, the best four twice, the best two four times.
    assert play_out(even_tree(8), 24, 8, np.zeros(8), values) == [1, 1, 1, 1, 3, 3, 7, 7]


def test_noise_decides_which_moves_are_considered() -> None:
    noise = np.zeros(8)
    noise[[2, 5]] = 3.0
    visits = play_out(even_tree(8), 10, 2, noise, np.zeros(8))
    assert [i for i, n in enumerate(visits) if n > 0] == [2, 5]
    assert visits[2] == visits[5] == 5


def test_each_move_once() -> None:
    tree = even_tree(5)
    schedule = EachMoveOnce(tree)
    edges = edges_of(tree)
    order = []
    while (edge := schedule.next_edge(tree, 0)) >= 0:
        schedule.begun(edge)
        order.append(edge)
        edges["visits"][edge], edges["total"][edge] = 1, [0.1, 0.3, -0.2, 0.2, 0.0][edge]
    assert order == [0, 1, 2, 3, 4]
    assert np.argsort(-schedule.ranking(tree)).tolist() == [1, 3, 0, 4, 2]


@pytest.mark.parametrize("count", [1, 2, 82, 362])
def test_dirichlet_noise_sums_to_one(count: int) -> None:
    noise = dirichlet(count, 10.83, np.random.default_rng(1))
    assert noise.shape == (count,)
    assert noise.sum() == pytest.approx(1.0)
    assert (noise >= 0.0).all()
    assert dirichlet(count, 1e-9, np.random.default_rng(1)).sum() == pytest.approx(1.0)
