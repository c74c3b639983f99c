"""The tree: nodes, and for each move of a node an edge with its prior P, visits N and total value W (so Q = W / N).

Arrays of records hold it, and numbers are the pointers. The root is node 0. The edges of a node lie side by side in
`edges`, the likeliest move first, because no search wants a move before the likelier ones that it has not tried, but
for Gumbel's noise at the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel, kernel_with_arrays

ROOT, NONE = 0, -1
"""The root's index, and the index that stands for no node or no edge."""

WAITING, EXPANDED, TERMINAL = 0, 1, 2
"""States of a node: its evaluation is under way; it can be searched; its game is over."""

NODE = np.dtype(
    [
        ("first", "i8"),  # index of its first edge
        ("count", "i4"),  # number of its edges, one for each legal move
        ("state", "i1"),
        ("to_play", "i1"),  # colour to move
        ("value", "f4"),  # v: the node's own evaluation, -1..1, the side to move's view
        ("score", "f4"),  # the expected final score in points, the side to move's view
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("move", "i2"),  # point, or PASS
        ("child", "i4"),  # index of the node behind the move, or NONE
        ("visits", "i4"),  # N
        ("in_flight", "i4"),  # visits under way, whose evaluation is not known yet
        ("total", "f8"),  # W: sum of the values of all visits, the view of the side that plays the move
        ("score", "f8"),  # sum of the scores of all visits, in points, the same view
        ("prior", "f4"),  # P
    ],
    align=True,
)

NODES, EDGES = 0, 1
"""Places in `Tree.used`."""


class Tree(NamedTuple):
    """A tree in arrays that may have room for more than there is in use."""

    nodes: NDArray[np.void]
    """NODE[room]."""
    edges: NDArray[np.void]
    """EDGE[room]."""
    used: NDArray[np.int64]
    """[2]: how many nodes and how many edges are in use."""


def new_tree(nodes: int, edges: int) -> Tree:
    """Make an empty tree with room for so many nodes and edges."""
    return Tree(np.zeros(nodes, NODE), np.zeros(edges, EDGE), np.zeros(2, np.int64))


def size_in_bytes(nodes: int, edges: int) -> int:
    """Return what a tree with so much room takes."""
    return nodes * NODE.itemsize + edges * EDGE.itemsize


def with_room(tree: Tree, nodes: int, edges: int) -> Tree:
    """Return the tree, or a copy with at least twice the room if not so many nodes and edges are free in it."""
    free_nodes, free_edges = len(tree.nodes) - tree.used[NODES], len(tree.edges) - tree.used[EDGES]
    if free_nodes >= nodes and free_edges >= edges:
        return tree
    larger = new_tree(2 * len(tree.nodes) + nodes, 2 * len(tree.edges) + edges)
    larger.nodes[: tree.used[NODES]] = tree.nodes[: tree.used[NODES]]
    larger.edges[: tree.used[EDGES]] = tree.edges[: tree.used[EDGES]]
    larger.used[:] = tree.used
    return larger


def edges_of(tree: Tree, index: int = ROOT) -> NDArray[np.void]:
    """Return the edges of a node as a view into the tree."""
    node = tree.nodes[index]
    return tree.edges[int(node["first"]) : int(node["first"]) + int(node["count"])]


@kernel_with_arrays
def sort_by_prior(edges, first, count):
    """Sort the edges of a node, the likeliest move first; moves as likely as each other stay in their order."""
    unsorted = edges[first : first + count].copy()
    order = np.argsort(-unsorted["prior"], kind="mergesort")
    for i in range(count):
        edges[first + i] = unsorted[order[i]]


@kernel
def copy_subtree(source, top, target):
    """Copy the node `top` and all that is below it into an empty tree, where it becomes the root.

    `target` has room for all of `source`.
    """
    # Nodes wait in their new places; `first` still names their old edges.
    target.nodes[ROOT] = source.nodes[top]
    nodes = 1
    edges = 0
    index = 0
    while index < nodes:
        node = target.nodes[index]
        old = node.first
        node.first = edges
        for i in range(node.count):
            target.edges[edges] = source.edges[old + i]
            edge = target.edges[edges]
            if edge.child != NONE:
                target.nodes[nodes] = source.nodes[edge.child]
                edge.child = nodes
                nodes += 1
            edges += 1
        index += 1
    target.used[NODES] = nodes
    target.used[EDGES] = edges
