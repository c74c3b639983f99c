"""When a search by playouts passes or gives up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex, to_vertex
from go_rules.rule_names import PRESETS
from search.result import RESIGN, MoveInfo, SearchResult
from search.textbook.parameters import UctParameters
from search.textbook.players import choose_point
from tests.go_rules.diagrams import game_from
from tests.search.searches import move_info, search_result

CHINESE = PRESETS["chinese-ogs"][0]
JAPANESE = PRESETS["japanese"][0]


FINISHED = """
    . X . X O . .
    X X X X O . .
    . X . X O O O
    X X X X O . .
    . X . X O . .
    X X X X O O O
    . X . X O . .
"""


def result_for(
    game: Game, ownership: float, *moves: MoveInfo, winrate: float = 0.5, visits: int = 5000
) -> SearchResult:
    points = board_points(game.width, game.height)
    board = game.position["board"]
    sign = [1 if board[p] == game.to_play else -1 for p in points]
    owned = np.array(sign, np.float32) * ownership
    return search_result(game.to_play, *moves, visits=visits, winrate=winrate, ownership=owned)


def info(vertex: str, visits: int) -> MoveInfo:
    return move_info(from_vertex(vertex, 7, 7), visits)


def test_a_won_and_finished_game_is_passed() -> None:
    game = game_from(FINISHED, BLACK, CHINESE, 0.5)
    moves = (info("F7", 900), info("pass", 10))
    assert choose_point(game, result_for(game, 1.0, *moves), UctParameters()) == PASS
    # Not settled: play on.
    assert to_vertex(choose_point(game, result_for(game, 0.5, *moves), UctParameters()), 7) == "F7"
    # Lost by count: play on, too.
    game.set_komi(20.5)
    assert to_vertex(choose_point(game, result_for(game, 1.0, *moves), UctParameters()), 7) == "F7"


def test_a_pass_is_answered_only_when_the_count_is_won() -> None:
    game = game_from(FINISHED, BLACK, CHINESE, 0.5)
    moves = (info("F7", 900), info("pass", 10))
    game.play(BLACK, PASS)
    assert game.score() < 0
    assert to_vertex(choose_point(game, result_for(game, 0.5, *moves), UctParameters()), 7) == "F7"
    game.set_komi(30.5)
    assert choose_point(game, result_for(game, 0.5, *moves), UctParameters()) == PASS


TWO_GROUPS = """
    . O X . X O .
    O O X X X O O
    . O X . X O .
    O O X X X O O
    . O X . X O .
    O O X X X O O
    . O X . X O .
"""


def test_group_tax_counts_before_a_pass() -> None:
    """White has seven points more than black, and pays for two groups where black pays for one."""
    moves = (info("A7", 900), info("pass", 10))
    for rules, wins in (("stone-scoring", False), ("chinese", True)):
        game = game_from(TWO_GROUPS, BLACK, PRESETS[rules][0], -6.0)
        game.play(BLACK, PASS)
        assert (game.score() > 0) is wins
        assert (choose_point(game, result_for(game, 0.5, *moves), UctParameters()) == PASS) is wins


def test_resigning() -> None:
    game = game_from(FINISHED, BLACK, CHINESE, 20.5)
    moves = (info("F7", 900),)
    lost = result_for(game, 1.0, *moves, winrate=0.01)
    assert choose_point(game, lost, UctParameters()) != RESIGN, "too early in the game"
    for _ in range(3):
        game.play(BLACK, PASS)
        game.play(WHITE, from_vertex("F7", 7, 7)) if not game.moves[1:] else game.play(WHITE, PASS)
    lost = result_for(game, 0.5, *moves, winrate=0.01)
    assert choose_point(game, lost, UctParameters()) == RESIGN
    assert choose_point(game, replace(lost, visits=10), UctParameters()) != RESIGN
    assert choose_point(game, lost, UctParameters(resign_winrate=0.0)) != RESIGN
