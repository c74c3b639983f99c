"""The ranking of a searched node's moves, for the choice of the move, analysis and principal variations."""

from __future__ import annotations

import math

import numpy as np

from go_rules.machine.jit import kernel
from search.puct.tree.choose import ending_gain
from search.puct.tree.formulas import (
    confidence_radius,
    explore_scaling,
    own_view,
    puct,
    puct_weight,
    utility_stdev_factor,
)
from search.puct.tree.nodes import EXPANDED, NONE, ROOT

LCB_MAX_FACTOR = 0.2
"""Keeps the bonus of the best confidence bound from multiplying a move's weight by more than 1 / 0.2^2."""


@kernel
def rank_root(tree, ctx, ranks):
    """Rank the moves of the root (`rank_moves`)."""
    rank_moves(
        tree.nodes, tree.links, ctx[0], tree.nodes[tree.used[ROOT]], np.bool_(True), ctx[0].settings.lcb == 1, ranks
    )


@kernel
def rank_moves(nodes, links, ctx, node, is_root, use_lcb, ranks):
    """Fill `ranks` [3, n_links or more] with each tried move's value, confidence bound and radius.

    The value says how much the move deserves to be played, 0 for never. It is the weight of the move's visits, less
    those that hindsight calls wasted. The move with the best lower confidence bound gets more, if it has enough weight
    compared to the most visited one. The bound is the mover's view, the radius its distance from the utility.
    """
    values = ranks[0]
    bounds = ranks[1]
    radii = ranks[2]
    s = ctx.settings
    count = node.n_links
    total = 0.0
    best = NONE
    best_goodness = -1e30
    for i in range(count):
        link = links[node.links + i]
        values[i] = 0.0
        if link.prior < 0.0:
            continue
        values[i] = link.weight
        total += link.weight
        # The last visit may have been the most generous one: it does not count yet.
        goodness = link.weight * max(0, link.visits - 1) / max(1, link.visits) + 2.0 * link.prior
        if goodness > best_goodness:
            best_goodness = goodness
            best = i
    if best == NONE:
        return
    most = values[best]
    if is_root:
        factor = utility_stdev_factor(s, node.weight, node.utility, node.utility_sq)
        explore = explore_scaling(s, total, factor)
        link = links[node.links + best]
        reference = puct(
            _utility(nodes, ctx, node, link, is_root), explore, np.float64(link.prior), np.float64(link.weight)
        )
        for i in range(count):
            link = links[node.links + i]
            if i != best and values[i] > 0.0:
                utility = _utility(nodes, ctx, node, link, is_root)
                values[i] = math.ceil(min(values[i], puct_weight(reference, utility, explore, link.prior)))

    leader = NONE
    for i in range(count):
        link = links[node.links + i]
        bounds[i] = -1e30
        radii[i] = 2.0 * s.utility_radius * s.lcb_stdevs
        if link.weight > 0.0 and link.prior >= 0.0:
            child = nodes[link.child]
            share = link.visits / max(1, child.visits)
            radii[i] = confidence_radius(s, link.weight, child.weight_sq * share, child.utility, child.utility_sq)
            bounds[i] = _utility(nodes, ctx, node, link, is_root) - radii[i]
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
def _utility(nodes, ctx, node, link, is_root):
    """A tried move's utility as the mover sees it."""
    child = nodes[link.child]
    white = child.utility
    if is_root:
        white += ending_gain(ctx, link, child)
    return own_view(white, node.to_play)


@kernel
def variations(tree, ctx, ranks, moves, visits, edge_visits, lengths):
    """Find the principal variation of every tried move of the root.

    Fills row i of `moves`, `visits` and `edge_visits` [n_links, longest] with the network positions of the variation
    that starts with link i, the visits of the positions they lead to and of the links themselves, and `lengths[i]`.
    `ranks` [3, P] is scratch.
    """
    nodes = tree.nodes
    links = tree.links
    root = nodes[tree.used[ROOT]]
    for i in range(root.n_links):
        node = root
        slot = np.int64(i)
        length = 0
        while slot != NONE and length < moves.shape[1]:
            link = links[node.links + slot]
            moves[i, length] = link.move
            visits[i, length] = nodes[link.child].visits if link.visits > 0 else 0
            edge_visits[i, length] = link.visits
            length += 1
            slot = np.int64(NONE)
            if link.visits > 0 and nodes[link.child].state == EXPANDED:
                node = nodes[link.child]
                slot = _best_slot(nodes, links, ctx[0], node, ranks)
        lengths[i] = length


@kernel
def _best_slot(nodes, links, ctx, node, ranks):
    """The slot of the move that a search of this node would play, or NONE."""
    rank_moves(nodes, links, ctx, node, np.bool_(False), np.bool_(True), ranks)
    best = np.int64(NONE)
    for i in range(node.n_links):
        if ranks[0, i] > 0.0 and (best == NONE or ranks[0, i] > ranks[0, best]):
            best = np.int64(i)
    return best


@kernel
def is_decided(tree, ctx, visits_left):
    """Whether `visits_left` more visits of the root cannot change which of its moves has the most visits, and no other
    move that looks better may yet have enough of them to be chosen by its confidence bound.

    True also where there is only one move.
    """
    nodes, links = tree.nodes, tree.links
    node = nodes[tree.used[ROOT]]
    leader = NONE
    moves = 0 if node.next_move == NONE else 1
    for i in range(node.links, node.links + node.n_links):
        if links[i].prior >= 0.0:
            moves += 1
            if leader == NONE or links[i].visits > links[leader].visits:
                leader = i
    if moves <= 1:
        return True
    if leader == NONE:
        return False
    first = links[leader].visits
    share = ctx[0].settings.lcb_min_weight if ctx[0].settings.lcb == 1 else 1.0
    for i in range(node.links, node.links + node.n_links):
        link = links[i]
        if i == leader or link.prior < 0.0:
            continue
        reach = link.visits + visits_left
        if reach >= first:
            return False
        if reach >= share * first and link.visits > 0 and _is_better(nodes, ctx[0], node, link, links[leader]):
            return False
    return True


@kernel
def _is_better(nodes, ctx, node, link, other):
    is_root = np.bool_(True)
    return _utility(nodes, ctx, node, link, is_root) >= _utility(nodes, ctx, node, other, is_root)
