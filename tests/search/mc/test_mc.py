"""Flat Monte Carlo: equal counts, means, limits, and that nothing but the best mean decides."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex, to_vertex
from go_rules.position import new_stack
from go_rules.rule_names import PRESETS
from search.mc.player import MonteCarloPlayer
from search.playouts.parameters import PlayoutParameters
from search.playouts.root import set_root
from search.request import Limits, MoveFilter, ReportRequest, SearchRequest
from search.result import SearchResult, StopReason
from tests.go_rules.diagrams import game_from

CHINESE = PRESETS["chinese-ogs"][0]


def search(player: MonteCarloPlayer, game: Game, visits: int, **more: object) -> SearchResult:
    limits = Limits(visits=visits, may_stop_early=False)
    return player.search(SearchRequest(game, game.to_play, limits, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("visits", [26 * 40, 26 * 40 + 7])
def test_every_move_gets_the_same_number_of_playouts(workers: int, visits: int) -> None:
    player = MonteCarloPlayer(workers=workers, seed=1)
    result = search(player, Game(5, 5), visits)
    counts = sorted(move.visits for move in result.moves)
    assert len(counts) == 26
    assert result.visits == sum(counts) == visits
    assert counts[-1] - counts[0] == (1 if visits % 26 else 0)
    player.close()


def test_the_best_mean_is_played_whatever_the_visits() -> None:
    player = MonteCarloPlayer(workers=1, seed=1)
    result = search(player, Game(5, 5, CHINESE, 24.5), 26 * 200)
    means = [move.winrate for move in result.moves]
    assert means == sorted(means, reverse=True)
    assert np.mean(means) < result.winrate < means[0]
    assert result.winrate == pytest.approx(means[0], abs=0.03)
    assert result.ownership is not None
    assert to_vertex(player.choose(Game(5, 5, CHINESE, 24.5), result), 5) == "C3"


def test_the_same_seed_gives_the_same_search() -> None:
    game = Game(7, 7)
    results = [search(MonteCarloPlayer(workers=1, seed=seed), game, 500).moves for seed in (3, 3, 4)]
    assert results[0] == results[1] != results[2]


def test_a_mean_is_what_its_playouts_say() -> None:
    """Counted again: a value is a win but for the score's small part, and means of moves add up to all playouts."""
    player = MonteCarloPlayer(parameters=PlayoutParameters(score_weight=0.0), workers=1, seed=5)
    result = search(player, Game(5, 5, CHINESE, 7.5), 26 * 50)
    for move in result.moves:
        assert move.winrate * move.visits == pytest.approx(round(move.winrate * move.visits))
    mean = np.average([move.score_mean for move in result.moves], weights=[move.visits for move in result.moves])
    assert result.ownership is not None
    assert mean == pytest.approx(result.ownership.sum() - 7.5, abs=1e-3)


def test_limits_stops_and_reports() -> None:
    player = MonteCarloPlayer(workers=2, seed=1)
    player.warm_up(9, 9)
    seen: list[SearchResult] = []
    limits = Limits(seconds=0.4, may_stop_early=False)
    result = player.search(SearchRequest(Game(9, 9), BLACK, limits, report=ReportRequest(seen.append, 0.1)))
    assert result.reason == StopReason.TIME
    assert seen
    assert all(a.visits <= b.visits for a, b in itertools.pairwise([*seen, result]))
    seen.clear()
    player.search(SearchRequest(Game(9, 9), BLACK, limits, report=ReportRequest(seen.append, every=60.0, first=0.1)))
    assert len(seen) == 1
    player.close()


def test_after_an_error_in_a_report_no_thread_works_on() -> None:
    def fail(_result: SearchResult) -> None:
        raise RuntimeError("not today")

    player = MonteCarloPlayer(workers=2, seed=1)
    with pytest.raises(RuntimeError, match="not today"):
        player.search(SearchRequest(Game(9, 9), BLACK, Limits(), report=ReportRequest(fail, 0.05)))
    assert search(player, Game(9, 9), 500).visits >= 500
    closing = threading.Thread(target=player.close, daemon=True)
    closing.start()
    closing.join(10.0)
    assert not closing.is_alive()


CAPTURE = """
    . . . . .
    O O O O O
    X X X X .
    X X X X O
    X O O O .
"""


def test_a_decided_search_ends_early() -> None:
    """White takes half the board, or loses it. Without `early_stop` every playout is played."""
    game = game_from(CAPTURE, WHITE, CHINESE, 0.5)
    for early_stop in (True, False):
        player = MonteCarloPlayer(parameters=PlayoutParameters(early_stop=early_stop), workers=1, seed=1)
        result = player.search(SearchRequest(game, WHITE, Limits(visits=4000)))
        assert (result.reason == StopReason.DECIDED) == early_stop
        assert (result.visits < 4000) == early_stop
        assert to_vertex(result.moves[0].point, 5) == "E3"


def test_moves_may_be_forbidden() -> None:
    player = MonteCarloPlayer(workers=1, seed=1)
    centre = from_vertex("C3", 5, 5)
    only = MoveFilter(allow={BLACK: (frozenset({centre}), 1)})
    assert [move.point for move in search(player, Game(5, 5), 100, filter=only).moves] == [centre]
    never = MoveFilter(avoid={BLACK: ((frozenset({centre}), 1),)})
    assert centre not in [move.point for move in search(player, Game(5, 5), 100, filter=never).moves]
    nothing = MoveFilter(allow={BLACK: (frozenset(), 1)})
    assert [move.point for move in search(player, Game(5, 5), 100, filter=nothing).moves] == [PASS]


@pytest.mark.parametrize("rules", ["chinese-ogs", "japanese", "tromp-taylor"])
def test_games_end_by_themselves(rules: str) -> None:
    player = MonteCarloPlayer(parameters=PlayoutParameters(resign_winrate=0.0), workers=1, seed=2)
    game = Game(5, 5, *PRESETS[rules])
    passes = 0
    while passes < 2:
        point = player.choose(game, search(player, game, 260))
        assert game.violation(game.to_play, point) is None
        game.play(game.to_play, point)
        passes = passes + 1 if point == PASS else 0
        assert len(game.moves) < 150


def test_a_second_pass_in_a_row_ends_no_game() -> None:
    """Black has passed and is asked for another move: that pass would be its own second, not an answer."""
    game = Game(5, 5)
    game.play(BLACK, PASS)
    root = new_stack(1)[0]
    set_root(root, game, BLACK)
    assert (root["to_play"], root["passes"], root["phase"]) == (BLACK, 0, game.position["phase"])
    set_root(root, game, WHITE)
    assert (root["to_play"], root["passes"]) == (WHITE, 1)


def test_a_lucky_playout_promises_little() -> None:
    """On the empty board each move has two playouts, the best of which were won by the whole board."""
    result = search(MonteCarloPlayer(workers=1, seed=1), Game(9, 9), 164)
    assert max(move.lead for move in result.moves) > 30
    assert abs(result.lead) < 20
    assert 0.2 < result.winrate < 0.8
