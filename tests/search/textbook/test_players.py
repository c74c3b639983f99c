"""What holds for every player of the textbook: limits, reports, the tree that is kept, excluded moves, whole games."""

from __future__ import annotations

import hashlib
import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex
from go_rules.rule_names import PRESETS, preset
from search.nobi.player import PolicyPlayer
from search.player import Player
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import RESIGN, SearchResult, StopReason
from search.textbook.players import TEXTBOOK
from tests.go_rules.diagrams import game_from, play_all
from tests.search.evaluators import CountingEvaluator, FancifulEvaluator
from tests.search.searches import SMALL
from tests.search.textbook.making import player_of, search
from tests.systems import PATIENCE

TREES = ("uct", "rave", "alphago", "puct", "gumbel")
SEARCHES = ("mc", *TREES)
"""Those that go on as long as they may. `value` ends when it has tried each move, and `random` does not search."""

CHINESE = PRESETS["chinese-ogs"][0]


# --- The same search --------------------------------------------------------------------------------------------------

SIGNATURES = {
    "random": "b49135e1c35d",
    "mc": "cb7fa7e04902",
    "uct": "a59a79d4fd55",
    "rave": "62f7f93d6973",
    "policy": "fe1d8921f83d",
    "value": "02d7ad2cf803",
    "alphago": "8c9f05c463ad",
    "puct": "539896c8861d",
    "gumbel": "d590516c3655",
}
"""Of `signature`. A change of behaviour changes one, on purpose; a refactoring must not."""


def signature(player: Player) -> str:
    """The visits of a few searches and the moves chosen after them."""
    digest = hashlib.sha256()
    for size, rules in ((5, "chinese"), (7, "tromp-taylor"), (5, "japanese")):
        game = Game(size, size, preset(rules)[0], 6.5)
        player.clear()
        for _ in range(4):
            result = search(player, game, 300)
            for point, visits in sorted((move.point, move.visits) for move in result.moves):
                digest.update(f"{point} {visits};".encode())
            point = player.choose(game, result)
            digest.update(f"{point};".encode())
            game.play(game.to_play, PASS if point == RESIGN else point)
    return digest.hexdigest()[:12]


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_search_is_what_it_was(name: str) -> None:
    evaluator = CountingEvaluator()
    player = PolicyPlayer(evaluator, SMALL) if name == "policy" else player_of(name, evaluator)
    assert signature(player) == SIGNATURES[name]


@pytest.mark.parametrize("name", TEXTBOOK)
def test_the_same_seed_gives_the_same_search(name: str) -> None:
    noise = {"dirichlet_noise": True, "gumbel_noise": True} if name in ("alphago", "puct", "gumbel") else {}
    found = []
    for seed in (1, 1, 2):
        player = player_of(name, FancifulEvaluator(), seed=seed, **noise)
        game = Game(5, 5)
        results = [search(player, game, 100)]
        game.play(BLACK, player.choose(game, results[0]))
        results.append(search(player, game, 150))
        found.append([(move.point, move.visits, move.winrate) for result in results for move in result.moves])
    assert found[0] == found[1] != found[2]


# --- Limits and reports -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SEARCHES, "value"])
@pytest.mark.parametrize("visits", [1, 2, 16])
def test_visits_are_exact(name: str, visits: int) -> None:
    player = player_of(name)
    result = search(player, Game(5, 5), visits)
    assert (result.visits, result.new_visits, result.reason) == (visits, visits, StopReason.VISITS)
    assert result.moves
    assert player.search(SearchRequest(Game(5, 5), BLACK, Limits(playouts=3))).new_visits == 3


@pytest.mark.parametrize("name", ["mc", "uct", "rave", "alphago", "puct"])
def test_a_time_limit_and_reports(name: str) -> None:
    seen: list[SearchResult] = []
    stop = threading.Event()

    def report(result: SearchResult) -> None:
        seen.append(result)
        if len(seen) == 3:
            stop.set()

    player = player_of(name)
    player.warm_up(9, 9)
    request = SearchRequest(Game(9, 9), BLACK, report=ReportRequest(report, 0.05, ownership=True), stop=stop)
    result = player.search(replace(request, analysis=True))
    assert len(seen) >= 3
    assert all(a.visits <= b.visits for a, b in itertools.pairwise([*seen, result]))
    for each in (*seen, result):
        assert each.ownership is not None
        assert each.ownership.shape == (81,)
        assert np.abs(each.ownership).max() <= 1.0 + 1e-6
    seen.clear()
    once = ReportRequest(seen.append, every=PATIENCE, first=0.0)
    limits = Limits(seconds=0.3, may_stop_early=False)
    assert player.search(SearchRequest(Game(9, 9), BLACK, limits, report=once)).reason == StopReason.TIME
    assert len(seen) == 1


@pytest.mark.parametrize("name", SEARCHES)
def test_a_stop_is_noticed(name: str) -> None:
    player = player_of(name)
    player.warm_up(9, 9)
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    result = player.search(SearchRequest(Game(9, 9), BLACK, stop=stop, analysis=True))
    assert result.reason == StopReason.INTERRUPTED
    assert player.search(SearchRequest(Game(5, 5), BLACK, stop=stop, analysis=True)).moves, "one before the start too"


