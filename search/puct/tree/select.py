"""The selection stage: walk down the tree to leaves worth evaluating, by PUCT.

The walk needs no board. Only when it arrives at a move never tried are the moves of its path played out, to see
which position that is: a finished game is scored and counted at once, a position known from another move order is
shared, anything else is left to the caller to be evaluated.
"""

from __future__ import annotations

import numpy as np

from go_rules.compilation.jit import kernel, kernel_part
from go_rules.phases import pass_ends_phase
from go_rules.position import PHASE_OVER
from search.puct.leaves.outcome import ends_game, keep_owners, score_terminal, set_no_result
from search.puct.leaves.path import graph_key, replay
from search.puct.memory.context import MAX_DEPTH
from search.puct.tree.backup import (
    averages,
    back_up,
    count_own_evaluation,
    counts,
    release_path,
    set_own_evaluation,
)
from search.puct.tree.choose import NO_MOVE, UNTRIED, choose, choose_as_people, forced_choice, goes_by_people
from search.puct.tree.nodes import (
    EXPANDED,
    HAS_OWNERSHIP,
    NEW,
    NODES,
    NONE,
    PASS_ENDS_PHASE,
    ROOT,
    TERMINAL,
    WAITING,
    add_key,
    find_key,
    new_node,
    open_edge,
)
from search.puct.tree.subtree_bias import bias_key, find_bias

# How a descent ends.
LEAF = 0  # at a node to be evaluated
COUNTED = 1  # a visit was completed without evaluation
COLLISION = 2  # at a node whose evaluation is under way; nothing was done
FULL = 3  # the tree has no room for another node; nothing was done
UNCOUNTED = 4  # a visit was completed that does not count for the root
ARRIVED = 5  # at an edge that leads to no node yet; only between `walk` and `arrive`


@kernel_part
def select_leaves(tree, ctx, work, wanted, most):
    """Walk down again and again: select up to `wanted` leaves, and begin up to `most` visits, leaves included.

    Returns (leaves, visits completed without evaluation, how the last descent ended).
    """
    context = ctx[0]
    scratch = work.scratch[0]
    leaves = 0
    counted = 0
    attempts = 0
    outcome = LEAF
    # `attempts` bounds the visits that do not count for the root: they alone would never end the loop.
    while leaves < wanted and leaves + counted < most and attempts < most + wanted:
        leaf = work.leaves[leaves]
        attempts += 1
        outcome = walk(tree, context, scratch, leaf)
        if outcome == LEAF or outcome == ARRIVED:
            replay(tree.nodes, tree.edges, context, scratch, leaf)
        if outcome == ARRIVED:
            outcome = arrive(tree, context, scratch, leaf)
        if outcome == LEAF:
            leaves += 1
        elif outcome == COUNTED:
            counted += 1
        elif outcome != UNCOUNTED:
            break
    return leaves, counted, outcome


