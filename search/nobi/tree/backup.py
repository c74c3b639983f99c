"""Expansion and backup: an evaluated leaf becomes a node with priors, and the averages on its path are updated.

A node's averages are its own evaluation together with its children, where children that look bad count less than
their visits and surplus visits of bad moves are ignored. Weighing all children afresh at every visit would cost
wide nodes dear, so a node does that (`refresh`) only after some visits: one for each REFRESH_EDGES of its edges, or
for each REFRESH_VISITS of its visits if that is more. Otherwise it replaces the contribution of the one child that
changed (`replace_contribution`), with the scale it had then.
"""

from __future__ import annotations

import numpy as np

from nobi_machine.jit import kernel, kernel_part
from search.nobi.leaves.path import is_judged
from search.nobi.memory.context import LEAD, NO_RESULT, SCORE, SCORE_ERROR, SCORE_SQ, WIN_LOSS, WINLOSS_ERROR
from search.nobi.tree.formulas import (
    evaluation_weight,
    mover_view,
    noise_pruned,
    terminal_weight,
    utility_of,
    value_weight,
)
from search.nobi.tree.nodes import EXPANDED, HAS_OWNERSHIP, TERMINAL, find_next
from search.nobi.tree.subtree_bias import corrected, learn

REFRESH_EDGES = 16
REFRESH_VISITS = 128
"""See above: the larger both are, the more often a node computes its averages from all its children."""


@kernel
def set_own_evaluation(ctx, node):
    """Compute weight and utility of a node's own evaluation from its other eval_* fields."""
    s = ctx.settings
    node.eval_utility = utility_of(
        s, ctx.score_table, node.eval_win_loss, node.eval_no_result, node.eval_score, node.eval_score_sq
    )
    if node.state == TERMINAL:
        node.eval_weight = terminal_weight(s, ctx.errors_known)
    else:
        node.eval_weight = evaluation_weight(s, node.eval_score, node.eval_winloss_error, node.eval_score_error)


@kernel
def count_own_evaluation(ctx, biases, node):
    """Give a node one visit that ends at itself: the first, or another one of a finished game."""
    node.visits += 1
    node.weight += node.eval_weight
    node.weight_sq += node.eval_weight * node.eval_weight
    if node.n_edges > 0:
        return
    node.win_loss = node.eval_win_loss
    node.no_result = node.eval_no_result
    node.score = node.eval_score
    node.score_sq = node.eval_score_sq
    node.lead = node.eval_lead
    utility = corrected(ctx.settings, biases, node)
    node.utility = utility
    node.utility_sq = utility * utility


@kernel
def counts(leaf):
    """Return whether a visit uses up one of those that a search may make: not if it was forced on a node."""
    return leaf.counted_from == 0 or leaf.weightless == 1


@kernel
def release_path(nodes, edges, leaf):
    """Remove the virtual losses that a descent left on its path."""
    for level in range(leaf.depth):
        edges[nodes[leaf.nodes[level]].edges + leaf.slots[level]].in_flight -= 1


@kernel
def back_up(nodes, edges, biases, ctx, scratch, leaf, child_before):
    """Count a visit on the edges of a path whose last child has just changed.

    `child_before`: `averages` of that child before the visit.
    """
    release_path(nodes, edges, leaf)
    before = child_before
    for level in range(leaf.depth - 1, leaf.counted_from - 1, -1):
        node = nodes[leaf.nodes[level]]
        edge = edges[node.edges + leaf.slots[level]]
        here = averages(node)
        edge.visits += 1
        node.visits += 1
        if node.visits >= node.next_refresh:
            refresh(nodes, edges, biases, ctx, scratch, node)
        else:
            replace_contribution(node, edge, nodes[edge.child], before)
        before = here


@kernel
def averages(node):
    """Return a node's weight, weight_sq and seven averages. `back_up` needs them as they were before a visit."""
    return (
        node.weight,
        node.weight_sq,
        node.win_loss,
        node.no_result,
        node.score,
        node.score_sq,
        node.lead,
        node.utility,
        node.utility_sq,
    )


@kernel_part
def replace_contribution(node, edge, child, before):
    """Replace a child's part in its parent's averages by its part after one more visit of the edge."""
    weight0, weight_sq0, win_loss0, no_result0, score0, score_sq0, lead0, utility0, utility_sq0 = before
    old = edge.weight
    new = child.weight * edge.visits / max(1, child.visits)
    a = edge.scale * old
    b = edge.scale * new
    total = node.weight
    node.weight = total - a + b
    k = 1.0 / node.weight
    node.win_loss = (node.win_loss * total - a * win_loss0 + b * child.win_loss) * k
    node.no_result = (node.no_result * total - a * no_result0 + b * child.no_result) * k
    node.score = (node.score * total - a * score0 + b * child.score) * k
    node.score_sq = (node.score_sq * total - a * score_sq0 + b * child.score_sq) * k
    node.lead = (node.lead * total - a * lead0 + b * child.lead) * k
    node.utility = (node.utility * total - a * utility0 + b * child.utility) * k
    node.utility_sq = (node.utility_sq * total - a * utility_sq0 + b * child.utility_sq) * k
    share0 = a / weight0 if weight0 > 0.0 else 0.0
    share = b / child.weight
    node.weight_sq += share * share * child.weight_sq - share0 * share0 * weight_sq0
    node.child_weight += new - old
    edge.weight = new
    edge.utility = child.utility


