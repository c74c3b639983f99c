"""The numbers that a network is given beside the planes: rules, komi, passes."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rule_names import preset
from go_rules.rules import (
    BONUS_N,
    BONUS_N_MINUS_1,
    BONUS_NONE,
    KO_POSITIONAL,
    KO_SIMPLE,
    KO_SITUATIONAL,
    SCORING_AREA,
    SCORING_TERRITORY,
    TAX_ALL,
    TAX_SEKI,
    Rules,
)
from nets.features import AS_IS, AT_ROOT, IN_TREE
from tests.go_rules.diagrams import play_all
from tests.nets.golden import PLAIN, encode_with

RULE_NUMBERS = [
    (PLAIN, {}),
    (Rules(KO_POSITIONAL, white_handicap_bonus=BONUS_NONE), {6: 1, 7: 0.5}),
    (Rules(KO_SITUATIONAL, white_handicap_bonus=BONUS_NONE), {6: 1, 7: -0.5}),
    (Rules(KO_SIMPLE, suicide=True), {8: 1}),
    (Rules(KO_SIMPLE, SCORING_TERRITORY), {9: 1}),
    (Rules(KO_SIMPLE, SCORING_AREA, TAX_SEKI), {10: 1}),
    (Rules(KO_SIMPLE, SCORING_AREA, TAX_ALL), {10: 1, 11: 1}),
    (Rules(KO_SIMPLE, has_button=True), {17: 1}),
]


@pytest.mark.parametrize(("rules", "expected"), RULE_NUMBERS)
def test_rules(rules, expected, scratch):
    _, global_ = encode_with(Game(5, 4, rules, 0), scratch)
    assert {i: value for i, value in enumerate(global_.tolist()) if value} == expected


def test_playout_doubling_advantage(scratch):
    _, global_ = encode_with(Game(5, 4, PLAIN, 0), scratch, advantage=-1.5)
    assert global_[15:17].tolist() == [1, -0.75]


@pytest.mark.parametrize(
    ("bonus", "stones", "komi", "expected"),
    [
        (BONUS_NONE, 3, 6.5, 6.5),
        (BONUS_N, 3, 0.5, 3.5),
        (BONUS_N_MINUS_1, 3, 0.5, 2.5),
        (BONUS_N, 0, 7.5, 7.5),
        (BONUS_NONE, 0, 1000, 81 + 20),
        (BONUS_NONE, 0, -1000, -81 - 20),
    ],
)
def test_komi(bonus, stones, komi, expected, scratch):
    game = Game(9, 9, Rules(KO_SIMPLE, SCORING_AREA, white_handicap_bonus=bonus), komi)
    if stones:
        game.place_handicap([from_vertex(vertex, 9, 9) for vertex in ("C3", "G7", "G3")])
    for colour, sign in ((WHITE, 1), (BLACK, -1)):
        _, global_ = encode_with(game, scratch, colour)
        assert global_[5] == np.float32(sign * expected / 20)


def test_territory_komi_counts_stones_played(scratch):
    game = Game(9, 9, preset("japanese")[0], 6.5)
    play_all(game, "B C3 W G7 B C4")
    _, global_ = encode_with(game, scratch)
    assert global_[5] == np.float32(7.5 / 20)


@pytest.mark.parametrize(
    ("size", "komi", "wave"),
    [
        ((3, 3), 1.0, 0.0),
        ((3, 3), 1.25, 0.25),
        ((3, 3), 1.5, 0.5),
        ((3, 3), 2.0, 0.0),
        ((3, 3), 2.5, -0.5),
        ((3, 3), 2.75, -0.25),
        ((3, 3), -0.5, 0.5),
        ((4, 3), 0.0, 0.0),
        ((4, 3), 6.5, 0.5),
        ((4, 3), 7.5, -0.5),
        ((4, 3), -0.5, -0.5),
    ],
)
def test_parity_of_komi(size, komi, wave, scratch):
    game = Game(*size, PLAIN, komi)
    assert encode_with(game, scratch, WHITE)[1][18] == wave
    assert encode_with(Game(*size, preset("japanese")[0], komi), scratch, WHITE)[1][18] == 0


# --- A pass that would end the game -------------------------------------------------------------------------------

FRIENDLY = Rules(KO_SIMPLE, SCORING_AREA, friendly_pass=True, white_handicap_bonus=BONUS_NONE)
TERRITORY = preset("japanese")[0]

# (rules, view, komi, what is shown after one pass): black is to play, on a board that is all his but for komi.
PASSES = [
    (PLAIN, AS_IS, 0.5, True),
    (PLAIN, AS_IS, 99.5, True),
    (PLAIN, IN_TREE, 0.5, True),
    (PLAIN, IN_TREE, 99.5, False),
    (PLAIN, IN_TREE, 25, False),  # a draw is no win
    (PLAIN, AT_ROOT, 0.5, False),
    (FRIENDLY, AS_IS, 0.5, False),
    (FRIENDLY, IN_TREE, 0.5, False),
    (TERRITORY, AT_ROOT, 0.5, True),  # the next phase is a clean-up, not the end
]


@pytest.mark.parametrize(("rules", "view", "komi", "shown"), PASSES)
def test_a_pass_that_would_end_the_game(rules, view, komi, shown, scratch):
    game = Game(5, 5, rules, komi)
    play_all(game, "B C3 W pass")
    _, global_ = encode_with(game, scratch)
    play_all(game, "B B3 W pass")
    spatial, global_ = encode_with(game, scratch, view=view)
    assert global_[14] == shown
    assert global_[0] == shown
    assert spatial[9:14].any() == shown


def test_after_the_end_only_the_last_move_shows(scratch):
    game = Game(5, 5, PLAIN, 0.5)
    play_all(game, "B C3 W pass B pass")
    assert game.is_over
    _, global_ = encode_with(game, scratch)
    assert global_[:5].tolist() == [1, 0, 0, 0, 0]
    assert global_[14] == 1


def test_a_pass_for_the_button_ends_nothing(scratch):
    game = Game(5, 5, Rules(KO_SIMPLE, has_button=True), 0.5)
    play_all(game, "B C3 W pass")
    _, global_ = encode_with(game, scratch)
    assert (global_[14], global_[17]) == (0, 0)
    play_all(game, "B pass")
    assert encode_with(game, scratch)[1][14] == (not game.rules.friendly_pass)
