"""The playout search: does it find what must be found, and does it keep its word about limits, trees and seeds."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from go_rules.compilation import jit
from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex, point_at, to_vertex
from go_rules.rule_names import PRESETS
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import RESIGN, SearchResult, StopReason
from search.uct.parameters import PURE_UCT, UctParameters
from search.uct.player import UctPlayer
from search.uct.tree import NODE, ROOT, copy_subtree, first_child, new_nodes, number_of_children, pack_children
from tests.go_rules.diagrams import game_from, play_all
from tests.search.playouts.test_ending import FINISHED

CHINESE = PRESETS["chinese-ogs"][0]
JAPANESE = PRESETS["japanese"][0]


@pytest.fixture(scope="module")
def player() -> Iterator[UctPlayer]:
    player = UctPlayer("rave", workers=1, seed=1)
    yield player
    player.close()


def best(player: UctPlayer, game: Game, colour: int, visits: int) -> str:
    player.clear()
    return to_vertex(player.search(SearchRequest(game, colour, Limits(visits=visits))).moves[0].point, game.height)


def test_the_visits_of_a_finished_game_leave_room_for_a_search(player: UctPlayer) -> None:
    """A position of the tree that becomes the root had visits, but no moves, where the game was over in the tree."""
    player.clear()
    game = Game(5, 5, CHINESE)
    game.play(BLACK, PASS)
    player.search(SearchRequest(game, WHITE, Limits(visits=2000, may_stop_early=False)))
    game.play(WHITE, PASS)
    result = player.search(SearchRequest(game, BLACK, Limits(visits=200, may_stop_early=False)))
    assert result.new_visits >= 190
    assert sum(move.visits for move in result.moves) >= 190


# --- Finding moves ------------------------------------------------------------------------------------------------

THREE_IN_A_ROW = """
    . . . X O . O
    X X X X O O .
    O O O O O O O
    O O O O O O O
    O O O O O O O
    O O O O O O O
    O O . O . O O
"""
NINE_STONES = """
    . . . . . . .
    X X X X . . .
    O O O X . . .
    O O O . O . .
    O O O X . . .
    X X X X . . .
    . . . . . . .