@pytest.mark.parametrize("name", SEARCHES)
def test_after_an_error_in_a_report_no_thread_works_on(name: str) -> None:
    def fail(_result: SearchResult) -> None:
        raise RuntimeError("not today")

    player = player_of(name, workers=2)
    with pytest.raises(RuntimeError, match="not today"):
        player.search(SearchRequest(Game(9, 9), BLACK, report=ReportRequest(fail, 0.02), analysis=True))
    assert search(player, Game(9, 9), 50).new_visits >= 45
    closing = threading.Thread(target=player.close, daemon=True)
    closing.start()
    closing.join(PATIENCE)
    assert not closing.is_alive()


CAPTURE = """
    . . . . .
    O O O O O
    X X X X .
    X X X X O
    X O O O .
"""


@pytest.mark.parametrize("name", ["mc", "uct", "rave", "puct", "alphago"])
@pytest.mark.parametrize("early_stop", [True, False])
def test_a_decided_search_ends_early(name: str, early_stop: bool) -> None:
    """White takes half the board, or loses it. With a network only the clock may end a search early."""
    player = player_of(name, CountingEvaluator(), early_stop=early_stop)
    player.warm_up(5, 5)
    limits = Limits(visits=4000, seconds=None if player.evaluator is None else 3600.0)
    result = player.search(SearchRequest(game_from(CAPTURE, WHITE, CHINESE, 0.5), WHITE, limits))
    assert (result.reason == StopReason.DECIDED) == early_stop
    assert (result.visits < 4000) == early_stop


# --- The tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_the_tree_is_kept(name: str) -> None:
    player = player_of(name)
    game = Game(5, 5)
    first = search(player, game, 600).moves[0]
    game.play(BLACK, first.point)
    kept = search(player, game, 2)
    assert (kept.visits, kept.new_visits) == (first.visits, 0)
    assert search(player, game, 100, fresh=True).new_visits == 100
    game.undo()
    assert search(player, game, 10).new_visits == 10, "nothing leads back"
    game.set_komi(0.5)
    assert search(player, game, 10).new_visits == 10, "another komi is another tree"
    result = player.search(SearchRequest(game, WHITE, Limits(visits=10)))
    assert (result.colour, result.new_visits) == (WHITE, 10), "and so is another colour to move"


@pytest.mark.parametrize("name", [*SEARCHES, "value"])
def test_moves_may_be_excluded(name: str) -> None:
    player = player_of(name)
    game = Game(5, 5)
    corner, centre = from_vertex("A1", 5, 5), from_vertex("C3", 5, 5)
    only = MoveFilter(allow={BLACK: (frozenset({corner}), 1)})
    assert [move.point for move in search(player, game, 100, filter=only).moves] == [corner]
    assert len(search(player, game, 100).moves) == 26, "nothing is left of the search before"
    never = MoveFilter(avoid={BLACK: ((frozenset({centre}), 1),)})
    assert centre not in [move.point for move in search(player, game, 100, filter=never).moves]
    nothing = MoveFilter(allow={BLACK: (frozenset(), 1)})
    assert [move.point for move in search(player, game, 20, filter=nothing).moves] == [PASS]
    later = MoveFilter(avoid={WHITE: ((frozenset({centre}), 2),)})
    search(player, game, 100, filter=later)
    game.play(BLACK, corner)
    assert search(player, game, 10, filter=later).new_visits == 10, "the moves are counted from another root"


def test_a_full_tree() -> None:
    """Playouts go on without growing it; a search with a network ends."""
    game = Game(9, 9)
    player = player_of("rave", memory=4, workers=2)
    result = search(player, game, 40000)
    assert 39600 <= result.visits <= 40000, "two threads lose few of each other's updates"
    game.play(BLACK, result.moves[0].point)
    assert search(player, game, 100).moves
    result = search(player_of("puct", memory=4), Game(19, 19), 10**6)
    assert result.reason == StopReason.MEMORY
    assert result.visits > 100


# --- Whole games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTBOOK)
@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese", "aga-button"])
def test_games_are_legal_and_end(name: str, rules: str) -> None:
    player = player_of(name, CountingEvaluator(), **({"resign_winrate": 0.0} if name in ("mc", "uct", "rave") else {}))
    for size in ((5, 5), (2, 3), (1, 1)):
        game = Game(*size, *PRESETS[rules])
        passes = 0
        while passes < 2 and len(game.moves) < 150:
            point = player.choose(game, search(player, game, 30))
            assert game.violation(game.to_play, point) is None
            game.play(game.to_play, point)
            passes = passes + 1 if point == PASS else 0
        assert passes == 2 or player.evaluator is not None or name == "random"


@pytest.mark.parametrize("name", TEXTBOOK)
def test_superko_is_respected(name: str) -> None:
    game = game_from(". X O .\n X . X O\n . X O .", WHITE, CHINESE)
    play_all(game, "W B2")
    result = search(player_of(name), game, 200)
    assert {move.point for move in result.moves} <= set(game.legal_moves(BLACK))
