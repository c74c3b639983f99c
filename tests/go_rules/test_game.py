"""Games as their users see them: the fine points of play, the ends of games, setup, handicap and undo."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from go_rules.game import FIRST_ROOM, Game, Move, RuleViolation
from go_rules.points import BLACK, NO_POINT, PASS, WHITE, from_vertex, point_at
from go_rules.position import PHASE_CLEANUP_1, PHASE_CLEANUP_2, PHASE_MAIN, PHASE_OVER
from go_rules.rules import (
    BONUS_N,
    BONUS_N_MINUS_1,
    BONUS_NONE,
    DEFAULT_KOMI,
    KO_POSITIONAL,
    KO_SIMPLE,
    KO_SITUATIONAL,
    Rules,
    preset,
)
from tests.go_rules.diagrams import diagram_of, game_from, play_all, rows_of

POSITIONAL = Rules(ko=KO_POSITIONAL, white_handicap_bonus=BONUS_NONE)
SITUATIONAL = Rules(ko=KO_SITUATIONAL, white_handicap_bonus=BONUS_NONE)
SIMPLE = Rules(ko=KO_SIMPLE, white_handicap_bonus=BONUS_NONE)
SUICIDE = Rules(ko=KO_POSITIONAL, suicide=True, white_handicap_bonus=BONUS_NONE)
JAPANESE = dataclasses.replace(preset("japanese")[0], cleanup=True)

KO = """
    . X O .
    X O . O
    . X O .
"""

# Black plays A3, white takes both black stones at C3, and black could take that one stone back at B3.
SEND_TWO = """
    . X . X
    O O X .
    . . . .
"""

TRIPLE_KO = """
    . X O .
    X O . O
    . X O .
    . . . .
    . X O .
    X . X O
    . X O .
    . . . .
    . X O .
    X O . O
    . X O .
"""
TRIPLE_KO_CYCLE = "B C10 W B6 B C2 W B10 B C6 W B2"

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


def lines(text: str) -> str:
    return text.replace("/", "\n")


@pytest.mark.parametrize("case", PLAYED)
def test_boards_after_moves(case):
    rules, before, moves, after = PLAYED[case]
    game = game_from(lines(before), BLACK, rules)
    play_all(game, moves)
    assert diagram_of(game) == rows_of(lines(after))


@pytest.mark.parametrize("case", REFUSED)
def test_refused_moves_change_nothing(case):
    rules, before, moves, refused, reason = REFUSED[case]
    game = game_from(lines(before), BLACK, rules)
    play_all(game, moves)
    length, position = game.length, game.position.copy()
    with pytest.raises(RuleViolation) as violation:
        play_all(game, refused)
    assert violation.value.reason == reason
    assert game.length == length
    assert game.position == position


@pytest.mark.parametrize("point", [-2, -1, 1, 26, 703, 704, 10**9])
def test_points_off_the_board(point):
    game = Game(9, 9)
    assert game.violation(BLACK, point) == "off board"
    assert not game.is_legal(BLACK, point)


def test_suicide_is_legal_only_for_several_stones():
    game = game_from(lines("X . O / O O O / . . ."), BLACK, SUICIDE)
    play_all(game, "B B3")
    assert game.position["captured"].tolist() == [0, 2, 0]
    assert diagram_of(game)[0] == "..O"


def test_a_pass_never_repeats_and_keeps_the_ban():
    game = game_from(SEND_TWO, BLACK, POSITIONAL)
    play_all(game, "B A3 W C3 B pass W pass")
    assert game.is_over
    assert game.violation(BLACK, from_vertex("B3", 4, 3)) == "superko"


def test_the_other_colour_may_fill_its_own_ko():
    game = game_from(KO, BLACK, SIMPLE)
    play_all(game, "B C2")
    assert game.violation(WHITE, from_vertex("B2", 4, 3)) == "ko"
    assert game.is_legal(BLACK, from_vertex("B2", 4, 3))


def test_same_colour_twice_forgets_the_moves_before():
    game = Game(5, 5)
    play_all(game, "B A1 W A2 B A3 B A4")
    recent = game.position["recent"].tolist()
    assert recent == [from_vertex("A4", 5, 5), NO_POINT, NO_POINT, NO_POINT, NO_POINT]
    assert game.to_play == WHITE


# --- How games end ------------------------------------------------------------------------------------------------


def test_two_passes_end_an_area_game_and_play_may_go_on():
    game = Game(5, 5, POSITIONAL)
    play_all(game, "B C3 W pass B pass")
    assert game.is_over
    assert game.position["phase"] == PHASE_OVER
    play_all(game, "W C2")
    assert not game.is_over
    assert game.position["phase"] == PHASE_MAIN


def test_the_first_pass_takes_the_button():
    rules = Rules(ko=KO_SITUATIONAL, has_button=True, white_handicap_bonus=BONUS_NONE)
    game = Game(5, 5, rules, komi=7)
    assert game.score() == 6.5  # whoever is to play would take it
    play_all(game, "B pass W pass")
    assert not game.is_over
    assert game.position["white_bonus"] == -0.5
    play_all(game, "B pass")
    assert game.is_over
    assert game.score() == 6.5
    game = Game(5, 5, rules, komi=7)
    play_all(game, "B C3 W pass")
    assert game.score() == -25 + 7 + 0.5


def test_taking_the_button_ends_the_history():
    """KataGo's rules: a position with the button and the same one without it are two."""
    rules = Rules(ko=KO_POSITIONAL, has_button=True)
    game = game_from(SEND_TWO, BLACK, rules)
    play_all(game, "B A3 W C3")
    assert game.violation(BLACK, from_vertex("B3", 4, 3)) == "superko"
    play_all(game, "B pass W pass")
    assert game.is_legal(BLACK, from_vertex("B3", 4, 3))


