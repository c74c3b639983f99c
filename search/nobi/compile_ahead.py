"""The program of the second process, which compiles the search's kernels on a machine that has not played yet.

Only one thread of a process can compile: while the parent compiles the rules, opens its network and calibrates it, this
process compiles the search, and each finds the other's kernels in the cache on disk. When its network is ready, the
parent compiles too, from the other end, until the two meet. `compile_beside` in gtp_engine/players.py starts it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK
from go_rules.tactics.ladder import find_ladders
from nets.evaluator import ConstantEvaluator
from nets.features import new_scratch
from nets.native.outputs import LastLayers, finish_batch
from nobi_machine.jit import compile_for
from nobi_machine.streams import guard_stdin
from search.nobi.game_tree import place_root
from search.nobi.iteration import NO_CHECK, SELECT_NOTHING, advance, collect, submit
from search.nobi.leaves.path import graph_key, mark_banned, replay, score_terminal
from search.nobi.memory.workspace import Workspace
from search.nobi.parameters import SearchParameters
from search.nobi.report import MAX_VARIATION
from search.nobi.root import expand_root
from search.nobi.search import Search
from search.nobi.tree import reuse
from search.nobi.tree.nodes import ROOT, clear_tree, new_node
from search.nobi.tree.rank import rank_root, tree_ownership, variations
from search.request import excluded_until

SIDE = 9
PARAMETERS = SearchParameters(memory=16, cache_memory=16, workers=1)
"""Megabytes: enough for a tree and a cache that stay empty."""


def compile_all() -> None:
    """Compile every kernel of a search: ladders, which the parent's encoder needs when the rules are compiled, then
    what takes longest.

    Meanwhile the parent compiles the rules and what its network needs, calibrates it and calls `compile_ends`.
    """
    features = new_scratch()
    compile_for(find_ladders, Game(SIDE, SIDE).position, features.ladder[0], features.ladders)
    _compile_iteration(_small_workspace())
    for compile_some in reversed(_ends()):  # the parent may be at them already
        compile_some()
    _compile_outputs()
    search = Search(ConstantEvaluator(), PARAMETERS)
    search.warm_up(SIDE, SIDE)
    search.close()


def compile_ends() -> None:
    """Compile what the second process comes to last: the leaves of its iteration, then what a grown tree needs."""
    for compile_some in _ends():
        compile_some()


def _ends() -> list[Callable[[], object]]:
    """List what compiles the kernels that the second process comes to last, by calling them for a tree of one node."""
    space = _small_workspace()
    _plant(space)
    tree, contexts, work = space.tree, space.context, space.workers[0].work
    context, scratch, leaf = contexts[0], work.scratch[0], work.leaves[0]
    leaf["stack"][0] = context["roots"][0]
    ranks, none = np.zeros((3, space.area + 1)), np.zeros((0, MAX_VARIATION), np.int64)
    return [
        partial(compile_for, replay, tree.nodes, tree.edges, context, scratch, leaf),
        partial(compile_for, mark_banned, context, leaf),
        partial(compile_for, graph_key, context, scratch, leaf, False, np.uint64(0)),
        partial(compile_for, score_terminal, context, scratch, leaf["stack"][0], tree.nodes[0]),
        partial(expand_root, tree, contexts, work),
        partial(rank_root, tree, contexts, ranks),
        partial(variations, tree, contexts, ranks, none, none, none, np.zeros(0, np.int64)),
        partial(tree_ownership, tree, int(tree.used[ROOT])),
        partial(reuse.warm_up, tree, contexts),
    ]


def _compile_outputs() -> None:
    """Compile the last layers of a network, to which the parent comes last, by calling them for no position at all."""
    row, two = np.zeros(1, np.float32), np.zeros((2, 1), np.float32)
    layers = LastLayers(0, two, row, 0, two, two, row, 0, two, row, row, 0, two)
    pools, policies = np.zeros((1, 1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    finish_batch(layers, pools, policies, two, 0, two, row, two, two, two, two)


def _compile_iteration(space: Workspace) -> None:
    """Compile the kernels of an iteration, by calling them for no leaves at all."""
    _plant(space)
    submit(space, space.workers[0])
    collect(space, space.workers[0])
    advance(space, space.workers[0], SELECT_NOTHING, NO_CHECK)


def _small_workspace() -> Workspace:
    return Workspace(SIDE, SIDE, PARAMETERS, ConstantEvaluator(), 1, 0, True)


def _plant(space: Workspace) -> None:
    """Give the workspace a tree of one node."""
    place_root(space.context, Game(SIDE, SIDE), BLACK, excluded_until(None))
    clear_tree(space.tree)
    space.tree.used[ROOT] = new_node(space.tree, np.uint64(0), BLACK)


def _end_with_parent() -> None:
    """End this process, at once, when the parent's end of the pipe is closed.

    A thread waits for that. But LLVM may keep the interpreter from every thread for seconds, so the system is asked for
    a signal too, which nobody handles, where it can send one.
    """
    stdin = guard_stdin()
    threading.Thread(target=_await_end, args=(stdin,), daemon=True).start()
    if hasattr(os, "O_ASYNC"):
        import fcntl

        fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(stdin, fcntl.F_SETFL, fcntl.fcntl(stdin, fcntl.F_GETFL) | os.O_ASYNC)


def _await_end(stdin: int) -> None:
    while os.read(stdin, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    _end_with_parent()
    compile_all()
