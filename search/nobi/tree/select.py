"""The selection stage: walk down the tree to leaves worth evaluating, choosing at each node by PUCT.

The walk needs no board. Only when it arrives at a move never tried are the moves of its path played out, to see
which position that is: a finished game is scored and counted at once, a position known from another move order is
shared, anything else is left to the caller to be evaluated.
"""

from __future__ import annotations

import math

import numpy as np

from go_rules.phases import pass_ends_phase
from go_rules.position import PHASE_OVER
from go_rules.random import uniform
from nobi_machine.jit import kernel, kernel_part
from search.nobi.leaves.path import ends_game, graph_key, keep_owners, replay, score_terminal, set_no_result
from search.nobi.memory.context import MAX_DEPTH
from search.nobi.tree.backup import averages, back_up, count_own_evaluation, counts, release_path, set_own_evaluation
from search.nobi.tree.formulas import (
    explore_scaling,
    explore_scaling_of_people,
    first_play_urgency,
    mover_view,
    puct,
    score_utility_gain,
    utility_stdev_factor,
    with_virtual_losses,
)
from search.nobi.tree.nodes import (
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
from search.nobi.tree.subtree_bias import bias_key, find_bias

NO_MOVE = -1
"""No move may be played: all are excluded."""
UNTRIED = -2
"""The best of the moves not tried."""


@kernel
def choose(nodes, edges, ctx, scratch, node, is_root):
    """Choose the move to visit at a node. Returns the slot of its edge, UNTRIED or NO_MOVE."""
    s = ctx.settings
    to_play = node.to_play
    factor = utility_stdev_factor(s, node.weight, node.utility, node.utility_sq)
    explore = explore_scaling(s, node.child_weight, factor)
    urgency = first_play_urgency(
        s, mover_view(node.utility, to_play), mover_view(node.eval_utility, to_play), min(1.0, node.mass), is_root
    )
    if is_root and (s.wide_root_noise > 0.0 or s.ending_bonuses == 1):
        return _choose_at_root(nodes, edges, ctx, scratch, node, explore, urgency)
    best = NO_MOVE
    best_value = -1e30
    for i in range(node.n_edges):
        edge = edges[node.edges + i]
        weight = edge.weight
        utility = mover_view(edge.utility, to_play) if weight > 0.0 else urgency
        if edge.in_flight > 0:
            utility, weight = with_virtual_losses(s, utility, weight, edge.in_flight)
        value = puct(utility, explore, np.float64(edge.prior), weight)
        if value > best_value and edge.prior >= 0.0:
            best_value = value
            best = i
    if node.next_move != NONE and puct(urgency, explore, np.float64(node.next_prior), 0.0) > best_value:
        best = UNTRIED
    return best


@kernel
def _choose_at_root(nodes, edges, ctx, scratch, node, explore, urgency):
    """`choose` with what only the root has: noise that widens it, and bonuses for ending the game well."""
    s = ctx.settings
    to_play = node.to_play
    best = NO_MOVE
    best_value = -1e30
    for i in range(node.n_edges):
        edge = edges[node.edges + i]
        if edge.prior < 0.0:
            continue
        weight = edge.weight
        utility = urgency
        if weight > 0.0:
            utility = mover_view(edge.utility + ending_gain(ctx, edge, nodes[edge.child]), to_play)
        if edge.in_flight > 0:
            utility, weight = with_virtual_losses(s, utility, weight, edge.in_flight)
        value = _widened(s, scratch, utility, explore, edge.prior, weight)
        if value > best_value:
            best_value = value
            best = i
    if node.next_move != NONE and _widened(s, scratch, urgency, explore, node.next_prior, 0.0) > best_value:
        best = UNTRIED
    return best


@kernel_part
def goes_by_people(ctx, scratch, leaf):
    """Draw whether a visit of the root goes by what people would play, and if so whether it is `leaf.weightless`."""
    s = ctx.settings
    if s.asks_people == 0:
        return False
    share = uniform(scratch.random)
    if share < s.human_weightless:
        leaf.weightless = 1
        leaf.counted_from = 1
    return share < s.human_weightless + s.human_weightful


@kernel_part
def choose_as_people(nodes, edges, priors, ctx, node, weightless):
    """Choose the root's move to look at by how likely people play it. Returns (slot of its edge, UNTRIED or NO_MOVE;
    the move itself).

    Visits that are `weightless` go by what is known of the positions after moves, whoever asked for them.
    """
    s = ctx.settings
    total = 0.0
    mass = 0.0
    for i in range(node.n_edges):
        edge = edges[node.edges + i]
        if edge.prior >= 0.0:
            total += nodes[edge.child].weight if weightless == 1 else edge.weight
            mass += ctx.human_priors[edge.move]
    explore = explore_scaling_of_people(s, total)
    to_play = node.to_play
    urgency = first_play_urgency(
        s, mover_view(node.utility, to_play), mover_view(node.eval_utility, to_play), min(1.0, mass), np.bool_(True)
    )
    best = np.int64(NO_MOVE)
    best_move = np.int64(NONE)
    best_value = -1e30
    for i in range(node.n_edges):
        edge = edges[node.edges + i]
        if edge.prior < 0.0:
            continue
        child = nodes[edge.child]
        weight = child.weight if weightless == 1 else edge.weight
        utility = urgency
        if weight > 0.0:
            utility = mover_view(child.utility + ending_gain(ctx, edge, child), to_play)
        if edge.in_flight > 0:
            utility, weight = with_virtual_losses(s, utility, weight, edge.in_flight)
        value = puct(utility, explore, np.float64(ctx.human_priors[edge.move]), weight)
        if value > best_value:
            best_value = value
            best = np.int64(i)
            best_move = np.int64(edge.move)
    for move in range(ctx.moves):
        if priors[move] != 0:
            value = puct(urgency, explore, np.float64(ctx.human_priors[move]), 0.0)
            if value > best_value:
                best_value = value
                best = np.int64(UNTRIED)
                best_move = np.int64(move)
    return best, best_move


@kernel
def ending_gain(ctx, edge, child):
    """Compute the utility (white's view) that the ending bonus adds to a root move."""
    points = ctx.bonuses[edge.move]
    if points == 0.0:
        return 0.0
    return score_utility_gain(ctx.settings, ctx.score_table, child.score, child.score_sq, points)


@kernel
def _widened(s, scratch, utility, explore, prior, weight):
    """PUCT with a flattened prior and, every other time, a random bonus |N(0, noise)|: KataGo's wideRootNoise."""
    if s.wide_root_noise > 0.0:
        prior = prior ** (1.0 / (4.0 * s.wide_root_noise + 1.0))
        if uniform(scratch.random) < 0.5:
            radius = math.sqrt(-2.0 * math.log(1.0 - uniform(scratch.random)))
            utility += s.wide_root_noise * abs(radius * math.cos(2.0 * math.pi * uniform(scratch.random)))
    return puct(utility, explore, prior, weight)


@kernel_part
def forced_choice(edges, priors, pass_move, node, slot, move):
    """Choose the move that a node must try because a pass may end the game: the pass, or the best other move.

    Returns a move that has no edge yet, or NONE where nothing is forced, as at a node of one or two visits (as in
    KataGo). `slot` is what was chosen, `move` that move if it is untried, `priors` the node's row.
    """
    if node.visits < 3 or slot == NO_MOVE:
        return NONE
    has_pass = False
    has_other = False
    for i in range(node.n_edges):
        if edges[node.edges + i].move == pass_move:
            has_pass = True
        else:
            has_other = True
    wanted = move if slot == UNTRIED else np.int64(edges[node.edges + slot].move)
    if not has_pass and wanted != pass_move and priors[pass_move] != 0:
        return pass_move
    if not has_other and wanted == pass_move and slot != UNTRIED:
        return node.next_move
    return NONE


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
