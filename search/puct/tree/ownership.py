"""The ownership of every point, averaged over the evaluations of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from go_rules.compilation.jit import kernel
from search.puct.tree.nodes import EXPANDED, HAS_OWNERSHIP, NODES, Tree

SMALLEST_SHARE = 1e-4
"""A node whose share of the average is smaller is represented by its own evaluation, without what is below it."""


def tree_ownership(tree: Tree, index: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Compute mean and standard deviation [H*W] of the ownership below a node, white's view, -1..1.

    Each evaluation counts as it does in the node's utility. The tree must keep ownership.
    """
    points = tree.ownership.shape[1]
    total = np.zeros(points)
    square = np.zeros(points)
    weight = add_ownership(tree, np.int64(index), np.zeros(int(tree.used[NODES])), total, square)
    mean = total / max(weight, 1e-30)
    stdev = np.sqrt(np.maximum(0.0, square / max(weight, 1e-30) - mean * mean))
    return mean.astype(np.float32), stdev.astype(np.float32)


@kernel
def add_ownership(tree, index, shares, total, square):
    """Add up ownership and its square over the nodes below `index`; return the sum of their shares, about 1.

    `shares` [nodes] must be 0. A shared node that is older than one of its parents misses that parent's part.
    """
    weight = 0.0
    shares[index] = 1.0
    for i in range(index, len(shares)):
        share = shares[i]
        if share == 0.0:
            continue
        node = tree.nodes[i]
        own = share
        if share >= SMALLEST_SHARE and node.state == EXPANDED and node.n_edges > 0:
            own = share * node.eval_weight / node.weight
            for j in range(node.n_edges):
                edge = tree.edges[node.edges + j]
                if edge.weight > 0.0 and edge.child != i:
                    shares[edge.child] += share * edge.scale * edge.weight / node.weight
        if node.flags & HAS_OWNERSHIP:
            weight += own
            for point in range(len(total)):
                value = tree.ownership[i, point] * (1.0 / 127.0)
                total[point] += own * value
                square[point] += own * value * value
    return weight
