"""A search finds what must be found: captures, ends, superko, whole games, any board."""

from __future__ import annotations

import dataclasses
import random

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex, to_vertex
from go_rules.rule_names import preset
from go_rules.rules import KO_SIMPLE
from nets.evaluator import ConstantEvaluator
from search.nobi.tree.nodes import NODES, TERMINAL
from search.request import Limits, SearchRequest
from tests.go_rules.diagrams import game_from
from tests.search.evaluators import CountingEvaluator, FancifulEvaluator
from tests.search.searches import Maker, edges_of, tree_of, visits

TROMP_TAYLOR = preset("tromp-taylor")[0]
CHINESE = preset("chinese-ogs")[0]


SHARED_LIBERTY = """
    O O X X
    O . X X
    X X O O
    . . . .
"""
EYES = """
    X X O .
    . X O O
    X X O .
    . X O O
"""
THREE_IN_A_ROW = """
    . . . O X
    O O O O X
    X X X X X
    X . X . X
    X X X X .
"""
PROBLEMS = {
    # board, to play, komi, visits, solution, the winrate that it has at least
    "black takes the other chain": (SHARED_LIBERTY, BLACK, 0.0, 1500, "B3", 0.0),
    "white takes the other chain": (SHARED_LIBERTY, WHITE, 0.0, 1500, "B3", 0.0),
    "no own eye is filled": (EYES, BLACK, -0.5, 1500, "pass", 0.9),
    "kill three in a row": (THREE_IN_A_ROW, BLACK, 12.5, 4000, "B5", 0.0),
    "live with three in a row": (THREE_IN_A_ROW, WHITE, 12.5, 4000, "B5", 0.0),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_tactics(make: Maker, problem: str) -> None:
    diagram, colour, komi, count, solution, winrate = PROBLEMS[problem]
    game = game_from(diagram, to_play=colour, rules=TROMP_TAYLOR, komi=komi)
    player = make(CountingEvaluator(), root_prune_useless=False, conservative_pass=False, root_ending_bonus=0.0)
    result = player.search(SearchRequest(game, colour, visits(count)))
    assert to_vertex(result.moves[0].point, game.height) == solution
    assert result.winrate >= winrate


def test_terminal_values_are_exact(make: Maker) -> None:
    game = game_from("X X .\nX . X\nX X X", to_play=BLACK, rules=TROMP_TAYLOR, komi=0.5)
    game.play(BLACK, PASS)
    player = make(ConstantEvaluator(), conservative_pass=False)
    player.search(SearchRequest(game, WHITE, visits(50)))
    tree = tree_of(player).space.tree
    terminal = tree.nodes[: int(tree.used[NODES])]
    terminal = terminal[terminal["state"] == TERMINAL]
    assert len(terminal) >= 1
    assert (terminal["win_loss"] == -1.0).all()
    assert (terminal["score"] == -8.5).all()


def test_superko_is_known_inside_the_tree(make: Maker) -> None:
    """In a ko fight without threats, retaking at once is never part of the tree."""
    game = game_from(
        """
        . X O .
        X . X O
        . X O .
        . . . .
        """,
        to_play=WHITE,
        rules=CHINESE,
        komi=0.5,
    )
    take, retake = from_vertex("B3", 4, 4), from_vertex("C3", 4, 4)
    assert game.is_legal(WHITE, take)
    player = make(FancifulEvaluator(), root_symmetry_pruning=False)
    player.search(SearchRequest(game, WHITE, visits(3000)))
    tree = tree_of(player)
    points = tree.space.context["points"][0]
    after = next(edge["child"] for edge in edges_of(tree, tree.root) if points[edge["move"]] == take)
    replies = edges_of(tree, tree.space.tree.nodes[after])
    assert len(replies) > 3
    assert retake not in points[replies["move"]]


def test_plays_whole_games(make: Maker) -> None:
    player = make(FancifulEvaluator(seed=3), workers=2)
    for rules in ("tromp-taylor", "chinese", "japanese", "aga-button", "stone-scoring"):
        game = Game(5, 5, preset(rules)[0], 6.5)
        while not game.is_over and len(game.moves) < 120:
            point = player.choose(game, player.search(SearchRequest(game, game.to_play, Limits(visits=24))))
            game.play(game.to_play, point)
        assert game.moves


def test_any_size_of_board(make: Maker) -> None:
    player = make(ConstantEvaluator())
    for width, height in ((1, 1), (1, 3), (2, 1), (3, 7), (25, 25), (19, 2)):
        game = Game(width, height)
        result = player.search(SearchRequest(game, BLACK, visits(40)))
        assert result.visits == 40
        assert game.is_legal(BLACK, player.choose(game, result))


def test_the_search_keeps_the_rules_after_moves_that_do_not(make: Maker) -> None:
    """A controller tells of kos retaken and of repetitions. What is searched next is legal, with a tree kept or new."""
    rng, forbidden = random.Random(3), 0
    for rules in (CHINESE, dataclasses.replace(CHINESE, ko=KO_SIMPLE), TROMP_TAYLOR):
        kept = make(FancifulEvaluator())
        game = Game(3, 3, rules, komi=0.5)
        for _ in range(30):
            told = [p for p in board_points(3, 3) if game.violation(game.to_play, p) in ("ko", "superko")]
            forbidden += len(told)
            game.play_lenient(game.to_play, rng.choice(told or game.legal_moves(game.to_play)))
            request = SearchRequest(game, game.to_play, visits(40))
            for player in (kept, make(FancifulEvaluator())):
                legal = set(game.legal_moves(game.to_play))
                assert {move.point for move in player.search(request).moves} <= legal
    assert forbidden > 8
