"""The tree's arrays: priors, edges, keys, and what is left after garbage is collected."""

from __future__ import annotations

import numpy as np
import pytest

from search.nobi.tree.nodes import (
    BIASES,
    EDGES,
    EXPANDED,
    NODE,
    NODES,
    NONE,
    ROOT,
    Tree,
    add_key,
    clear_tree,
    decode_prior,
    decode_priors,
    encode_prior,
    encode_priors,
    find_key,
    find_next,
    new_node,
    new_tree,
    node_bytes,
    open_edge,
)
from search.nobi.tree.reuse import MOST_BIASES, collect_garbage, reachable
from search.nobi.tree.subtree_bias import find_bias

POINTS = 9


@pytest.fixture
def tree() -> Tree:
    return new_tree(POINTS, 1 << 20)


def grown(tree: Tree, seed: int, nodes: int) -> None:
    """A random tree (with a few shared nodes) in which every field that matters is a random number."""
    generator = np.random.default_rng(seed)
    for i in range(nodes):
        index = new_node(tree, np.uint64(2 * i + 1), 1 + i % 2)
        node = tree.nodes[index]
        node["state"] = EXPANDED
        node["visits"] = generator.integers(1, 1000)
        node["utility"] = generator.normal()
        tree.priors[index] = encode_priors(generator.dirichlet(np.ones(POINTS + 1)))
        find_next(node, tree.priors[index])
        add_key(tree, index)
        if i > 0:
            _edge(tree, int(generator.integers(max(0, i - 8), i)), index)
        if i > 10 and i % 7 == 0:
            _edge(tree, i - 1, int(generator.integers(0, i)))
    tree.used[ROOT] = 0


def _edge(tree: Tree, parent: int, child: int) -> None:
    if tree.nodes[parent]["next_move"] == NONE:
        return
    slot = open_edge(tree, parent, int(tree.nodes[parent]["next_move"]))
    edge = tree.edges[tree.nodes[parent]["edges"] + slot]
    edge["child"] = child
    edge["visits"] = 5 + child


Description = tuple[object, ...]


def described(tree: Tree, index: int, seen: dict[int, int]) -> Description:
    """A subtree without indices: equal for equal trees wherever they lie."""
    if index in seen:
        return ("seen", seen[index])
    seen[index] = len(seen)
    node = tree.nodes[index]
    edges = tree.edges[node["edges"] : node["edges"] + node["n_edges"]]
    children = tuple(
        (int(edge["move"]), int(edge["visits"]), float(edge["prior"]), described(tree, int(edge["child"]), seen))
        for edge in edges
    )
    own = (int(node["key"]), int(node["visits"]), float(node["utility"]), int(node["next_move"]))
    return (*own, tree.priors[index].tobytes(), children)


@pytest.mark.parametrize("prior", [1.0, 0.5, 0.123456, 1e-3, 3e-7, 5e-10])
def test_priors_keep_three_digits(prior: float) -> None:
    assert decode_prior(encode_prior(np.float32(prior))) == pytest.approx(prior, rel=2.5e-4)


def test_priors_keep_their_order_and_never_vanish() -> None:
    priors = np.sort(np.random.default_rng(1).uniform(size=2000) ** 12)
    codes = [int(encode_prior(np.float32(prior))) for prior in priors]
    assert codes == sorted(codes)
    assert min(codes) >= 1
    assert encode_prior(np.float32(0.0)) == 1
    assert encode_priors(priors).tolist() == codes
    assert decode_priors(np.array(codes, np.uint16)).tolist() == [float(decode_prior(np.uint16(c))) for c in codes]
    assert encode_priors(np.array([0.0, 0.5]))[0] == 0


def test_edges_come_in_order_of_priors(tree: Tree) -> None:
    index = new_node(tree, np.uint64(0), 1)
    priors = np.random.default_rng(2).dirichlet(np.ones(POINTS + 1))
    priors[3] = 0.0
    priors /= priors.sum()
    tree.priors[index] = encode_priors(priors)
    find_next(tree.nodes[index], tree.priors[index])
    opened = []
    while tree.nodes[index]["next_move"] != NONE:
        slot = open_edge(tree, index, int(tree.nodes[index]["next_move"]))
        opened.append(int(tree.edges[tree.nodes[index]["edges"] + slot]["move"]))
    assert opened == [int(move) for move in np.argsort(-priors) if move != 3]
    assert tree.nodes[index]["mass"] == pytest.approx(1.0, abs=1e-3)
    assert not tree.priors[index].any()