def test_triple_ko_has_no_result():
    game = game_from(TRIPLE_KO, BLACK, SIMPLE)
    play_all(game, TRIPLE_KO_CYCLE)
    assert not game.is_over
    play_all(game, TRIPLE_KO_CYCLE)
    assert game.is_no_result
    assert game.is_over
    game.undo()
    assert not game.is_over


def test_a_pass_breaks_a_long_cycle():
    game = game_from(TRIPLE_KO, BLACK, SIMPLE)
    play_all(game, TRIPLE_KO_CYCLE + " B pass W pass " + TRIPLE_KO_CYCLE)
    assert not game.is_no_result


def test_a_repeated_pass_ends_the_game_under_simple_ko():
    """A side that passes again where it passed before gains nothing by it: no need to wait for the other's pass."""
    game = game_from(SEND_TWO, BLACK, SIMPLE)
    # After white's pass black sends two stones and takes one back, which makes the same situation again.
    play_all(game, "B A3 W C3 B B3 W pass B A3 W C3 B B3")
    assert not game.is_over
    play_all(game, "W pass")
    assert game.is_over
    game = game_from(SEND_TWO, BLACK, SITUATIONAL)
    play_all(game, "B A3 W C3 B B3 W pass")
    assert not game.is_over


# --- Territory rules ----------------------------------------------------------------------------------------------


def test_phases_of_a_territory_game():
    game = Game(5, 5, JAPANESE, komi=6.5)
    play_all(game, "B C3 W B2")
    assert game.position["white_bonus"] == 0
    for phase in (PHASE_CLEANUP_1, PHASE_CLEANUP_2, PHASE_OVER):
        assert not game.is_over
        play_all(game, "B pass W pass")
        assert game.position["phase"] == phase
    assert game.is_over


def test_two_passes_end_a_game_without_clean_up():
    game = Game(5, 5, preset("japanese")[0])
    play_all(game, "B C3 W pass B pass")
    assert game.is_over
    assert game.position["phase"] == PHASE_OVER
    play_all(game, "W C2")
    assert not game.is_over
    assert game.position["phase"] == PHASE_MAIN


def test_a_new_phase_forgets_the_moves():
    game = Game(5, 5, JAPANESE)
    play_all(game, "B C3 W pass B pass")
    assert game.position["recent"].tolist() == [NO_POINT] * 5
    assert game.position["passes"] == 0
    assert game.to_play == WHITE


def test_only_the_second_clean_up_is_free():
    game = Game(5, 5, JAPANESE)
    play_all(game, "B C3 W pass B pass")
    play_all(game, "W C2 B C1 W A1")
    assert game.position["white_bonus"] == 1 - 1 + 1 - 1
    play_all(game, "B pass W pass B A5 W A4")
    assert game.position["white_bonus"] == 0
    play_all(game, "B E5 W pass B E4")
    assert game.position["white_bonus"] == 0


def test_dead_stones_are_taken_in_the_second_clean_up_for_free():
    """White's stone is dead. Black takes it after the game without losing a point for the moves it costs."""
    settled = ". . X O . / O X X O . / . . X O . / X X X O . / . . X O ."
    game = game_from(lines(settled), BLACK, JAPANESE)
    agreed = game.score(dead=[from_vertex("A4", 5, 5)])
    play_all(game, "B pass W pass B pass W pass")
    play_all(game, "B A5 W pass B A3 W pass B pass W pass")
    assert game.is_over
    assert diagram_of(game)[1][0] == "."
    assert game.score() == agreed


def test_retaking_a_ko_in_the_clean_up_is_blocked_until_a_pass_for_it():
    game = game_from(KO, BLACK, JAPANESE)
    play_all(game, "B pass W pass B C2")
    assert game.position["ko"] == NO_POINT
    taken, bonus = diagram_of(game), float(game.position["white_bonus"])
    retake = from_vertex("B2", 4, 3)
    assert game.is_legal(WHITE, retake)
    play_all(game, "W B2")  # a pass for the ko
    assert diagram_of(game) == taken
    assert game.position["white_bonus"] == bonus
    play_all(game, "B pass W B2")
    assert diagram_of(game) == rows_of(KO)
    # Black took this ko in this position before.
    play_all(game, "B C2")
    assert diagram_of(game) == rows_of(KO)
    assert game.violation(BLACK, from_vertex("C2", 4, 3)) == "superko"


