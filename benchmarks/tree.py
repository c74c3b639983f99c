"""How many visits a second the search tree makes by itself, on one core.

    python benchmarks/tree.py [--size 19] [--visits 200000]

An evaluator that says the same of every position takes no time, so what is measured is selection, playing the moves,
legality, expansion and backup. Two policies: an uneven one, which makes trees of the shape that networks make, and an
even one, which makes wide roots with deep chains below.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK
from nobi_machine.jit import kernel
from nobi_machine.memory import MEGABYTE
from search.nobi.game_tree import place_root
from search.nobi.leaves.digest import mark_legal
from search.nobi.leaves.path import mark_banned
from search.nobi.memory.context import SCORE_ERROR, VALUES, WINLOSS_ERROR, Work, make_settings, new_context, new_work
from search.nobi.parameters import SearchParameters
from search.nobi.tree.backup import expand_and_back_up
from search.nobi.tree.nodes import NODES, ROOT, Tree, clear_tree, encode_prior, new_node, new_tree
from search.nobi.tree.select import UNCOUNTED, select_leaves
from search.request import excluded_until


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=19)
    parser.add_argument("--visits", type=int, default=200_000)
    arguments = parser.parse_args()
    area = arguments.size**2
    generator = np.random.default_rng(1)
    policies = {"uneven": np.exp(2.0 * generator.normal(size=area + 1)), "even": np.ones(area + 1)}
    parameters = SearchParameters()
    tree = new_tree(area, (4 + arguments.visits // 500) * 2 * MEGABYTE)
    context = new_context(arguments.size, arguments.size, parameters.value_weight_exponent)
    context["settings"][0] = make_settings(parameters, area)
    place_root(context, Game(arguments.size, arguments.size), BLACK, excluded_until(None))
    work = new_work(1, 1)
    for name, policy in policies.items():
        measure(tree, context, work, policy.astype(np.float32), 100)
        for visits in (arguments.visits // 20, arguments.visits):
            seconds, nodes = measure(tree, context, work, policy.astype(np.float32), visits)
            print(f"{name:7} policy, {visits:8,} visits: {visits / seconds:9,.0f} visits/s ({nodes:,} nodes)")


def measure(tree: Tree, context: np.ndarray, work: Work, policy: np.ndarray, visits: int) -> tuple[float, int]:
    """Seconds of this thread's processor time, and the nodes of the tree, for so many visits of a new tree."""
    clear_tree(tree)
    tree.used[ROOT] = new_node(tree, np.uint64(0), BLACK)
    started = time.thread_time()
    made = search_constantly(tree, context, work, policy, visits)
    assert made == visits, "the tree is full"
    return time.thread_time() - started, int(tree.used[NODES])


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
        leaves, counted, outcome = select_leaves(tree, ctx, work, 1, visits - done)
        done += counted
        if leaves == 1:
            evaluate_constantly(ctx[0], work.leaves[0], policy)
            done += expand_and_back_up(tree, ctx, work, 1)
        elif counted == 0 and outcome != UNCOUNTED:
            break
    return done


if __name__ == "__main__":
    main()
