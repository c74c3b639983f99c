"""What a game starts from and may change on the way: sizes, setups, handicap, komi and rules."""

from __future__ import annotations

import pytest

from go_rules.game import Game, Move, RuleViolation
from go_rules.points import BLACK, NO_POINT, PASS, WHITE, from_vertex, point_at
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, Rules
from tests.go_rules.diagrams import diagram_of, game_from, play_all, rows_of
from tests.go_rules.kos import JAPANESE, POSITIONAL, SIMPLE, SUICIDE


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


def test_rules_that_forbid_what_was_played_keep_it():
    game = game_from("X . O / O O O / . . .", BLACK, SUICIDE)
    play_all(game, "B B3")
    game.set_rules(POSITIONAL)
    assert diagram_of(game) == rows_of(". . O / O O O / . . .")
    assert not game.is_legal(BLACK, from_vertex("A3", 3, 3))


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


def test_captures_before_a_setup_count_under_territory_scoring():
    game = Game(5, 5, JAPANESE, komi=6.5)
    stones = [(BLACK, point_at(1, 1)), (WHITE, point_at(3, 3))]
    game.set_position(stones, WHITE, (2, 5))
    assert game.position["captured"].tolist() == [0, 2, 5]
    assert game.score() == 6.5 + 2 - 5
    other = game.copy()
    other.set_position(stones, WHITE)
    assert other.score() == 6.5
    assert other.identity() != game.identity()
    for rules, score in ((SIMPLE, 6.5), (JAPANESE, 6.5 + 2 - 5)):
        game.set_rules(rules)
        assert game.score() == score
    game.give_turn(BLACK)
    assert (game.to_play, game.score()) == (BLACK, 6.5 + 2 - 5)


def test_the_turn_may_be_given():
    game = Game(5, 5, SIMPLE)
    play_all(game, "B C3 W pass")
    line = game.line_key()
    game.give_turn(BLACK)
    assert (game.line_key(), game.position["passes"]) == (line, 1)
    game.give_turn(WHITE)
    assert game.line_key() != line
    assert (game.to_play, game.position["passes"]) == (WHITE, 0)
    assert game.position["recent"].tolist() == [NO_POINT] * 5
    game.set_rules(POSITIONAL)
    assert game.to_play == WHITE
    play_all(game, "W D4")
    game.undo()
    assert game.to_play == WHITE
    game.undo()
    assert (game.to_play, game.moves) == (WHITE, [Move(BLACK, point_at(2, 2))])
    handicap = Game(9, 9)
    handicap.place_handicap([point_at(2, 2), point_at(6, 6)])
    handicap.give_turn(BLACK)
    assert (handicap.to_play, len(handicap.handicap)) == (BLACK, 2)
    with pytest.raises(ValueError, match="no colour"):
        handicap.give_turn(0)


def test_clear_keeps_the_terms():
    game = Game(7, 5, SIMPLE, 3.5)
    play_all(game, "B C3 W C2")
    game.clear()
    assert (game.width, game.height, game.rules, game.komi) == (7, 5, SIMPLE, 3.5)
    assert game.moves == []
    assert game.to_play == BLACK
    assert not game.position["board"][point_at(2, 2)]
