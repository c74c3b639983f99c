"""How games end: by passes, by long cycles, and after the clean-up phases of territory rules."""

from __future__ import annotations

from go_rules.game import Game
from go_rules.points import BLACK, NO_POINT, WHITE, from_vertex
from go_rules.position import PHASE_MAIN, PHASE_OVER
from go_rules.rules import BONUS_NONE, KO_POSITIONAL, KO_SITUATIONAL, Rules
from tests.go_rules.diagrams import diagram_of, game_from, play_all, rows_of
from tests.go_rules.kos import JAPANESE, KO, POSITIONAL, SEND_TWO, SIMPLE, SITUATIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE


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


def test_networks_see_the_last_move_of_a_game_without_result():
    """And if somebody plays on, that move too: as KataGo has it, and as after passes."""
    game = game_from(TRIPLE_KO, BLACK, SIMPLE)
    play_all(game, f"{TRIPLE_KO_CYCLE} {TRIPLE_KO_CYCLE}")
    last = game.moves[-1].point
    assert game.position["recent"].tolist() == [last] + [NO_POINT] * 4
    play_all(game, "B A4")
    assert game.position["recent"].tolist() == [from_vertex("A4", 4, 11), last] + [NO_POINT] * 3
    game.undo()
    game.undo()
    assert NO_POINT not in game.position["recent"].tolist()


def test_triple_ko_has_no_result():
    """Whoever plays on completes the cycle at every further move; each of these ends the game by itself."""
    game = game_from(TRIPLE_KO, BLACK, SIMPLE)
    play_all(game, TRIPLE_KO_CYCLE)
    assert not game.is_over
    play_all(game, f"{TRIPLE_KO_CYCLE} {TRIPLE_KO_CYCLE}")
    while len(game.moves) >= 12:
        assert game.is_no_result
        assert game.is_over
        game.undo()
    assert not game.is_over


def test_no_cycle_ends_a_game_under_superko():
    """A controller that has other rules may tell of one all the same."""
    game = game_from(TRIPLE_KO, BLACK, POSITIONAL)
    words = TRIPLE_KO_CYCLE.split() * 3
    for letter, vertex in zip(words[::2], words[1::2], strict=True):
        game.play_lenient(BLACK if letter == "B" else WHITE, from_vertex(vertex, game.width, game.height))
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
    game = game_from(settled, BLACK, JAPANESE)
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
