"""The choice of the move to visit next at one node, by PUCT."""

from __future__ import annotations

import math

import numpy as np

from go_rules.compilation.jit import kernel, kernel_part
from go_rules.random import uniform
from search.puct.tree.formulas import (
    explore_scaling,
    explore_scaling_of_people,
    first_play_urgency,
    mover_view,
    puct,
    score_utility_gain,
    utility_stdev_factor,
    with_virtual_losses,
)
from search.puct.tree.nodes import NONE

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
