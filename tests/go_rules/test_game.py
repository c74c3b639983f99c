"""Moves as the users of a game see them: captures, kos, suicide, what is refused, and the history they leave."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import FIRST_ROOM, Game, RuleViolation
from go_rules.points import BLACK, NO_POINT, WHITE, from_vertex, point_at
from go_rules.rule_names import DEFAULT_KOMI
from tests.go_rules.diagrams import diagram_of, game_from, play_all, rows_of
from tests.go_rules.kos import KO, POSITIONAL, SEND_TWO, SIMPLE, SITUATIONAL, SUICIDE, TRIPLE_KO, TRIPLE_KO_CYCLE

# Every case: rules, position before, moves, position after.
PLAYED = {
    "capture in the corner": (POSITIONAL, "O X . / . . . / . . .", "B A2", ". X . / X . . / . . ."),
    "the opponent's stones go first": (POSITIONAL, ". O X / O X . / X . .", "B A3", "X . X / . X . / X . ."),
    "suicide of two stones": (SUICIDE, "X . O / O O O / . . .", "B B3", ". . O / O O O / . . ."),
    "snapback": (
        POSITIONAL,
        ". . O X / O O O X / X X X X / . . . .",
        "B A4 W B4 B A4",
        "X . . X / . . . X / X X X X / . . . .",
    ),
    "ko after a threat": (SIMPLE, KO + ". . . .", "B C3 W A1 B D1 W B3", KO + "O . . X"),
    "sending two under situational superko": (SITUATIONAL, SEND_TWO, "B A3 W C3 B B3", SEND_TWO),
    "sending two under simple ko": (SIMPLE, SEND_TWO, "B A3 W C3 B B3", SEND_TWO),
}

# Every case: rules, position before, moves, the refused move, the reason given.
REFUSED = {
    "occupied": (POSITIONAL, "X . . / . . .", "B C1", "W A2", "occupied"),
    "suicide of one stone": (POSITIONAL, ". O . / O . . / . . .", "", "B A3", "suicide"),
    "suicide of one stone under suicide rules": (SUICIDE, ". O . / O . . / . . .", "", "B A3", "suicide"),
    "suicide of two stones": (POSITIONAL, "X . O / O O O / . . .", "", "B B3", "suicide"),
    "simple ko": (SIMPLE, KO, "B C2", "W B2", "ko"),
    "ko under superko": (POSITIONAL, KO, "B C2", "W B2", "ko"),
    "sending two, returning one": (POSITIONAL, SEND_TWO, "B A3 W C3", "B B3", "superko"),
    "triple ko, positional": (POSITIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE[:-5], "W B2", "superko"),
    "triple ko, situational": (SITUATIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE[:-5], "W B2", "superko"),
    "a stone that undoes a suicide": (SUICIDE, "X . O / O O O / . . .", "B B3 W pass", "B A3", "superko"),
}


@pytest.mark.parametrize("case", PLAYED)
def test_boards_after_moves(case):
    rules, before, moves, after = PLAYED[case]
    game = game_from(before, BLACK, rules)
    play_all(game, moves)
    assert diagram_of(game) == rows_of(after)


@pytest.mark.parametrize("case", REFUSED)
def test_refused_moves_change_nothing(case):
    rules, before, moves, refused, reason = REFUSED[case]
    game = game_from(before, BLACK, rules)
    play_all(game, moves)
    length, position = game.length, game.position.copy()
    with pytest.raises(RuleViolation) as violation:
        play_all(game, refused)
    assert violation.value.reason == reason
    assert game.length == length
    assert game.position == position


@pytest.mark.parametrize("colour", [0, 3, -1])
def test_what_is_no_colour(colour):
    game = Game(9, 9)
    point = point_at(2, 2)
    for attempt in (game.play, game.play_lenient, game.violation, game.is_legal):
        with pytest.raises(ValueError, match=f"^{colour} is no colour"):
            attempt(colour, point)
    for attempt in (
        lambda: game.legal_moves(colour),
        lambda: game.set_position([(colour, point)], BLACK),
        lambda: game.set_position([(BLACK, point)], colour),
    ):
        with pytest.raises(ValueError, match="is no colour"):
            attempt()
    assert game.length == 1


@pytest.mark.parametrize("point", [-2, -1, 1, 26, 703, 704, 10**9])
def test_points_off_the_board(point):
    game = Game(9, 9)
    assert game.violation(BLACK, point) == "off board"
    assert not game.is_legal(BLACK, point)


def test_same_colour_twice_forgets_the_moves_before():
    game = Game(5, 5)
    play_all(game, "B A1 W A2 B A3 B A4")
    recent = game.position["recent"].tolist()
    assert recent == [from_vertex("A4", 5, 5), NO_POINT, NO_POINT, NO_POINT, NO_POINT]
    assert game.to_play == WHITE


def test_history_outgrows_its_first_room():
    game = Game(19, 19)
    rng = np.random.default_rng(1)
    while game.length <= 3 * FIRST_ROOM:
        game.play(game.to_play, int(rng.choice(game.legal_moves(game.to_play)[:-1])))
    stack = game.stack[: game.length].copy()
    keys = game.keys.copy()
    moves = list(game.moves)
    while game.moves:
        game.undo()
    assert game.position == stack[0]
    for move in moves:
        game.play(move.colour, move.point)
    assert np.array_equal(game.stack[: game.length], stack)
    assert np.array_equal(game.keys, keys)


def test_copies_are_independent():
    game = Game(9, 9)
    play_all(game, "B C3 W C4")
    copy = game.copy()
    play_all(copy, "B D4")
    copy.set_komi(1)
    assert len(game.moves) == 2
    assert game.komi == DEFAULT_KOMI
    assert game.is_legal(BLACK, from_vertex("D4", 9, 9))
    game.undo()
    play_all(game, "W E5")
    assert diagram_of(copy)[5][2:4] == "OX"
    assert copy.identity() != game.identity()
