"""The first stage of an iteration: walk down the tree to leaves worth evaluating, by PUCT.

The walk needs no board. Only when it arrives at a move never tried are the moves of its path played out, to see
which position that is: a finished game is scored and counted at once, a position known from another move order is
shared, anything else is left to the caller to be evaluated.
"""

from __future__ import annotations

import numpy as np

from go_rules.board import pass_ends_phase
from go_rules.jit import kernel
from go_rules.position import PHASE_OVER
from search.backup import averages, back_up, count_own_evaluation, release_path, set_own_evaluation
from search.choose import NO_MOVE, UNTRIED, choose, forced_choice
from search.context import MAX_DEPTH
from search.outcome import ends_game, score_terminal
from search.path import graph_key, replay
from search.tree import (
    EXPANDED,
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
    open_link,
)

# How a descent ends.
LEAF = 0  # at a node to be evaluated
COUNTED = 1  # a visit was completed without evaluation
COLLISION = 2  # at a node whose evaluation is under way; nothing was done
FULL = 3  # the tree has no room for another node; nothing was done
UNCOUNTED = 4  # a visit was completed that does not count for the root


@kernel
def select(tree, ctx, work, wanted, most):
    """Collect up to `wanted` leaves, completing up to `most` visits altogether, leaves included.

    Returns (leaves, visits completed without evaluation, how the last descent ended).
    """
    leaves = 0
    counted = 0
    attempts = 0
    outcome = LEAF
    while leaves < wanted and leaves + counted < most and attempts < most + wanted:
        outcome = descend(tree, ctx[0], work.scratch[0], work.leaves[leaves])
        attempts += 1
        if outcome == LEAF:
            leaves += 1
        elif outcome == COUNTED:
            counted += 1
        elif outcome != UNCOUNTED:
            break
    return leaves, counted, outcome


@kernel
def descend(tree, ctx, scratch, leaf):
    """One walk from the root, noted in `leaf`. Returns how it ended."""
    nodes = tree.nodes
    links = tree.links
    index = tree.used[ROOT]
    leaf.floor = 0
    depth = 0
    while True:
        leaf.nodes[depth] = index
        node = nodes[index]
        if node.state == NEW:
            # Its evaluation was lost when a search was broken off.
            node.state = WAITING
            leaf.depth = depth
            replay(nodes, links, ctx, scratch, leaf)
            return LEAF
        if node.state == WAITING:
            release_path(nodes, links, leaf, depth)
            return COLLISION
        slot = NO_MOVE
        if node.state == EXPANDED and depth < MAX_DEPTH:
            slot = choose(nodes, links, ctx, scratch, node, depth == 0)
        if slot == NO_MOVE:
            before = averages(node)
            count_own_evaluation(node)
            back_up(nodes, links, ctx, scratch, leaf, depth, before)
            return COUNTED if leaf.floor == 0 else UNCOUNTED
        move = np.int64(node.next_move)
        if node.flags & PASS_ENDS_PHASE and ctx.settings.explore_pass == 1:
            forced = forced_choice(links, tree.priors[index], ctx.moves - 1, node, slot)
            if forced != NONE:
                leaf.floor = depth + 1
                slot = UNTRIED
                move = np.int64(forced)
        if slot == UNTRIED:
            return arrive(tree, ctx, scratch, leaf, depth, move)
        link = links[node.links + slot]
        link.in_flight += 1
        leaf.slots[depth] = slot
        depth += 1
        index = np.int64(link.child)
        child = nodes[index]
        if link.visits < child.visits or _is_on_path(leaf, depth, index):
            # Other move orders know more than this one has asked for, or the moves went round in a circle.
            back_up(nodes, links, ctx, scratch, leaf, depth, averages(child))
            return COUNTED if leaf.floor == 0 else UNCOUNTED


@kernel
def arrive(tree, ctx, scratch, leaf, depth, move):
    """Try a move for the first time: find out what position it leads to and give it a node."""
    nodes = tree.nodes
    links = tree.links
    parent = nodes[leaf.nodes[depth]]
    slot = NONE
    if tree.used[NODES] < len(nodes):
        slot = open_link(tree, leaf.nodes[depth], move)
    if slot == NONE:
        release_path(nodes, links, leaf, depth)
        return FULL
    link = links[parent.links + slot]
    link.in_flight += 1
    leaf.slots[depth] = slot
    depth += 1
    leaf.depth = depth
    replay(nodes, links, ctx, scratch, leaf)
    pos = leaf.stack[leaf.last]
    over = pos.phase == PHASE_OVER and ends_game(ctx, pos, depth)
    key = np.uint64(0)
    if ctx.settings.graph_search == 1 and ctx.settings.has_filter == 0:
        key = graph_key(ctx, scratch, pos, over, parent.key)
        known = find_key(tree.table, nodes, key)
        if known != NONE:
            link.child = known
            leaf.nodes[depth] = known
            return _join(nodes, links, ctx, scratch, leaf, depth, nodes[known])
    index = new_node(tree, key, pos.to_play)
    if key != 0:
        add_key(tree, index)
    link.child = index
    leaf.nodes[depth] = index
    node = nodes[index]
    if not over:
        node.state = WAITING
        if pass_ends_phase(pos):
            node.flags |= PASS_ENDS_PHASE
        return LEAF
    before = averages(node)
    node.state = TERMINAL
    score_terminal(ctx, scratch, pos, node)
    set_own_evaluation(ctx, node)
    count_own_evaluation(node)
    back_up(nodes, links, ctx, scratch, leaf, depth, before)
    return COUNTED if leaf.floor == 0 else UNCOUNTED


@kernel
def _join(nodes, links, ctx, scratch, leaf, depth, child):
    """A new link leads to a node that exists."""
    if child.state == NEW:
        child.state = WAITING
        return LEAF
    if child.state == WAITING:
        release_path(nodes, links, leaf, depth)
        return COLLISION
    back_up(nodes, links, ctx, scratch, leaf, depth, averages(child))
    return COUNTED if leaf.floor == 0 else UNCOUNTED


@kernel
def _is_on_path(leaf, depth, index):
    for level in range(depth):
        if leaf.nodes[level] == index:
            return True
    return False
