"""Searching with an evaluator that says the same of every position: what the tree costs by itself.

Everything happens inside the kernels, without input, output or a network; for measurements and tests.
"""

from __future__ import annotations

from go_rules.machine.jit import kernel
from search.puct.context import SCORE_ERROR, VALUES, WINLOSS_ERROR
from search.puct.leaves.path import mark_banned
from search.puct.tree.expand import insert_all, mark_legal
from search.puct.tree.nodes import encode_prior
from search.puct.tree.select import UNCOUNTED, select


@kernel
def evaluate_constantly(ctx, leaf, policy):
    """The game is even, and moves are as good as `policy` [P] says wherever they are legal."""
    mark_banned(ctx, leaf)
    mark_legal(ctx, leaf)
    total = 0.0
    for i in range(ctx.moves):
        total += leaf.codes[i] * policy[i]
    for i in range(ctx.moves):
        if leaf.codes[i] == 1:
            leaf.codes[i] = encode_prior(policy[i] / total)
    for i in range(VALUES):
        leaf.values[i] = 0.0
    leaf.values[WINLOSS_ERROR] = -1.0
    leaf.values[SCORE_ERROR] = -1.0


@kernel
def search_constantly(tree, ctx, work, policy, visits):
    """Search with `evaluate_constantly` for so many visits of the root. Returns the visits made."""
    done = 0
    while done < visits:
        leaves, counted, outcome = select(tree, ctx, work, 1, visits - done)
        done += counted
        if leaves == 1:
            evaluate_constantly(ctx[0], work.leaves[0], policy)
            done += insert_all(tree, ctx, work, 1)
        elif counted == 0 and outcome != UNCOUNTED:
            break
    return done