@kernel
def refresh(nodes, edges, biases, ctx, scratch, node):
    """Compute a node's averages from its children and its own evaluation."""
    s = ctx.settings
    weights = scratch.weights
    count = node.n_edges
    start = node.edges
    total = 0.0
    for i in range(count):
        edge = edges[start + i]
        child = nodes[edge.child]
        edge.weight = 0.0
        if edge.visits > 0 and child.visits > 0 and edge.prior >= 0.0:
            edge.weight = child.weight * edge.visits / child.visits
            edge.utility = child.utility
        weights[i] = edge.weight
        total += edge.weight
    node.child_weight = total
    if total > 0.0 and count > 1:
        if s.noise_pruning == 1:
            total = _prune_noise(s, edges, start, count, node.to_play, weights)
        if s.value_weight_exponent > 0.0:
            _weigh_values(ctx.weight_table, edges, start, count, node.to_play, weights, total)

    children_utility = 0.0
    for i in range(count):
        if weights[i] > 0.0:
            children_utility += weights[i] * nodes[edges[start + i].child].utility
    if total > 0.0:
        learn(s, biases, node, node.child_weight, children_utility / total)

    own = node.eval_weight
    utility = corrected(s, biases, node)
    win_loss = own * node.eval_win_loss
    no_result = own * node.eval_no_result
    score = own * node.eval_score
    score_sq = own * node.eval_score_sq
    lead = own * node.eval_lead
    utility_sum = children_utility + own * utility
    utility_sq = own * utility * utility
    weight_sq = own * own
    for i in range(count):
        w = weights[i]
        edge = edges[start + i]
        if edge.weight == 0.0:
            continue
        child = nodes[edge.child]
        edge.scale = w / edge.weight
        share = w / child.weight
        win_loss += w * child.win_loss
        no_result += w * child.no_result
        score += w * child.score
        score_sq += w * child.score_sq
        lead += w * child.lead
        utility_sq += w * child.utility_sq
        weight_sq += share * share * child.weight_sq
    total += own
    node.weight = total
    node.weight_sq = weight_sq
    k = 1.0 / total
    node.win_loss = win_loss * k
    node.no_result = no_result * k
    node.score = score * k
    node.score_sq = score_sq * k
    node.lead = lead * k
    node.utility = utility_sum * k
    node.utility_sq = utility_sq * k
    node.next_refresh = node.visits + max(1, count // REFRESH_EDGES, node.visits // REFRESH_VISITS)


@kernel
def _prune_noise(s, edges, start, count, to_play, weights):
    """Reduce each child worse than those before it with over twice its policy share; return the new total weight."""
    utilities = 0.0
    total = 0.0
    policy = 0.0
    for i in range(count):
        edge = edges[start + i]
        weight = weights[i]
        if weight == 0.0:
            continue
        utility = mover_view(edge.utility, to_play)
        prior = max(edge.prior, 1e-30)
        if total > 0.0:
            weight = noise_pruned(s, weight, total * prior / policy, utilities / total - utility)
            weights[i] = weight
        utilities += utility * weight
        total += weight
        policy += prior
    return total


@kernel
def _weigh_values(table, edges, start, count, to_play, weights, total):
    """Shift weight from children that look worse than the average to those that look better; the total stays."""
    mean = 0.0
    for i in range(count):
        mean += weights[i] * mover_view(edges[start + i].utility, to_play)
    mean /= total
    shifted = 0.0
    for i in range(count):
        if weights[i] > 0.0:
            weights[i] *= value_weight(table, mover_view(edges[start + i].utility, to_play), mean, weights[i])
            shifted += weights[i]
    for i in range(count):
        weights[i] *= total / shifted


@kernel_part
def expand_and_back_up(tree, ctx, work, leaves):
    """Expand the first `leaves` leaves of a worker and back up each of them. Returns how many count for the root."""
    counted = 0
    for i in range(leaves):
        leaf = work.leaves[i]
        before = averages(tree.nodes[leaf.nodes[leaf.depth]])
        expand(tree, ctx[0], leaf)
        back_up(tree.nodes, tree.edges, tree.biases, ctx[0], work.scratch[0], leaf, before)
        if counts(leaf):
            counted += 1
    return counted


@kernel_part
def expand(tree, ctx, leaf):
    """Give the leaf's node its priors and its own evaluation, as its first visit."""
    index = np.int64(leaf.nodes[leaf.depth])
    node = tree.nodes[index]
    row = tree.priors[index]
    has_moves = not is_judged(ctx, leaf.stack[leaf.last])
    for i in range(len(row)):
        row[i] = leaf.codes[i] if has_moves else 0
    find_next(node, row)
    node.state = EXPANDED
    set_values(tree, ctx, index, leaf)
    count_own_evaluation(ctx, tree.biases, node)


@kernel
def set_values(tree, ctx, index, leaf):
    """Set a node's own evaluation from the leaf's values and ownership. The priors stay as they are."""
    node = tree.nodes[index]
    values = leaf.values
    node.eval_win_loss = values[WIN_LOSS]
    node.eval_no_result = values[NO_RESULT]
    node.eval_score = values[SCORE]
    node.eval_score_sq = values[SCORE_SQ]
    node.eval_lead = values[LEAD]
    node.eval_winloss_error = values[WINLOSS_ERROR]
    node.eval_score_error = values[SCORE_ERROR]
    set_own_evaluation(ctx, node)
    if len(tree.ownership) == len(tree.nodes):
        node.flags |= HAS_OWNERSHIP
        for i in range(ctx.moves - 1):
            tree.ownership[index, i] = leaf.ownership[i]
