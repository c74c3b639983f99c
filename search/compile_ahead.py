"""Compiling in a second process, on a machine that has not played yet.

Only one thread of a process can compile. While this one compiles the descent, half of all the work, a child compiles
the other half, and each finds the other's kernels in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np

import go_rules.jit
from go_rules.game import Game
from go_rules.points import BLACK
from nets.constant import ConstantEvaluator
from search.parameters import SearchParameters
from search.reuse import collect_garbage, forget_unreachable, recompute, settle
from search.root import place_root
from search.root_moves import excluded_until
from search.search import Search, available_cores
from search.tree import ROOT, clear_tree, new_node
from search.workspace import Workspace

SIDE = 9
MEMORY = 16
"""Megabytes: enough for a tree and a cache that stay empty."""

_child: subprocess.Popen[bytes] | None = None
"""Kept, since it ends when our end of its pipe is closed: at the latest with this process."""


def help_compiling() -> None:
    """Start the child, once, if this process had to compile the rules: then it will have to compile the search too."""
    global _child
    if _child is not None or go_rules.jit.compilations == 0 or available_cores() < 2:
        return
    command = [sys.executable, "-m", "search.compile_ahead"]
    try:
        _child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        return


def compile_all() -> None:
    """Have every kernel of a search compiled, those that the first descent does not call before all others."""
    parameters = SearchParameters(memory=MEMORY, cache_memory=MEMORY, workers=1)
    _compile_all_but_descent(Workspace(SIDE, SIDE, parameters, ConstantEvaluator(), 1, 0, True))
    search = Search(ConstantEvaluator(), parameters)
    search.warm_up(SIDE, SIDE)
    search.close()


def _compile_all_but_descent(space: Workspace) -> None:
    """Call the kernels for no leaves at all, in the order in which a search comes to them."""
    desk, tree = space.desks[0], space.tree
    place_root(space.context, Game(SIDE, SIDE), BLACK, excluded_until(None))
    clear_tree(tree)
    tree.used[ROOT] = new_node(tree, np.uint64(0), BLACK)
    space.evaluate_missing(desk)
    forget_unreachable(tree, space.context)
    settle(tree)
    recompute(tree, space.context)
    collect_garbage(tree)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compile_all()
