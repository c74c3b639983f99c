"""What is remembered of the searches of a game."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, point_at
from search.result import SearchResult, Winrates
from tests.search.searches import search_result


def found(colour: int, winrate: float) -> SearchResult:
    return search_result(colour, winrate=winrate)


def played(moves: int, komi: float = 7.0) -> Game:
    game = Game(9, 9, komi=komi)
    for i in range(moves):
        game.play(game.to_play, point_at(i, 0))
    return game


def test_each_side_sees_its_own_and_white_both() -> None:
    winrates = Winrates()
    assert winrates.add(played(0), found(BLACK, 0.75)) == [0.5]
    assert winrates.add(played(1), found(WHITE, 0.125)) == [-0.75]
    assert winrates.add(played(2), found(BLACK, 1.0)) == [0.5, 1.0]
    assert winrates.of_white(played(3)) == pytest.approx([-0.5, -0.75, -1.0])
    assert winrates.of_white(played(2)) == pytest.approx([-0.5, -0.75])


def test_moves_that_were_taken_back_are_forgotten() -> None:
    winrates, game = Winrates(), played(4)
    winrates.add(game, found(BLACK, 0.75))
    game.play(BLACK, point_at(0, 8))
    winrates.add(game, found(WHITE, 0.125))
    game.undo()
    game.undo()
    game.play(WHITE, point_at(1, 8))
    game.play(BLACK, point_at(2, 8))
    game.play(WHITE, point_at(3, 8))
    # That there are as many moves as before does not make it the same line of play.
    assert winrates.of_white(game) == []
    assert winrates.add(game, found(BLACK, 0.5)) == [0.0]


def test_another_game_on_the_same_terms_begins_anew() -> None:
    winrates = Winrates()
    winrates.add(played(0), found(BLACK, 0.75))
    winrates.add(played(2), found(BLACK, 0.75))
    other = Game(9, 9, komi=7.0)
    for i in range(4):
        other.play(other.to_play, point_at(i, 4))
    assert winrates.of_white(other) == [-0.5]  # of the empty board, which both games have in common
    assert winrates.of_white(played(4, komi=0.5)) == []
    winrates.clear()
    assert winrates.of_white(played(4)) == []
