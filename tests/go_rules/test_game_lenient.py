"""Moves that somebody tells of: taken although the rules forbid them, except what cannot be on a board."""

from __future__ import annotations

import pytest

from go_rules.game import RuleViolation
from go_rules.points import BLACK, NO_POINT, WHITE, from_vertex
from tests.go_rules.diagrams import diagram_of, game_from, play_all, rows_of
from tests.go_rules.kos import KO, POSITIONAL, SEND_TWO, SIMPLE, SITUATIONAL, SUICIDE, TRIPLE_KO, TRIPLE_KO_CYCLE

# Every case: rules, position before, legal moves, colour and vertex told of, the reason why it is illegal, board after.
TAKEN = {
    "a ko retaken at once": (SIMPLE, KO, "B C2", (WHITE, "B2"), "ko", KO),
    "a ko retaken at once under superko": (POSITIONAL, KO, "B C2", (WHITE, "B2"), "ko", KO),
    "a repetition": (POSITIONAL, SEND_TWO, "B A3 W C3", (BLACK, "B3"), "superko", SEND_TWO),
    "suicide of two stones": (
        POSITIONAL,
        "X . O / O O O / . . .",
        "",
        (BLACK, "B3"),
        "suicide",
        ". . O / O O O / . . .",
    ),
    "suicide of one stone": (
        SIMPLE,
        ". O . / O . . / . . .",
        "",
        (BLACK, "A3"),
        "suicide",
        ". O . / O . . / . . .",
    ),
    "triple ko": (SITUATIONAL, TRIPLE_KO, TRIPLE_KO_CYCLE[:-5], (WHITE, "B2"), "superko", TRIPLE_KO),
}


@pytest.mark.parametrize("case", TAKEN)
def test_moves_that_the_rules_forbid(case):
    rules, before, moves, (colour, vertex), reason, after = TAKEN[case]
    game = game_from(before, BLACK, rules)
    play_all(game, moves)
    point = from_vertex(vertex, game.width, game.height)
    state = game.position.tobytes(), game.keys.tobytes(), game.legal_moves(game.to_play)
    assert game.violation(colour, point) == reason
    game.play_lenient(colour, point)
    assert diagram_of(game) == rows_of(after)
    # What led to a move that cannot be is nothing that networks know.
    assert game.position["recent"].tolist() == [NO_POINT] * 5
    game.undo()
    assert (game.position.tobytes(), game.keys.tobytes(), game.legal_moves(game.to_play)) == state


@pytest.mark.parametrize(
    ("before", "vertex"),
    [
        ("X . . / . . .", "A2"),
        ("X . . / . O .", "B1"),
    ],
)
@pytest.mark.parametrize("rules", [SIMPLE, POSITIONAL, SUICIDE], ids=str)
def test_what_cannot_be_on_a_board(before, vertex, rules):
    game = game_from(before, BLACK, rules)
    state = game.position.tobytes(), game.length
    for point, expected in (
        (from_vertex(vertex, game.width, game.height), "occupied"),
        (26, "off board"),
        (703, "off board"),
    ):
        with pytest.raises(RuleViolation) as violation:
            game.play_lenient(BLACK, point)
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
