"""The end of the evaluation stage: from the network's answer to what the tree and the cache keep of it."""

from __future__ import annotations

import math

import numpy as np

from go_rules.board import is_legal
from go_rules.points import WHITE
from go_rules.scoring import score_range
from nets import evaluator as net
from nobi_machine.jit import kernel, kernel_for_python, kernel_part
from search.nobi.memory.context import LEAD, NO_RESULT, SCORE, SCORE_ERROR, SCORE_SQ, WIN_LOSS, WINLOSS_ERROR
from search.nobi.mirror import favour_mirror_moves, with_centre
from search.nobi.tree.nodes import encode_prior


@kernel_for_python
def digest_evaluation(ctx, work, chosen, symmetries, permutations, count, policy, value, score, ownership):
    """Write row i of an evaluation into the i-th of the `count` leaves listed in `chosen`, for all i.

    The network saw that leaf under the symmetry `symmetries[i]`, a row of `permutations`.
    """
    for i in range(count):
        leaf = work.leaves[chosen[i]]
        permutation = permutations[symmetries[i]]
        _digest_row(ctx[0], work.scratch[0], leaf, policy[i], value[i], score[i], ownership[i], permutation)


@kernel_part
def _digest_row(ctx, scratch, leaf, policy, value, score, ownership, permutations):
    """Write one evaluation into the leaf: its priors as codes, its values and its ownership.

    `policy` [P] logits, `value` [3], `score` [6] and `ownership` [H*W] are the side to move's, of the leaf's position
    under a symmetry that shows move i at `permutations[i]`.
    """
    pos = leaf.stack[leaf.last]
    _set_priors(ctx, scratch, leaf, policy, permutations)
    sign = 1.0 if pos.to_play == WHITE else -1.0
    low, high = score_range(ctx.rules, pos)
    mean = min(high, max(low, np.float32(sign) * score[net.SCORE_MEAN]))
    stdev = min(np.float32(0.5) * (high - low), score[net.SCORE_STDEV])
    leaf.values[WIN_LOSS] = sign * (value[net.WIN] - value[net.LOSS])
    if ctx.settings.mirroring != 0:
        centre = sign * ownership[permutations[len(ownership) // 2]]
        decided = value[net.WIN] + value[net.LOSS]
        leaf.values[WIN_LOSS] = with_centre(ctx, pos, leaf.values[WIN_LOSS], decided, centre)
    leaf.values[NO_RESULT] = value[net.NO_RESULT]
    leaf.values[SCORE] = mean
    leaf.values[SCORE_SQ] = mean * mean + stdev * stdev
    leaf.values[LEAD] = min(high, max(low, np.float32(sign) * score[net.LEAD]))
    leaf.values[WINLOSS_ERROR] = score[net.SHORTTERM_WINLOSS_ERROR]
    leaf.values[SCORE_ERROR] = score[net.SHORTTERM_SCORE_ERROR]
    for i in range(len(ownership)):
        leaf.ownership[i] = np.int8(round(sign * 127.0 * min(1.0, max(-1.0, ownership[permutations[i]]))))


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
        if leaf.banned[point] == 1:
            continue
        if filtered and leaf.depth < ctx.until[colour, point]:
            continue
        if is_legal(pos, point, colour, rules):
            leaf.codes[i] = 1
            count += 1
    return count


@kernel
def _set_priors(ctx, scratch, leaf, policy, permutations):
    """Set the leaf's codes to the softmax of the logits over its legal moves, mixed with a uniform policy
    (`uniform_share`)."""
    count = mark_legal(ctx, leaf)
    codes = leaf.codes
    weights = scratch.weights
    highest = np.float32(-np.inf)
    for i in range(ctx.moves):
        if codes[i] == 1:
            highest = max(highest, policy[permutations[i]])
    total = 0.0
    for i in range(ctx.moves):
        if codes[i] == 1:
            weights[i] = math.exp(policy[permutations[i]] - highest)
            total += weights[i]
    learnt = 1.0 - ctx.uniform_share
    uniform = ctx.uniform_share / max(1, count)
    for i in range(ctx.moves):
        if codes[i] == 1:
            weights[i] = learnt * (weights[i] / total) + uniform
    if ctx.settings.mirroring != 0:
        favour_mirror_moves(ctx, leaf, weights)
    for i in range(ctx.moves):
        if codes[i] == 1:
            codes[i] = encode_prior(weights[i])