def test_blocks_end_with_the_phase():
    game = game_from(KO, BLACK, JAPANESE)
    play_all(game, "B pass W pass B C2 W pass B pass W B2")
    assert game.position["phase"] == PHASE_CLEANUP_2
    assert diagram_of(game) == rows_of(KO)


# --- Setup, handicap, terms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(0, 9), (9, 26), (-1, 5), (100, 100)])
def test_sizes_out_of_range(width, height):
    with pytest.raises(ValueError, match="unacceptable size"):
        Game(width, height)


def test_impossible_setups_change_nothing():
    game = Game(3, 3)
    play_all(game, "B B2")
    a, b = point_at(0, 0), point_at(1, 0)
    below = point_at(0, 1)
    for stones, reason in [
        ([(BLACK, a), (WHITE, a)], "occupied"),
        ([(BLACK, 5)], "off board"),
        ([(BLACK, PASS)], "off board"),
        ([(BLACK, a), (WHITE, b), (WHITE, below)], "no liberties"),
        ([(WHITE, b), (WHITE, below), (BLACK, a)], "no liberties"),
    ]:
        with pytest.raises(RuleViolation) as violation:
            game.set_position(stones, BLACK)
        assert violation.value.reason == reason
        assert diagram_of(game) == ["...", ".X.", "..."]
        assert len(game.moves) == 1


def test_set_position_starts_a_new_history():
    game = Game(5, 5)
    play_all(game, "B C3 W pass")
    game.set_position([(WHITE, point_at(2, 2))], WHITE)
    assert game.moves == []
    assert game.setup == (Move(WHITE, point_at(2, 2)),)
    assert game.to_play == WHITE
    with pytest.raises(RuleViolation, match="nothing to undo"):
        game.undo()


def test_handicap():
    game = Game(9, 9, Rules(white_handicap_bonus=BONUS_N), komi=0.5)
    points = [from_vertex("C3", 9, 9), from_vertex("G7", 9, 9)]
    game.place_handicap(points)
    assert game.handicap == tuple(points)
    assert game.to_play == WHITE
    assert game.record["handicap_bonus"] == 2
    with pytest.raises(RuleViolation, match="nothing to undo"):
        game.undo()
    with pytest.raises(RuleViolation, match="board not empty"):
        game.place_handicap(points)
    game.set_rules(Rules(white_handicap_bonus=BONUS_N_MINUS_1))
    assert game.record["handicap_bonus"] == 1
    assert game.handicap == tuple(points)
    assert game.score() == -81 + 0.5 + 1


@pytest.mark.parametrize(
    ("moves", "stones"),
    [
        ("B C3", 0),
        ("B C3 W D4 B E5 B A1", 0),
        ("B C3 B G7", 2),
        ("B C3 B G7 W E5", 2),
        ("B C3 W pass B G7 W pass B E5 W C7", 3),
        ("B C3 B G7 W E5 W E4", 0),
        ("W E5 B C3 B G7", 0),
    ],
)
def test_black_moves_before_whites_first_are_handicap(moves, stones):
    game = Game(9, 9, Rules(white_handicap_bonus=BONUS_N))
    play_all(game, moves)
    assert game.handicap_stones == stones
    assert game.record["handicap_bonus"] == stones
    while game.moves:
        game.undo()
    assert game.record["handicap_bonus"] == 0


def test_terms_may_change_during_the_game():
    game = Game(5, 5)
    play_all(game, "B C3 W C2")
    game.set_komi(0.5)
    assert game.record["komi"] == 0.5
    assert len(game.moves) == 2
    game.set_rules(JAPANESE)
    assert game.position["white_bonus"] == 0
    assert len(game.moves) == 2
    assert game.komi == 0.5


def test_rules_that_forbid_what_was_played_are_refused():
    game = game_from(lines("X . O / O O O / . . ."), BLACK, SUICIDE)
    play_all(game, "B B3")
    before = game.identity()
    with pytest.raises(RuleViolation, match="suicide"):
        game.set_rules(POSITIONAL)
    assert game.identity() == before
    assert len(game.moves) == 1


def test_identity_tells_games_apart():
    game = Game(9, 9, komi=7.5)
    same = Game(9, 9, komi=7.5)
    play_all(same, "B C3")
    assert game.identity() == same.identity()
    assert hash(game.identity()) == hash(same.identity())
    for other in (Game(9, 9, komi=6.5), Game(9, 8, komi=7.5), Game(9, 9, SIMPLE, 7.5)):
        assert other.identity() != game.identity()
    same.set_position([], WHITE)
    assert same.identity() != game.identity()


def test_clear_keeps_the_terms():
    game = Game(7, 5, SIMPLE, 3.5)
    play_all(game, "B C3 W C2")
    game.clear()
    assert (game.width, game.height, game.rules, game.komi) == (7, 5, SIMPLE, 3.5)
    assert game.moves == []
    assert game.to_play == BLACK
    assert not game.position["board"][point_at(2, 2)]


# --- History ------------------------------------------------------------------------------------------------------


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
