"""Moves as the users of a game see them: captures, kos, suicide, what is refused or only told, and the history left."""

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

# Every case: rules, position before, moves, the refused move, the reason given, the position where it is taken.
REFUSED = {
    "suicide of one stone": (POSITIONAL, ". O . / O . . / . . .", "", "B A3", "suicide", ". O . / O . . / . . ."),
    "the same under suicide rules": (SUICIDE, ". O . / O . . / . . .", "", "B A3", "suicide", ". O . / O . . / . . ."),
    "suicide of two stones": (POSITIONAL, "X . O / O O O / . . .", "", "B B3", "suicide", ". . O / O O O / . . ."),
    "simple ko": (SIMPLE, KO, "B C2", "W B2", "ko", KO),
    "ko under superko": (POSITIONAL, KO, "B C2", "W B2", "ko", KO),
    "sending two, returning one": (POSITIONAL, SEND_TWO, "B A3 W C3", "B B3", "superko", SEND_TWO),
    "triple ko, positional": (POSITIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE[:-5], "W B2", "superko", TRIPLE_KO),
    "triple ko, situational": (SITUATIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE[:-5], "W B2", "superko", TRIPLE_KO),
    "a stone that undoes a suicide": (
        SUICIDE,
        "X . O / O O O / . . .",
        "B B3 W pass",
        "B A3",
        "superko",
        "X . O / O O O / . . .",
    ),
}


@pytest.mark.parametrize("case", PLAYED)
def test_boards_after_moves(case):
    rules, before, moves, after = PLAYED[case]
    game = game_from(before, BLACK, rules)
    play_all(game, moves)
    assert diagram_of(game) == rows_of(after)


@pytest.mark.parametrize("case", REFUSED)
def test_a_forbidden_move_is_refused_and_taken_only_where_somebody_tells_of_it(case):
    rules, before, moves, refused, reason, after = REFUSED[case]
    game = game_from(before, BLACK, rules)
    play_all(game, moves)
    length, state = game.length, (game.position.tobytes(), game.keys.tobytes(), game.legal_moves(game.to_play))
    with pytest.raises(RuleViolation) as violation:
        play_all(game, refused)
    assert violation.value.reason == reason
    assert game.length == length
    assert (game.position.tobytes(), game.keys.tobytes(), game.legal_moves(game.to_play)) == state
    letter, vertex = refused.split()
    game.play_lenient(BLACK if letter == "B" else WHITE, from_vertex(vertex, game.width, game.height))
    assert diagram_of(game) == rows_of(after)
    # What led to a move that cannot be is nothing that networks know.
    assert game.position["recent"].tolist() == [NO_POINT] * 5
    game.undo()
    assert (game.position.tobytes(), game.keys.tobytes(), game.legal_moves(game.to_play)) == state


@pytest.mark.parametrize(("before", "vertex"), [("X . . / . . .", "A2"), ("X . . / . O .", "B1")])
@pytest.mark.parametrize("rules", [SIMPLE, POSITIONAL, SUICIDE], ids=str)
def test_what_cannot_be_on_a_board_is_never_taken(before, vertex, rules):
    game = game_from(before, BLACK, rules)
    state = game.position.tobytes(), game.length
    for point, expected in ((from_vertex(vertex, 3, 2), "occupied"), (26, "off board"), (703, "off board")):
        for play in (game.play, game.play_lenient):
            with pytest.raises(RuleViolation) as violation:
                play(BLACK, point)
            assert violation.value.reason == expected
    assert (game.position.tobytes(), game.length) == state


def test_legal_moves_that_are_told_of_are_as_any():
    told, played = (game_from(KO + ". . . .", BLACK, SIMPLE) for _ in range(2))
    play_all(played, "B C3 W A1 B D1 W B3")
    for move in played.moves:
        told.play_lenient(move.colour, move.point)
    assert told.position.tobytes() == played.position.tobytes()
    assert told.line_key() == played.line_key()


def test_moves_of_our_own_stay_strict_after_one():
    """A repetition that was told of does not allow the next one."""
    game = game_from(SEND_TWO, BLACK, POSITIONAL)
    play_all(game, "B A3 W C3")
    game.play_lenient(BLACK, from_vertex("B3", 4, 3))
    play_all(game, "W pass")
    assert not game.is_legal(BLACK, from_vertex("A3", 4, 3))  # that position was there before
    assert from_vertex("A3", 4, 3) not in game.legal_moves(BLACK)


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
