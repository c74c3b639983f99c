"""The child that compiles ahead compiles what a search calls, that is, for the same types, and ends with its parent."""

from __future__ import annotations

import subprocess
import sys

from tests.search.searches import RECORD
from tests.systems import PATIENCE

AHEAD = """
from search.nobi.compile_ahead import compile_all
compile_all()
print("\\n".join(map(repr, asked)))
"""
PLAYER = """
from nets.evaluator import ConstantEvaluator
from search.nobi.player import PuctPlayer
player = PuctPlayer(ConstantEvaluator())
player.warm_up(19, 19)
player.close()
print("\\n".join(map(repr, asked)))
"""


def kernels_asked_for(script: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", RECORD + script], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_it_compiles_what_a_player_asks_for() -> None:
    ahead = kernels_asked_for(AHEAD)
    wanted = kernels_asked_for(PLAYER)
    assert wanted
    assert set(wanted) <= set(ahead)


def test_what_takes_longest_comes_first() -> None:
    names = [line.split("'")[1] for line in kernels_asked_for(AHEAD)]
    first = {name: names.index(name) for name in set(names)}
    others = (
        "search.nobi.tree.reuse._recompute",
        "search.nobi.tree.reuse._adopt",
        "search.nobi.tree.rank.rank_root",
        "search.nobi.tree.rank.variations",
    )
    longest = ("go_rules.tactics.ladder.find_ladders", "search.nobi.iteration.advance_tree")
    assert all(
        first[name] > first[each] for name in (*others, "search.nobi.iteration.encode_leaves") for each in longest
    )


def test_the_parent_takes_over_the_ends() -> None:
    """So that it need not wait for the child where its network is ready before."""
    script = AHEAD.replace("compile_all", "compile_ends")
    names = {line.split("'")[1] for line in kernels_asked_for(script)}
    assert {"search.nobi.tree.rank.rank_root", "search.nobi.tree.reuse._adopt", "search.nobi.root.expand_root"} <= names
    assert not {"search.nobi.iteration.advance_tree", "search.nobi.iteration.encode_leaves"} & names


def test_it_ends_with_its_parent() -> None:
    child = subprocess.Popen([sys.executable, "-m", "search.nobi.compile_ahead"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(PATIENCE) == 0
