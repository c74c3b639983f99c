"""The last stages of an iteration: from the network's answers to nodes of the tree."""

from __future__ import annotations

import math

import numpy as np

from go_rules.board import is_legal
from go_rules.machine.jit import kernel, kernel_part
from go_rules.points import EMPTY, PASS, WHITE
from nets.evaluator import (
    LEAD as NET_LEAD,
)
from nets.evaluator import (
    LOSS,
    SCORE_MEAN,
    SCORE_STDEV,
    SHORTTERM_SCORE_ERROR,
    SHORTTERM_WINLOSS_ERROR,
    WIN,
)
from nets.evaluator import (
    NO_RESULT as NET_NO_RESULT,
)
from search.puct.context import LEAD, NO_RESULT, SCORE, SCORE_ERROR, SCORE_SQ, WIN_LOSS, WINLOSS_ERROR
from search.puct.tree.backup import averages, back_up, count_own_evaluation, set_own_evaluation
from search.puct.tree.nodes import EXPANDED, HAS_OWNERSHIP, encode_prior, find_next


@kernel_part
def digest(ctx, scratch, leaf, policy, value, score, ownership, images):
    """Turn one evaluation into what the tree keeps: the leaf's codes, values and ownership.

    `policy` [P] logits, `value` [3], `score` [6] and `ownership` [H*W] are the side to move's, of the leaf's position
    under a symmetry that shows move i at `images[i]`.
    """
    pos = leaf.stack[leaf.last]
    legal_priors(ctx, scratch, leaf, policy, images)
    sign = 1.0 if pos.to_play == WHITE else -1.0
    mean = score[SCORE_MEAN]
    leaf.values[WIN_LOSS] = sign * (value[WIN] - value[LOSS])
    leaf.values[NO_RESULT] = value[NET_NO_RESULT]
    leaf.values[SCORE] = sign * mean
    leaf.values[SCORE_SQ] = mean * mean + score[SCORE_STDEV] * score[SCORE_STDEV]
    leaf.values[LEAD] = sign * score[NET_LEAD]
    leaf.values[WINLOSS_ERROR] = score[SHORTTERM_WINLOSS_ERROR]
    leaf.values[SCORE_ERROR] = score[SHORTTERM_SCORE_ERROR]
    for i in range(len(ownership)):
        leaf.ownership[i] = np.int8(round(sign * 127.0 * min(1.0, max(-1.0, ownership[images[i]]))))


@kernel
def mark_legal(ctx, leaf):
    """Set the codes of the moves that are legal, not banned by superko and not excluded to 1, the others to 0.

    Returns how many are legal.
    """
    pos = leaf.stack[leaf.last]
    rules = ctx.rules
    colour = np.int64(pos.to_play)
    filtered = ctx.settings.has_filter == 1
    count = 0
    for i in range(ctx.moves):
        point = np.int64(ctx.points[i])
        leaf.codes[i] = 0
        if point != PASS and (pos.board[point] != EMPTY or leaf.banned[point] == 1):
            continue
        if filtered and leaf.depth < ctx.until[colour, point]:
            continue
        if is_legal(pos, point, colour, rules):
            leaf.codes[i] = 1
            count += 1
    return count


@kernel
def legal_priors(ctx, scratch, leaf, policy, images):
    """Softmax the logits over the leaf's legal moves and encode them."""
    mark_legal(ctx, leaf)
    codes = leaf.codes
    weights = scratch.weights
    highest = np.float32(-np.inf)
    for i in range(ctx.moves):
        if codes[i] == 1:
            highest = max(highest, policy[images[i]])
    total = 0.0
    for i in range(ctx.moves):
        if codes[i] == 1:
            weights[i] = math.exp(policy[images[i]] - highest)
            total += weights[i]
    for i in range(ctx.moves):
        if codes[i] == 1:
            codes[i] = encode_prior(weights[i] / total)


@kernel_part
def insert(tree, ctx, scratch, leaf):
    """Give the leaf its evaluation and count the visit on its path."""
    index = np.int64(leaf.nodes[leaf.depth])
    node = tree.nodes[index]
    before = averages(node)
    row = tree.priors[index]
    for i in range(len(row)):
        row[i] = leaf.codes[i]
    find_next(node, row)
    node.state = EXPANDED
    set_values(tree, ctx, index, leaf)
    count_own_evaluation(ctx, tree.biases, node)
    back_up(tree.nodes, tree.links, tree.biases, ctx, scratch, leaf, before)


@kernel
def set_values(tree, ctx, index, leaf):
    """Set a node's own evaluation, its priors aside."""
    node = tree.nodes[index]
    values = leaf.values
    node.own_win_loss = values[WIN_LOSS]
    node.own_no_result = values[NO_RESULT]
    node.own_score = values[SCORE]
    node.own_score_sq = values[SCORE_SQ]
    node.own_lead = values[LEAD]
    node.own_winloss_error = values[WINLOSS_ERROR]
    node.own_score_error = values[SCORE_ERROR]
    set_own_evaluation(ctx, node)
    if len(tree.ownership) == len(tree.nodes):
        node.flags |= HAS_OWNERSHIP
        for i in range(ctx.moves - 1):
            tree.ownership[index, i] = leaf.ownership[i]


@kernel_part
def insert_all(tree, ctx, work, leaves):
    """`insert` the first `leaves` leaves. Returns how many of them count as visits of the root."""
    counted = 0
    for i in range(leaves):
        leaf = work.leaves[i]
        insert(tree, ctx[0], work.scratch[0], leaf)
        if leaf.floor == 0:
            counted += 1
    return counted


@kernel
def digest_all(ctx, work, chosen, count, policy, value, score, ownership, symmetries, images):
    """`digest` row i of an evaluation for the i-th of the `count` leaves in `chosen`, seen under `symmetries[i]`."""
    for i in range(count):
        leaf = work.leaves[chosen[i]]
        image = images[symmetries[i]]
        digest(ctx[0], work.scratch[0], leaf, policy[i], value[i], score[i], ownership[i], image)
