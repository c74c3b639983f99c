"""Memory of a search: when it is full, when it cannot be had, what is dropped, and that no two boards hold it."""

from __future__ import annotations

import dataclasses
import weakref

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE
from go_rules.rule_names import preset
from nets.evaluator import ConstantEvaluator
from search.nobi.leaves.nn_cache import Cache, new_cache
from search.nobi.memory.context import Work, new_work
from search.nobi.memory.workspace import Workspace
from search.nobi.tree.nodes import NODES
from search.request import Limits, SearchRequest
from search.result import StopReason
from tests.search.evaluators import FancifulEvaluator
from tests.search.searches import Maker, tree_of, visits

CHINESE = preset("chinese-ogs")[0]


def test_full_memory_ends_the_search_and_not_the_engine(make: Maker) -> None:
    player = make(ConstantEvaluator(), memory=16, graph_search=False)
    game = Game(19, 19, CHINESE)
    endless = Limits(visits=10**9, seconds=60, may_stop_early=False)
    result = player.search(SearchRequest(game, BLACK, endless))
    assert result.reason is StopReason.MEMORY
    assert result.visits > 10_000
    assert player.search(SearchRequest(game, BLACK, endless)).reason is StopReason.MEMORY
    game.play(BLACK, player.choose(game, result))
    # What the move made useless is dropped, and there is room again.
    after = player.search(SearchRequest(game, WHITE, visits(result.visits // 2)))
    assert after.new_visits > 0


def test_without_memory_the_former_settings_play_on(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a setting for which there is no memory nor the search after it leaves an engine that cannot play."""
    player = make(ConstantEvaluator())
    player.search(SearchRequest(Game(5, 5), BLACK, visits(10)))
    former = player.parameters

    def reserve(batch: int, seed: int) -> Work:
        if batch > 64:
            raise MemoryError
        return new_work(batch, seed)

    monkeypatch.setattr("search.nobi.memory.workspace.new_work", reserve)
    player.parameters = dataclasses.replace(former, batch=65, cpuct=2.0)
    for size in (5, 7):
        assert player.search(SearchRequest(Game(size, size), BLACK, visits(10))).visits == 10
    assert player.parameters == dataclasses.replace(former, cpuct=2.0)


def test_a_process_that_is_given_more_cores_searches_on(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the threads is made once."""
    monkeypatch.setattr("search.nobi.search.usable_cores", lambda: 1)
    player = make(ConstantEvaluator(), workers=0)
    for cores in (1, 2, 3):
        monkeypatch.setattr("search.nobi.search.usable_cores", lambda cores=cores: cores)
        assert player.search(SearchRequest(Game(5, 5), BLACK, visits(20 + cores))).visits == 20 + cores
    assert player.searcher.workers == 1


def test_a_cache_that_cannot_be_reserved_is_smaller(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def scarce(points: int, memory: int) -> Cache:
        asked.append(memory)
        if memory > asked[0] // 4:
            raise MemoryError
        return new_cache(points, memory)

    monkeypatch.setattr("search.nobi.memory.workspace.new_cache", scarce)
    player = make(ConstantEvaluator(), cache_memory=16)
    assert player.search(SearchRequest(Game(5, 5), BLACK, visits(10))).visits == 10
    assert asked == [16 << 20, 8 << 20, 4 << 20]


def test_two_boards_trees_are_never_held_at_once(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be as large as all the memory that was allowed."""
    player = make(ConstantEvaluator(), workers=2)
    held: list[weakref.ref[Workspace]] = []
    alive: list[bool] = []

    class Watched(Workspace):
        def __init__(self, *arguments: object) -> None:
            alive.append(bool(held) and held[-1]() is not None)
            held.append(weakref.ref(self))
            super().__init__(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("search.nobi.search.Workspace", Watched)
    for size in 10 * (5, 7):
        player.search(SearchRequest(Game(size, size), BLACK, visits(20)))
        player.warm_up(5, 5)
    assert alive == [False] * len(alive)
    assert len(alive) > 20


def test_no_garbage_is_collected_where_the_clock_has_no_time_for_it(make: Maker) -> None:
    player = make(ConstantEvaluator(), memory=16, graph_search=False)
    game = Game(19, 19, CHINESE)
    result = player.search(SearchRequest(game, BLACK, Limits(may_stop_early=False)))
    assert result.reason is StopReason.MEMORY
    tree = tree_of(player)
    used = int(tree.space.tree.used[NODES])
    game.play(BLACK, result.moves[0].point)
    tree.slowness = 1e9
    hurried = player.search(SearchRequest(game, WHITE, Limits(seconds=60.0, may_stop_early=False)))
    assert hurried.reason is StopReason.MEMORY
    assert int(tree.space.tree.used[NODES]) == used
    assert tree.slowness > 1e6
    # Nobody waits for a search without a limit, and it measures how long collecting takes.
    player.search(SearchRequest(game, WHITE, Limits(visits=hurried.visits + 1)))
    assert int(tree.space.tree.used[NODES]) < used
    assert tree.slowness < 1e6


def test_a_tree_does_not_keep_what_was_not_played(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead nodes would be brought up to date with the others before each search, and fill the tree in the end."""
    monkeypatch.setattr("search.nobi.game_tree.FEWEST_DROPPED", 50)
    player = make(FancifulEvaluator())
    game = Game(7, 7)
    made, most = 0, 0
    for _ in range(20):
        found = player.search(SearchRequest(game, game.to_play, Limits(visits=200, seconds=60.0, may_stop_early=False)))
        assert found.reason is StopReason.VISITS
        made += found.new_visits
        most = max(most, int(tree_of(player).space.tree.used[NODES]))
        game.play(found.colour, found.moves[0].point)
    assert made > 2000
    assert most < 800
