"""Keeping a tree from one search to the next: finding the new root, bringing values up to date, collecting garbage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nobi_machine.jit import kernel
from search.nobi.memory.context import new_work
from search.nobi.tree.backup import refresh, set_own_evaluation
from search.nobi.tree.nodes import (
    BIASES,
    EDGE,
    EDGES,
    EXPANDED,
    NEW,
    NODES,
    NONE,
    ROOM_CLASSES,
    ROOT,
    TERMINAL,
    WAITING,
    Tree,
    add_key,
    copy_edge,
)
from search.nobi.tree.subtree_bias import corrected, drop_unused, forget

ROWS_AT_A_TIME = 4096
"""Rows of priors that are moved together: keeps the copy small."""

MOST_BIASES = 0.25
"""The share of the subtree biases' table that may be in use before entries without nodes are dropped."""


@kernel
def child_after(tree, index, move):
    """Find the expanded node that `move` (a move index) leads to from a node; return NONE if there is none."""
    node = tree.nodes[index]
    for i in range(node.n_edges):
        edge = tree.edges[node.edges + i]
        if edge.move == move and edge.visits > 0 and tree.nodes[edge.child].state == EXPANDED:
            return np.int64(edge.child)
    return np.int64(NONE)


@kernel
def settle(tree):
    """Clear all virtual losses and waiting nodes, because evaluations under way were dropped."""
    for index in range(tree.used[NODES]):
        node = tree.nodes[index]
        if node.state == WAITING:
            node.state = NEW
        for i in range(node.n_edges):
            tree.edges[node.edges + i].in_flight = 0


def recompute(tree: Tree, context: NDArray[np.void]) -> None:
    """Compute all averages again, children first. This is needed after the utility function changed.

    Children have larger indices than their parents, except where positions are shared: there, an average may be one
    update behind.
    """
    _recompute(tree, context, new_work(1, 0).scratch)


@kernel
def _recompute(tree, ctx, scratch):
    for index in range(tree.used[NODES] - 1, -1, -1):
        node = tree.nodes[index]
        if node.state != EXPANDED and node.state != TERMINAL:
            continue
        set_own_evaluation(ctx[0], node)
        if node.n_edges > 0:
            refresh(tree.nodes, tree.edges, tree.biases, ctx[0], scratch[0], node)
        else:
            node.utility = corrected(ctx[0].settings, tree.biases, node)
            node.utility_sq = node.utility * node.utility


def reachable(tree: Tree) -> NDArray[np.int32]:
    """Return [nodes in use]: 0 for every node that the root leads to, NONE for the others."""
    used = int(tree.used[NODES])
    places = np.full(used, NONE, np.int32)
    _mark_reachable(tree, places, np.empty(used, np.int32))
    return places


@kernel
def forget_unreachable(tree, ctx, places):
    """Let the subtree biases forget most of what they learned from nodes that are not `reachable`."""
    for index in range(len(places)):
        if places[index] == NONE:
            forget(ctx[0].settings, tree.biases, tree.nodes[index])


def collect_garbage(tree: Tree, places: NDArray[np.int32]) -> None:
    """Drop every node that is not `reachable`, and close the gaps. `places` is overwritten."""
    kept = np.flatnonzero(places != NONE)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    new_edges = np.empty(int(tree.nodes["room"][kept].sum(dtype=np.int64)), EDGE)
    _gather_edges(tree, places, new_edges)
    for start in range(0, len(kept), ROWS_AT_A_TIME):
        rows = kept[start : start + ROWS_AT_A_TIME]
        # Rows only ever move towards the front, so nothing is overwritten before it is read.
        for array in (tree.nodes, tree.priors, tree.ownership):
            if len(array) == len(tree.nodes):  # ownership is not always kept
                array[start : start + len(rows)] = array[rows]
    tree.edges[: len(new_edges)] = new_edges
    _adopt(tree, len(kept), len(new_edges), int(places[tree.used[ROOT]]))
    if tree.used[BIASES] > MOST_BIASES * len(tree.biases):
        drop_unused(tree, tree.biases.copy())


def warm_up(tree: Tree, context: NDArray[np.void]) -> None:
    """Call each kernel of this module for a tree, so that none is compiled while a clock runs."""
    places = reachable(tree)
    forget_unreachable(tree, context, places)
    settle(tree)
    recompute(tree, context)
    collect_garbage(tree, places)
    drop_unused(tree, tree.biases.copy())


@kernel
def _mark_reachable(tree, places, waiting):
    """Set `places` to 0 for every node that the root leads to."""
    waiting[0] = tree.used[ROOT]
    places[tree.used[ROOT]] = 0
    n = 1
    while n > 0:
        n -= 1
        node = tree.nodes[waiting[n]]
        for i in range(node.n_edges):
            child = tree.edges[node.edges + i].child
            if places[child] == NONE:
                places[child] = 0
                waiting[n] = child
                n += 1


@kernel
def _gather_edges(tree, places, out):
    """Copy the kept nodes' edges to `out`, children renamed, and point the nodes there."""
    at = 0
    for index in range(len(places)):
        node = tree.nodes[index]
        if places[index] == NONE or node.room == 0:
            continue
        for i in range(node.n_edges):
            copy_edge(out[at + i], tree.edges[node.edges + i])
            out[at + i].child = places[out[at + i].child]
        node.edges = at
        at += node.room


@kernel
def _adopt(tree, nodes, edges, root):
    """Set the tree's counts after a collection and rebuild its table of keys."""
    tree.used[NODES] = nodes
    tree.used[EDGES] = edges
    tree.used[ROOT] = root
    for size in range(ROOM_CLASSES):
        tree.free[size] = NONE
    for slot in range(len(tree.table)):
        tree.table[slot] = NONE
    for index in range(nodes):
        if tree.nodes[index].key != 0 and index != root:
            add_key(tree, index)