def test_outgrown_ranges_are_used_again(tree: Tree) -> None:
    for _ in range(50):
        index = new_node(tree, np.uint64(0), 1)
        tree.priors[index] = encode_priors(np.full(POINTS + 1, 0.1))
        find_next(tree.nodes[index], tree.priors[index])
        for _ in range(POINTS):
            open_edge(tree, index, int(tree.nodes[index]["next_move"]))
    # Ranges of 2 + 4 + 8 + 16 would be 1500 edges; those of 2, 4 and 8 are shared by all.
    assert tree.used[EDGES] <= 50 * 16 + 14


def test_keys_are_found(tree: Tree) -> None:
    for i in range(200):
        index = new_node(tree, np.uint64(i * 64 + 1), 1)
        add_key(tree, index)
    assert all(find_key(tree.table, tree.nodes, np.uint64(i * 64 + 1)) == i for i in range(200))
    assert find_key(tree.table, tree.nodes, np.uint64(7)) == NONE
    clear_tree(tree)
    assert find_key(tree.table, tree.nodes, np.uint64(1)) == NONE


def test_full_tree_refuses_nodes() -> None:
    tree = new_tree(POINTS, 0)
    made = 0
    while new_node(tree, np.uint64(0), 1) != NONE:
        made += 1
    assert made == len(tree.nodes)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("root", [0, 3, 17])
def test_collection_keeps_exactly_what_the_root_leads_to(tree: Tree, seed: int, root: int) -> None:
    grown(tree, seed, 300)
    tree.used[ROOT] = root
    before = described(tree, root, {})
    expected: dict[int, int] = {}
    described(tree, root, expected)
    collect_garbage(tree, reachable(tree))
    after: dict[int, int] = {}
    assert described(tree, int(tree.used[ROOT]), after) == before
    assert tree.used[NODES] == len(expected) == len(after)
    for index in after:
        key = tree.nodes[index]["key"]
        if index != tree.used[ROOT]:
            assert find_key(tree.table, tree.nodes, key) == index
    # There is room again, and what is added does not disturb the rest.
    _edge(tree, int(tree.used[ROOT]), new_node(tree, np.uint64(0), 1))
    collect_garbage(tree, reachable(tree))


def test_biases_without_nodes_are_dropped(tree: Tree) -> None:
    """So their table does not fill up in a long game; those of nodes in the tree stay what they are."""
    grown(tree, 1, 60)
    tree.used[ROOT] = 50
    while tree.used[BIASES] <= MOST_BIASES * len(tree.biases):
        index = int(tree.used[BIASES])
        slot = find_bias(tree, np.uint64(2 * index + 1))
        tree.biases[slot]["weight"], tree.biases[slot]["delta"] = index, -index
        if index < 60:
            tree.nodes[index]["bias"] = slot
    kept = [int(tree.nodes[i]["key"]) // 2 for i in np.flatnonzero(reachable(tree) != NONE)]
    assert 0 < len(kept) < 60
    collect_garbage(tree, reachable(tree))
    entries = tree.biases[tree.nodes["bias"][: tree.used[NODES]]]
    assert tree.used[BIASES] == len(kept) == np.count_nonzero(tree.biases["key"])
    assert [int(weight) for weight in entries["weight"]] == [-int(delta) for delta in entries["delta"]] == kept


@pytest.mark.parametrize("with_ownership", [False, True])
def test_memory_per_million_nodes_on_19x19(with_ownership: bool) -> None:
    assert node_bytes(361, with_ownership) * 1_000_000 <= 1.5e9
    tree = new_tree(361, 64 << 20, with_ownership)
    assert sum(array.nbytes for array in tree) <= 64 << 20
    assert NODE.itemsize <= 160