@kernel
def walk(tree, ctx, scratch, leaf):
    """Follow the best moves down from the root, noting the path in `leaf`. Returns how the walk ended."""
    nodes = tree.nodes
    edges = tree.edges
    index = tree.used[ROOT]
    leaf.counted_from = 0
    leaf.weightless = 0
    depth = np.int64(0)
    while True:
        leaf.nodes[depth] = index
        leaf.depth = depth
        node = nodes[index]
        if node.state == NEW:
            # The root, or a node whose evaluation was lost when a search was broken off.
            node.state = WAITING
            return LEAF
        if node.state == WAITING:
            release_path(nodes, edges, leaf)
            return COLLISION
        slot = np.int64(NO_MOVE)
        move = np.int64(node.next_move)
        if depth == 0 and node.state == EXPANDED and goes_by_people(ctx, scratch, leaf):
            slot, move = choose_as_people(nodes, edges, tree.priors[index], ctx, node, leaf.weightless)
        elif node.state == EXPANDED and depth < MAX_DEPTH:
            slot = np.int64(choose(nodes, edges, ctx, scratch, node, depth == 0))
        if slot == NO_MOVE:
            before = averages(node)
            count_own_evaluation(ctx, tree.biases, node)
            back_up(nodes, edges, tree.biases, ctx, scratch, leaf, before)
            return COUNTED if counts(leaf) else UNCOUNTED
        if node.flags & PASS_ENDS_PHASE and ctx.settings.explore_pass == 1:
            forced = forced_choice(edges, tree.priors[index], ctx.moves - 1, node, slot, move)
            if forced != NONE:
                leaf.counted_from = depth + 1
                leaf.weightless = 0
                slot = np.int64(UNTRIED)
                move = np.int64(forced)
        is_new = slot == UNTRIED
        if is_new:
            slot = np.int64(NONE)
            if tree.used[NODES] < len(nodes):
                slot = open_edge(tree, index, move)
            if slot == NONE:
                release_path(nodes, edges, leaf)
                return FULL
        edge = edges[node.edges + slot]
        edge.in_flight += 1
        leaf.slots[depth] = slot
        depth += 1
        leaf.depth = depth
        if is_new:
            return ARRIVED
        index = np.int64(edge.child)
        child = nodes[index]
        if (edge.visits < child.visits and depth > leaf.counted_from) or _is_on_path(leaf, index):
            # Other move orders know more than this one has asked for, or the moves went round in a circle.
            back_up(nodes, edges, tree.biases, ctx, scratch, leaf, averages(child))
            return COUNTED if counts(leaf) else UNCOUNTED


@kernel_part
def arrive(tree, ctx, scratch, leaf):
    """Give the new edge at the end of a path its node, whose position is known now. Returns how the descent ended."""
    nodes = tree.nodes
    edges = tree.edges
    parent = nodes[leaf.nodes[leaf.depth - 1]]
    edge = edges[parent.edges + leaf.slots[leaf.depth - 1]]
    pos = leaf.stack[leaf.last]
    over = leaf.no_result == 1 or (pos.phase == PHASE_OVER and ends_game(ctx, pos, leaf.depth))
    key = np.uint64(0)
    index = np.int64(NONE)
    if ctx.settings.graph_search == 1 and ctx.settings.has_filter == 0:
        key = graph_key(ctx, scratch, leaf, over, parent.key)
        index = find_key(tree.table, nodes, key)
    if index == NONE:
        index = new_node(tree, key, np.int64(pos.to_play))
        if key != 0:
            add_key(tree, index)
    edge.child = index
    leaf.nodes[leaf.depth] = index
    node = nodes[index]
    before = averages(node)
    if node.state == WAITING:
        release_path(nodes, edges, leaf)
        return COLLISION
    if node.state == NEW and not over:
        node.state = WAITING
        if ctx.settings.subtree_bias_factor > 0.0:
            bias = bias_key(leaf.stack[leaf.last - 1], pos)
            if bias != 0:
                node.bias = find_bias(tree, bias)
        if pass_ends_phase(pos):
            node.flags |= PASS_ENDS_PHASE
        return LEAF
    if node.state == NEW:
        node.state = TERMINAL
        if leaf.no_result == 1:
            set_no_result(node)
        else:
            score_terminal(ctx, scratch, pos, node)
        if leaf.no_result == 0 and len(tree.ownership) == len(nodes):
            node.flags |= HAS_OWNERSHIP
            keep_owners(ctx, scratch, tree.ownership[index])
        set_own_evaluation(ctx, node)
        count_own_evaluation(ctx, tree.biases, node)
    back_up(nodes, edges, tree.biases, ctx, scratch, leaf, before)
    return COUNTED if counts(leaf) else UNCOUNTED


@kernel_part
def _is_on_path(leaf, index):
    for level in range(leaf.depth):
        if leaf.nodes[level] == index:
            return True
    return False
