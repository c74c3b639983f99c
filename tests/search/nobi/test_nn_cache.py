"""Remembered evaluations, and nodes of other move orders: found where all that matters is the same, nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.rule_names import preset
from search.nobi.game_tree import place_root
from search.nobi.leaves.nn_cache import look_up, new_cache, remember
from search.nobi.leaves.path import graph_key
from search.nobi.memory.context import LEAF, Work, make_settings, new_context, new_work
from search.nobi.parameters import SearchParameters
from search.request import excluded_until
from tests.search.searches import played

SIZE = 5


def work_at(game: Game) -> tuple[np.ndarray, Work]:
    """A context with the game's position as the root, and a worker whose only leaf is the root."""
    context = new_context(SIZE, SIZE, 0.25)
    context["settings"][0] = make_settings(SearchParameters(), SIZE * SIZE)
    place_root(context, game, game.to_play, excluded_until(None))
    work = new_work(1, 1)
    positions = int(context["root_positions"][0])
    work.leaves["stack"][0, :positions] = context["roots"][0, :positions]
    work.leaves["last"] = positions - 1
    work.leaves["stones"] = context["root_stones"]
    work.leaves["most_stones"] = context["most_stones"]
    return context, work


def game_of(moves: str, rules: str = "chinese-ogs") -> Game:
    return played(Game(SIZE, SIZE, preset(rules)[0], 7.5), moves)


BASE = "C3 C2 B2 D2"
OTHERS = {
    "same": (BASE, True),
    "other stones": ("C3 C2 B2 D3", False),
    "other side to move": ("C3 C2 B2 D2 pass", False),
    "other order of moves": ("B2 C2 C3 D2", False),
}


@pytest.mark.parametrize(("moves", "found"), OTHERS.values(), ids=OTHERS.keys())
def test_found_where_everything_is_the_same(moves: str, found: bool) -> None:
    cache = new_cache(SIZE * SIZE, 1 << 20)
    keys, missing = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    context, work = work_at(game_of(BASE))
    assert look_up(cache, context, work, 1, keys, missing) == 1
    work.leaves["codes"][0, : SIZE * SIZE + 1] = np.arange(1, SIZE * SIZE + 2)
    work.leaves["values"] = np.arange(7)
    work.leaves["ownership"][0, : SIZE * SIZE] = -5
    remember(cache, context, work, keys, missing, 1)

    context, again = work_at(game_of(moves))
    assert look_up(cache, context, again, 1, keys, missing) == (0 if found else 1)
    if found:
        for name in ("codes", "values", "ownership"):
            assert (again.leaves[name] == work.leaves[name]).all()


def test_not_used_while_moves_are_excluded() -> None:
    cache = new_cache(SIZE * SIZE, 1 << 20)
    keys, missing = np.zeros(1, np.uint64), np.zeros(1, np.int64)
    context, work = work_at(game_of(BASE))
    context["settings"]["has_filter"] = 1
    assert look_up(cache, context, work, 1, keys, missing) == 1
    remember(cache, context, work, keys, missing, 1)
    assert not cache.keys.any()


@pytest.mark.parametrize("memory", [0, 10_000, 1 << 20])
def test_memory_is_bounded(memory: int) -> None:
    cache = new_cache(361, memory)
    assert sum(array.nbytes for array in cache) <= max(memory, 4 * 1200)
    assert LEAF.itemsize < 64_000


def key_in_graph(moves: str, rules: str) -> int:
    context, work = work_at(game_of(moves, rules))
    return int(graph_key(context[0], work.scratch[0], work.leaves[0], False, np.uint64(0)))


@pytest.mark.parametrize(("rules", "are_one"), [("aga-button", False), ("tromp-taylor", True)])
def test_nodes_are_one_only_if_the_same_side_has_the_button(rules: str, are_one: bool) -> None:
    """Black or white passes first; the stones, the side to move and the number of passes are the same in the end."""
    black_has_it, white_has_it = "pass pass B2 D4", "B2 pass pass D4"
    assert (key_in_graph(black_has_it, rules) == key_in_graph(white_has_it, rules)) is are_one
