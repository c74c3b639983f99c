"""The expansion stage: an evaluated leaf becomes a node with priors, and its value is backed up along its path."""

from __future__ import annotations

import numpy as np

from go_rules.compilation.jit import kernel, kernel_part
from search.puct.memory.context import LEAD, NO_RESULT, SCORE, SCORE_ERROR, SCORE_SQ, WIN_LOSS, WINLOSS_ERROR
from search.puct.tree.backup import averages, back_up, count_own_evaluation, counts, set_own_evaluation
from search.puct.tree.nodes import EXPANDED, HAS_OWNERSHIP, find_next


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
    for i in range(len(row)):
        row[i] = leaf.codes[i]
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
