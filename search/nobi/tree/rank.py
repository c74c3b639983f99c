"""The ranking of a searched node's moves, for the choice of the move, analysis and principal variations.

Also the ownership of every point, averaged over the evaluations of a tree.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nobi_machine.jit import kernel
from search.nobi.tree.formulas import (
    confidence_radius,
    explore_scaling,
    mover_view,
    puct,
    puct_weight,
    utility_stdev_factor,
)
from search.nobi.tree.nodes import EXPANDED, HAS_OWNERSHIP, NODES, NONE, ROOT, Tree
from search.nobi.tree.select import ending_gain

LCB_MAX_FACTOR = 0.2
"""Keeps the bonus of the best confidence bound from multiplying a move's weight by more than 1 / 0.2^2."""


@kernel
def rank_root(tree, ctx, ranks):
    """Rank the moves of the root (`rank_moves`)."""
    rank_moves(
        tree.nodes, tree.edges, ctx[0], tree.nodes[tree.used[ROOT]], np.bool_(True), ctx[0].settings.lcb == 1, ranks
    )


@kernel
def rank_moves(nodes, edges, ctx, node, is_root, use_lcb, ranks):
    """Fill `ranks` [3, n_edges or more] with each tried move's value, confidence bound and radius.

    The value says how much the move deserves to be played, 0 for never: KataGo's `getPlaySelectionValues`. It is the
    weight of the move's visits. At the root, a move other than the best one is cut to the weight at which PUCT would
    still prefer it to that one, rounded up, for hindsight calls the rest wasted. The move with the best lower
    confidence bound gets more, if it has enough weight compared to the most visited one. The bound is the mover's view,
    the radius its distance from the utility.
    """
    values = ranks[0]
    bounds = ranks[1]
    radii = ranks[2]
    s = ctx.settings
    count = node.n_edges
    total = 0.0
    best = NONE
    best_goodness = -1e30
    for i in range(count):
        edge = edges[node.edges + i]
        values[i] = 0.0
        if edge.prior < 0.0:
            continue
        values[i] = edge.weight
        total += edge.weight
        # The last visit may have been the most generous one: it does not count yet.
        goodness = edge.weight * max(0, edge.visits - 1) / max(1, edge.visits) + 2.0 * edge.prior
        if goodness > best_goodness:
            best_goodness = goodness
            best = i
    if best == NONE:
        return
    most = values[best]
    if is_root:
        factor = utility_stdev_factor(s, node.weight, node.utility, node.utility_sq)
        explore = explore_scaling(s, total, factor)
        edge = edges[node.edges + best]
        reference = puct(
            _utility(nodes, ctx, node, edge, is_root), explore, np.float64(edge.prior), np.float64(edge.weight)
        )
        for i in range(count):
            edge = edges[node.edges + i]
            if i != best and values[i] > 0.0:
                utility = _utility(nodes, ctx, node, edge, is_root)
                values[i] = math.ceil(min(values[i], puct_weight(reference, utility, explore, edge.prior)))

    leader = NONE
    for i in range(count):
        edge = edges[node.edges + i]
        bounds[i] = -1e30
        radii[i] = 2.0 * s.utility_radius * s.lcb_stdevs
        if edge.weight > 0.0 and edge.prior >= 0.0:
            child = nodes[edge.child]
            share = edge.visits / max(1, child.visits)
            radii[i] = confidence_radius(s, edge.weight, child.weight_sq * share, child.utility, child.utility_sq)
            bounds[i] = _utility(nodes, ctx, node, edge, is_root) - radii[i]
        eligible = values[i] > 0.0 and values[i] >= s.lcb_min_weight * most
        if eligible and (leader == NONE or bounds[i] > bounds[leader]):
            leader = i
    if not use_lcb or leader == NONE:
        return
    wanted = values[leader]
    for i in range(count):
        excess = bounds[leader] - bounds[i]
        if i == leader or values[i] <= 0.0 or excess < 0.0:
            continue
        widening = (radii[i] + excess) / (radii[i] + LCB_MAX_FACTOR * excess)
        wanted = max(wanted, widening * widening * values[i])
    values[leader] = wanted


@kernel
def _utility(nodes, ctx, node, edge, is_root):
    """A tried move's utility as the mover sees it."""
    child = nodes[edge.child]
    white = child.utility
    if is_root:
        white += ending_gain(ctx, edge, child)
    return mover_view(white, node.to_play)


@kernel
def variations(tree, ctx, ranks, moves, visits, edge_visits, lengths):
    """Find the principal variation of every tried move of the root.

    Fills row i of `moves`, `visits` and `edge_visits` [n_edges, longest] with the move indices of the variation
    that starts with edge i, the visits of the positions they lead to and of the edges themselves, and `lengths[i]`.
    `ranks` [3, P] is scratch.
    """
    nodes = tree.nodes
    edges = tree.edges
    root = nodes[tree.used[ROOT]]
    for i in range(root.n_edges):
        node = root
        slot = np.int64(i)
        length = 0
        while slot != NONE and length < moves.shape[1]:
            edge = edges[node.edges + slot]
            moves[i, length] = edge.move
            visits[i, length] = nodes[edge.child].visits if edge.visits > 0 else 0
            edge_visits[i, length] = edge.visits
            length += 1
            slot = np.int64(NONE)
            if edge.visits > 0 and nodes[edge.child].state == EXPANDED:
                node = nodes[edge.child]
                slot = _best_slot(nodes, edges, ctx[0], node, ranks)
        lengths[i] = length


@kernel
def _best_slot(nodes, edges, ctx, node, ranks):
    """The slot of the move that a search of this node would play, or NONE."""
    rank_moves(nodes, edges, ctx, node, np.bool_(False), np.bool_(True), ranks)
    best = np.int64(NONE)
    for i in range(node.n_edges):
        if ranks[0, i] > 0.0 and (best == NONE or ranks[0, i] > ranks[0, best]):
            best = np.int64(i)
    return best


@kernel
def is_decided(tree, ctx, visits_left):
    """Return whether `visits_left` more visits of the root will hardly change which of its moves is chosen.

    No other move may come to have as many visits as the most visited one, and none that looks better enough of them to
    be chosen by its confidence bound. True also where there is only one move.
    """
    nodes, edges = tree.nodes, tree.edges
    node = nodes[tree.used[ROOT]]
    leader = NONE
    moves = 0 if node.next_move == NONE else 1
    for i in range(node.edges, node.edges + node.n_edges):
        if edges[i].prior >= 0.0:
            moves += 1
            if leader == NONE or edges[i].visits > edges[leader].visits:
                leader = i
    if moves <= 1:
        return True
    if leader == NONE:
        return False
    first = edges[leader].visits
    if node.next_move != NONE and visits_left >= first:  # for a move that was never tried
        return False
    share = ctx[0].settings.lcb_min_weight if ctx[0].settings.lcb == 1 else 1.0
    for i in range(node.edges, node.edges + node.n_edges):
        edge = edges[i]
        if i == leader or edge.prior < 0.0:
            continue
        reach = edge.visits + visits_left
        if reach >= first:
            return False
        if reach >= share * first and edge.visits > 0 and _is_better(nodes, ctx[0], node, edge, edges[leader]):
            return False
    return True


@kernel
def _is_better(nodes, ctx, node, edge, other):
    is_root = np.bool_(True)
    return _utility(nodes, ctx, node, edge, is_root) >= _utility(nodes, ctx, node, other, is_root)


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