"""
PROBLEMS = {
    # (diagram, komi that makes the result depend on it, colour to play, solution)
    "kill three in a row": (THREE_IN_A_ROW, -41.5, WHITE, "B7"),
    "live with three in a row": (THREE_IN_A_ROW, -41.5, BLACK, "B7"),
    "take nine stones": (NINE_STONES, 0.5, BLACK, "D4"),
    "save nine stones": (NINE_STONES, 0.5, WHITE, "D4"),
}


@pytest.mark.parametrize("parameters", [UctParameters(), PURE_UCT], ids=["rave", "uct"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_tactics(name: str, parameters: UctParameters) -> None:
    diagram, komi, colour, vertex = PROBLEMS[name]
    player = UctPlayer(parameters=parameters, workers=1, seed=1)
    assert best(player, game_from(diagram, colour, CHINESE, komi), colour, 3000) == vertex


@pytest.mark.parametrize(("size", "visits"), [(3, 3000), (5, 10000)])
@pytest.mark.parametrize("parameters", [UctParameters(), PURE_UCT], ids=["rave", "uct"])
def test_the_centre_of_small_boards(size: int, visits: int, parameters: UctParameters) -> None:
    player = UctPlayer(parameters=parameters, workers=1, seed=1)
    game = Game(size, size, CHINESE, size * size - 0.5)
    assert best(player, game, BLACK, visits) == ("B2" if size == 3 else "C3")


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 2), (1, 25), (7, 3), (25, 25)])
def test_every_board_and_rule_set(size: tuple[int, int]) -> None:
    """A few moves and the pass under all presets: nothing illegal, always a result."""
    player = UctPlayer(workers=1, seed=1)
    for rules, komi in PRESETS.values():
        game = Game(*size, rules, komi)
        for _ in range(4):
            result = player.search(SearchRequest(game, game.to_play, Limits(visits=20)))
            assert result.moves[-1].point == PASS or len(result.moves) > 1
            point = player.choose(game, result)
            game.play(game.to_play, PASS if point == RESIGN else point)


# --- Limits -------------------------------------------------------------------------------------------------------


def test_visits_are_exact_and_playouts_reproducible() -> None:
    results = []
    for _ in range(2):
        player = UctPlayer(workers=1, seed=7)
        game = Game(9, 9)
        first = player.search(SearchRequest(game, BLACK, Limits(visits=500, may_stop_early=False)))
        assert first.visits == first.new_visits == 500
        game.play(BLACK, first.moves[0].point)
        second = player.search(SearchRequest(game, WHITE, Limits(visits=1000, may_stop_early=False)))
        results.append((first.moves, second.moves, second.ownership))
    assert results[0][:2] == results[1][:2]
    assert (results[0][2] == results[1][2]).all()


def test_different_seeds_differ() -> None:
    leads = {
        UctPlayer(workers=1, seed=seed).search(SearchRequest(Game(9, 9), BLACK, Limits(visits=100))).lead
        for seed in (1, 2)
    }
    assert len(leads) == 2


def test_several_workers_share_one_tree() -> None:
    player = UctPlayer(workers=4, seed=1)
    result = player.search(SearchRequest(Game(9, 9), BLACK, Limits(visits=3000, may_stop_early=False)))
    # Lost updates are rare, and no move is lost or invented.
    assert 2970 <= result.visits <= 3000
    assert abs(sum(move.visits for move in result.moves) - 2999) < 30
    assert sorted(move.point for move in result.moves) == sorted([*board_points(9, 9), PASS])


def test_time_limit_and_reports(player: UctPlayer) -> None:
    seen: list[SearchResult] = []
    player.warm_up(9, 9)
    started = time.perf_counter()
    result = player.search(
        SearchRequest(
            Game(9, 9), BLACK, Limits(seconds=0.5, may_stop_early=False), report=ReportRequest(seen.append, 0.1)
        )
    )
    assert 0.4 < time.perf_counter() - started < 1.5
    assert result.reason == StopReason.TIME
    assert 1 <= len(seen) <= 5
    assert all(a.visits <= b.visits for a, b in itertools.pairwise([*seen, result]))


def test_stop_is_noticed_at_once(player: UctPlayer) -> None:
    player.warm_up(19, 19)
    stop = threading.Event()
    result: list[SearchResult] = []
    thread = threading.Thread(
        target=lambda: result.append(player.search(SearchRequest(Game(), BLACK, Limits(), stop=stop)))
    )
    thread.start()
    time.sleep(0.2)
    asked = time.perf_counter()
    stop.set()
    thread.join()
    assert time.perf_counter() - asked < 0.25  # 50 ms on a quiet machine
    assert result[0].reason == StopReason.INTERRUPTED
    assert result[0].moves


def test_a_stop_before_the_start_still_gives_a_move(player: UctPlayer) -> None:
    stop = threading.Event()
    stop.set()
    assert player.search(SearchRequest(Game(5, 5), BLACK, Limits(), stop=stop)).moves


def test_a_decided_search_ends_early(player: UctPlayer) -> None:
    diagram, komi, colour, vertex = PROBLEMS["take nine stones"]
    game = game_from(diagram, colour, CHINESE, komi)
    player.clear()
    result = player.search(SearchRequest(game, colour, Limits(visits=20000)))
    assert result.reason == StopReason.DECIDED
    assert result.visits < 20000
    assert to_vertex(result.moves[0].point, 7) == vertex


def test_a_full_tree_goes_on_without_growing() -> None:
    player = UctPlayer(parameters=UctParameters(memory_mb=1.0), workers=2, seed=1)
    game = Game(9, 9)
    result = player.search(SearchRequest(game, BLACK, Limits(visits=10000, may_stop_early=False)))
    # Workers share the tree without a lock: now and then two count the same visit.
    assert 9990 <= result.visits <= 10000
    assert all(each.room[0] <= each.room[1] for each in player.buffers)
    game.play(BLACK, result.moves[0].point)
    assert player.search(SearchRequest(game, WHITE, Limits(visits=100))).moves


# --- The tree -----------------------------------------------------------------------------------------------------


def test_the_tree_is_kept_after_moves_of_both_sides(player: UctPlayer) -> None:
    player.clear()
    game = Game(9, 9)
    first = player.search(SearchRequest(game, BLACK, Limits(visits=3000, may_stop_early=False)))
    for point in first.moves[0].pv[:2]:
        game.play(game.to_play, point)
    second = player.search(SearchRequest(game, BLACK, Limits(visits=1)))
    assert second.visits == first.moves[0].pv_visits[1]
    assert second.new_visits == 0
    assert sum(move.visits for move in second.moves) > 0
    game.undo()
    assert player.search(SearchRequest(game, WHITE, Limits(visits=10))).visits == 10


def test_a_fresh_search_knows_nothing(player: UctPlayer) -> None:
    request = SearchRequest(Game(5, 5), BLACK, Limits(playouts=200, may_stop_early=False), fresh=True)
    assert [player.search(request).visits for _ in range(2)] == [200, 200]
    assert player.search(replace(request, fresh=False)).visits == 400


def test_another_komi_is_another_tree(player: UctPlayer) -> None:
    player.clear()
    game = Game(9, 9)
    player.search(SearchRequest(game, BLACK, Limits(visits=300)))
    game.set_komi(0.5)
    assert player.search(SearchRequest(game, BLACK, Limits(visits=10))).visits == 10


def test_either_colour_may_be_asked(player: UctPlayer) -> None:
    game = Game(9, 9)
    game.play(BLACK, point_at(4, 4))
    assert player.search(SearchRequest(game, BLACK, Limits(visits=50))).colour == BLACK


def test_copying_a_subtree() -> None:
    """The copy has the same shape and contents as the original, told as nested lists."""
    rng = np.random.default_rng(1)
    nodes = new_nodes(2000)
    used = 1
    for index in itertools.count():
        if used > 1900 or index >= used:
            break
        number = int(rng.integers(0, 4)) if index else 5
        if number:
            nodes[index]["children"] = pack_children(used, number)
            for child in range(used, used + number):
                nodes[child]["move"] = rng.integers(1, 700)
                nodes[child]["visits"] = rng.integers(1, 1000)
                for name in ("wins", "score", "amaf_visits", "amaf_wins", "prior_visits", "prior_wins"):
                    nodes[child][name] = rng.random()
            used += number

    def told(tree: np.ndarray, index: int) -> tuple[object, ...]:
        children = int(tree[index]["children"])
        first, number = first_child(children), number_of_children(children)
        rest = tuple(tree[index][name].item() for name in NODE.names if name != "children")
        return (*rest, *(told(tree, first + i) for i in range(number)))

    for top in (ROOT, 1, 3):
        target = new_nodes(2000)
        size = copy_subtree(target, nodes, top)
        assert told(target, ROOT) == told(nodes, top)
        assert size <= used


def test_moves_may_be_forbidden(player: UctPlayer) -> None:
    player.clear()
    game = Game(5, 5)
    centre = from_vertex("C3", 5, 5)
    avoid = MoveFilter(avoid={BLACK: ((frozenset({centre}), 1),)})
    result = player.search(SearchRequest(game, BLACK, Limits(visits=500), filter=avoid))
    assert centre not in [move.point for move in result.moves]
    allow = MoveFilter(allow={BLACK: (frozenset({from_vertex("B2", 5, 5), centre}), 1)})
    player.clear()
    result = player.search(SearchRequest(game, BLACK, Limits(visits=500), filter=allow))
    assert {to_vertex(move.point, 5) for move in result.moves if move.visits} <= {"B2", "C3"}


def test_a_search_without_a_filter_keeps_nothing_of_one_with_it(player: UctPlayer) -> None:
    """And the other way round; nor does one that counts the excluded moves from another root."""
    player.clear()
    game = Game(5, 5)
    corner, centre = from_vertex("A1", 5, 5), from_vertex("C3", 5, 5)
    request = SearchRequest(game, BLACK, Limits(visits=300))
    allow = MoveFilter(allow={BLACK: (frozenset({corner}), 1)})
    avoid = MoveFilter(avoid={BLACK: ((frozenset({centre}), 1),)})
    assert [move.point for move in player.search(replace(request, filter=allow)).moves] == [corner]
    assert player.search(request).moves[0].point != corner
    assert centre not in [move.point for move in player.search(replace(request, filter=avoid)).moves]
    later = MoveFilter(avoid={WHITE: ((frozenset({centre}), 2),)})
    player.search(replace(request, filter=later))
    game.play(BLACK, corner)
    assert player.search(replace(request, colour=WHITE, filter=later, limits=Limits(visits=10))).new_visits == 10


def test_where_all_moves_are_forbidden_a_pass_is_reported(player: UctPlayer) -> None:
    player.clear()
    nothing = MoveFilter(allow={BLACK: (frozenset(), 1)})
    result = player.search(SearchRequest(Game(5, 5), BLACK, Limits(visits=50), filter=nothing))
    assert [(move.point, move.visits) for move in result.moves] == [(PASS, 0)]


def test_superko_is_respected(player: UctPlayer) -> None:
    """Retaking a ko, at once and under positional superko."""
    game = game_from(
        """
        . X O . .
        X . X O .
        . X O . .
        . . . . .
        . . . . .
        """,
        WHITE,
        CHINESE,
    )
    play_all(game, "W B4")
    assert not game.is_legal(BLACK, from_vertex("C4", 5, 5))
    player.clear()
    result = player.search(SearchRequest(game, BLACK, Limits(visits=200)))
    assert from_vertex("C4", 5, 5) not in {move.point for move in result.moves}
    legal = set(game.legal_moves(BLACK))
    assert {move.point for move in result.moves} <= legal


# --- Finished games --------------------------------------------------------------------------------------------------


def test_territory_is_not_filled(player: UctPlayer) -> None:
    """Under Japanese rules both sides pass in a finished position, whoever is ahead."""
    for komi in (0.5, 30.5):
        game = game_from(FINISHED, BLACK, JAPANESE, komi)
        for colour in (BLACK, WHITE):
            player.clear()
            result = player.search(SearchRequest(game, colour, Limits(visits=2000)))
            assert player.choose(game, result) == PASS
            game.play(colour, PASS)


def test_the_score_of_a_finished_position(player: UctPlayer) -> None:
    """28 points for black against 21 for white; ownership and lead say so for either side."""
    for rules in (CHINESE, JAPANESE):
        for colour, sign in ((BLACK, 1), (WHITE, -1)):
            game = game_from(FINISHED, colour, rules, 0.5)
            player.clear()
            result = player.search(SearchRequest(game, colour, Limits(visits=2000)))
            assert result.ownership is not None
            assert result.ownership.shape == (49,)
            area = result.ownership.sum() * sign
            assert area == pytest.approx(28 - 21, abs=2.0)
            assert result.score_mean * sign == pytest.approx(-float(game.score()), abs=2.0)


def test_games_end_by_themselves(player: UctPlayer) -> None:
    """Self-play with few visits ends in two passes or a resignation, and area games end with nothing to be taken."""
    quick = UctPlayer(parameters=UctParameters(resign_winrate=0.0), workers=1, seed=3)
    for rules, komi in (PRESETS["chinese-ogs"], PRESETS["japanese"], PRESETS["tromp-taylor"]):
        game = Game(5, 5, rules, komi)
        passes = 0
        while passes < 2:
            point = quick.choose(game, quick.search(SearchRequest(game, game.to_play, Limits(visits=100))))
            game.play(game.to_play, point)
            passes = passes + 1 if point == PASS else 0
            assert len(game.moves) < 150


def test_nothing_compiles_after_warming_up() -> None:
    player = UctPlayer(workers=2, seed=1)
    player.warm_up(9, 9)
    before = jit.compilations
    for rules, komi in PRESETS.values():
        game = Game(6, 5, rules, komi)
        for _ in range(3):
            result = player.search(SearchRequest(game, game.to_play, Limits(visits=200)))
            game.play(game.to_play, result.moves[0].point)
        player.search(SearchRequest(game, 3 - game.to_play, Limits(visits=10, seconds=1.0)))
        player.choose(game, result)
    assert jit.compilations == before
