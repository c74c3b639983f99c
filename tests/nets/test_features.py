"""The input features: KataGo's own on recorded positions, each plane on a small diagram, and their symmetries."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, board_points, from_vertex
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
    TAX_NONE,
    TAX_SEKI,
    Rules,
    preset,
)
from nets import features
from nets.features import AS_IS, AT_ROOT, IN_TREE, Scratch, encode, new_scratch
from nets.symmetry import symmetric_point, symmetry_count, symmetry_images, turn_planes
from tests.go_rules.diagrams import game_from, play_all, rows_of
from tests.go_rules.random_play import play_randomly
from tests.nets.golden import COLOURS, encoded, game_of

LADDER_PLANES = [features.CAUGHT, features.CAUGHT_BEFORE, features.CAUGHT_TWICE_BEFORE, features.CATCHES]

PLAIN = Rules(KO_SIMPLE, SCORING_AREA, TAX_NONE, False, False, BONUS_NONE, False)

KATAGO_DISAGREES_WITH_ITSELF = {10, 45}
"""Recorded positions with a double ko. The record came from KataGo's Python features, whose double-ko rule lacks a
`not` that its C++ has. KataGo's engine, and so what it answers on other recorded positions, follows the C++."""


@pytest.fixture(scope="module")
def scratch() -> Scratch:
    return new_scratch()


def encode_with(
    game: Game, scratch: Scratch, colour: int | None = None, view: int = AS_IS, advantage: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """As `encoded`, with everything to choose, into arrays that held something else before."""
    colour = game.to_play if colour is None else colour
    spatial = np.full((22, game.height, game.width), 7, np.float32)
    global_ = np.full(19, 7, np.float32)
    ban = np.zeros(704, np.int8)
    for point in board_points(game.width, game.height):
        ban[point] = game.violation(colour, point) == "superko"
    encode(game.stack, game.length - 1, colour, game.record, advantage, view, ban, scratch, spatial, global_)
    return spatial, global_


def picture(plane: np.ndarray) -> list[str]:
    assert set(plane.ravel().tolist()) <= {0.0, 1.0}
    return ["".join("#" if value else "." for value in row) for row in plane]


# --- Against KataGo -----------------------------------------------------------------------------------------------


def test_recorded_features(shared: Callable[[str], Path], scratch: Scratch):
    """Exactly KataGo's, number for number."""
    with np.load(shared("golden/features.npz")) as recorded:
        rows = json.loads(str(recorded["positions"]))
        for i, row in enumerate(rows):
            spatial, global_ = encoded(game_of(row), COLOURS[row["to_play"]], scratch)
            differing = np.flatnonzero((spatial != recorded[f"spatial_{i}"]).any(axis=(1, 2)))
            if i in KATAGO_DISAGREES_WITH_ITSELF:
                assert set(differing) <= set(LADDER_PLANES), i
            else:
                assert differing.size == 0, (i, differing)
            assert (global_ == recorded[f"global_{i}"]).all(), i


# --- Planes on diagrams -------------------------------------------------------------------------------------------

# name: (diagram, moves, colour to play, {plane: picture})
PLANES = {
    "stones, black to play": (
        "X.O.\n..O.\n....",
        BLACK,
        {0: "####|####|####", 1: "#...|....|....", 2: "..#.|..#.|....", 8: "....|....|...."},
    ),
    "stones, white to play": ("X.O.\n..O.\n....", WHITE, {1: "..#.|..#.|....", 2: "#...|....|...."}),
    "one, two, three and four liberties": (
        "XO..X\n.....\n..O..\n.....\nX....",
        BLACK,
        {
            3: "#....|.....|.....|.....|.....",
            4: ".#..#|.....|.....|.....|#....",
            5: ".....|.....|.....|.....|.....",
        },
    ),
    "three liberties": ("...\nX..\n...", BLACK, {3: "...|...|...", 4: "...|...|...", 5: "...|#..|..."}),
    "ladders": (
        "......\n..X...\n.XO...\n.X....\n......\n......",
        BLACK,
        {
            14: "......|......|..#...|......|......|......",
            15: "......|......|..#...|......|......|......",
            16: "......|......|..#...|......|......|......",
            17: "......|......|...#..|......|......|......",
        },
    ),
    "ladders of one's own chains are no moves": (
        "......\n..X...\n.XO...\n.X....\n......\n......",
        WHITE,
        {14: "......|......|..#...|......|......|......", 17: "......|......|......|......|......|......"},
    ),
    "area": ("X..O\nX..O\nXX.O\n.X.O", BLACK, {18: "#...|#...|##..|##..", 19: "...#|...#|...#|...#"}),
}


@pytest.mark.parametrize("name", PLANES)
def test_planes(name, scratch):
    diagram, colour, expected = PLANES[name]
    spatial, _ = encode_with(game_from(diagram, colour, PLAIN), scratch)
    for plane, rows in expected.items():
        assert picture(spatial[plane]) == rows.split("|"), plane


def test_last_moves(scratch):
    game = Game(4, 3, PLAIN)
    play_all(game, "B A1 W B1 B pass W C3 B D3 W A3")
    spatial, global_ = encode_with(game, scratch)
    moves = [picture(spatial[plane]) for plane in range(9, 14)]
    nowhere = ["....", "....", "...."]
    assert moves == [
        ["#...", "....", "...."],
        ["...#", "....", "...."],
        ["..#.", "....", "...."],
        nowhere,
        ["....", "....", ".#.."],
    ]
    assert global_[:5].tolist() == [0, 0, 0, 1, 0]


def test_moves_out_of_turn_end_the_history(scratch):
    game = Game(5, 5, PLAIN)
    play_all(game, "B A1 W B1 W C1 B D1")
    assert spatial_moves(game, scratch) == ["D1", "C1"]
    # Asked for black, who moved last, there is no history.
    spatial, _ = encode_with(game, scratch, BLACK)
    assert not spatial[9:14].any()


def spatial_moves(game: Game, scratch: Scratch) -> list[str]:
    spatial, _ = encode_with(game, scratch)
    names = []
    for plane in spatial[9:14]:
        names += [f"{'ABCDE'[x]}{game.height - y}" for y, x in np.argwhere(plane)]
    return names


def test_bans(scratch):
    """The ko point, and what superko forbids."""
    diagram = """
        . X O .
        X . X O
        . X O .
        . . . .
    """
    for ko in (KO_SIMPLE, KO_POSITIONAL):
        game = game_from(diagram, WHITE, Rules(ko))
        play_all(game, "W B3")
        spatial, _ = encode_with(game, scratch)
        assert picture(spatial[6]) == ["....", "..#.", "....", "...."]
        # Without the simple ko's ban only superko forbids it.
        play_all(game, "B A1 W D1")
        game.position["ko"] = -1
        spatial, _ = encode_with(game, scratch)
        assert spatial[6].any() == (game.violation(BLACK, from_vertex("C3", 4, 4)) == "superko")


def test_ladders_of_earlier_boards(scratch):
    game = game_from("\n".join([8 * ".", "..X.....", ".XO.....", ".X......"] + 4 * [8 * "."]), WHITE, PLAIN)
    shown = []
    # The first move stands in the way. Nothing is known from before it, so its board stands for the one before too.
    for move in ("W F2", "B D8", "W H5"):
        play_all(game, move)
        spatial, _ = encode_with(game, scratch)
        shown.append([bool(spatial[plane].any()) for plane in LADDER_PLANES])
    assert shown == [[False, True, True, False], [False, False, True, False], [False, False, False, False]]


def test_territory_shows_area_in_the_second_cleanup_only(scratch):
    rules = Rules(KO_SIMPLE, SCORING_TERRITORY, TAX_NONE, False, False, BONUS_NONE, cleanup=True)
    game = game_from("X..O\nX..O\n.X.O", BLACK, rules)
    for phase in (0, 1, 2):
        assert game.position["phase"] == phase
        spatial, global_ = encode_with(game, scratch)
        assert global_[12:14].tolist() == [phase >= 1, phase >= 2]
        assert not spatial[9:14].any()
        own, opponents = picture(spatial[18]), picture(spatial[19])
        if phase < 2:
            assert not spatial[18:22].any()
        else:
            assert (own, opponents) == (["#...", "#...", "##.."], ["...#", "...#", "...#"])
            assert picture(spatial[20]) == ["#...", "#...", ".#.."]
            assert picture(spatial[21]) == ["...#", "...#", "...#"]
        play_all(game, "B pass W pass")


def test_blocked_stones_of_the_cleanup(scratch):
    rules = Rules(KO_SIMPLE, SCORING_TERRITORY, TAX_SEKI, False, False, BONUS_NONE, cleanup=True)
    game = game_from(". X O .\nX . X O\n. X O .\n. . . .", WHITE, rules)
    play_all(game, "W pass B pass W B3")
    spatial, _ = encode_with(game, scratch)
    assert picture(spatial[7]) == ["....", ".#..", "....", "...."]
    assert not spatial[6].any()


# --- Numbers ------------------------------------------------------------------------------------------------------

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


# --- Symmetries ---------------------------------------------------------------------------------------------------

SYMMETRY_RULES = ["tromp-taylor", "japanese", "aga", "stone-scoring", "ancient-territory"]


def random_game(seed: int) -> Game:
    rng = random.Random(seed)
    width, height = rng.choice([(5, 5), (7, 7), (9, 9), (7, 4)])
    rules = dataclasses.replace(preset(rng.choice(SYMMETRY_RULES))[0], cleanup=rng.random() < 0.7)
    game = Game(width, height, rules, rng.choice([0, 6.5, 7]))
    play_randomly(game, rng, rng.randrange(2 * width * height), passes=0.1)
    return game


def replayed(game: Game, symmetry: int = 0, swap: bool = False) -> Game:
    """The same game on a turned board, or with the colours swapped and komi reversed."""
    other = Game(game.width, game.height, game.rules, -game.komi if swap else game.komi)
    for move in game.moves:
        point = symmetric_point(move.point, game.width, game.height, symmetry)
        other.play(3 - move.colour if swap else move.colour, point)
    return other


def test_encoding_turns_with_the_board(scratch):
    for seed in range(60):
        game = random_game(seed)
        spatial, global_ = encode_with(game, scratch, view=IN_TREE)
        images = symmetry_images(game.width, game.height)
        for symmetry in range(1, symmetry_count(game.width, game.height)):
            turned = np.empty((22, game.width * game.height), np.float32)
            turn_planes(spatial, images[symmetry], turned)
            other_spatial, other_global = encode_with(replayed(game, symmetry), scratch, view=IN_TREE)
            differing = np.flatnonzero((other_spatial.reshape(22, -1) != turned).any(axis=1))
            assert differing.size == 0, (seed, symmetry, differing)
            assert (other_global == global_).all(), (seed, symmetry)


def test_colours_are_equal(scratch):
    """With the colours swapped and komi reversed everything looks the same to the side to move."""
    for seed in range(60):
        game = random_game(seed)
        # A handicap bonus is white's alone.
        if game.handicap_stones:
            continue
        other = replayed(game, swap=True)
        if other.handicap_stones:
            continue
        for ours, theirs in zip(encode_with(game, scratch), encode_with(other, scratch), strict=True):
            assert (ours == theirs).all(), seed


def test_a_scratch_that_remembers_changes_nothing(scratch):
    for seed in range(30):
        game = random_game(seed)
        for ours, fresh in zip(encode_with(game, scratch), encode_with(game, new_scratch()), strict=True):
            assert (ours == fresh).all(), seed


def test_pass_alive_under_suicide_is_the_networks_choice():
    """The same position has no pass-alive area for a network that always reckons with suicide."""
    rows = rows_of("""
        O O . X . X . .
        O X X X X X . .
        X X . . . . O .
        . . . . . . . .
        . . . . O . . .
    """)
    game = game_from("\n".join(rows), BLACK, PLAIN)
    spatial, _ = encode_with(game, new_scratch())
    assert spatial[18, 0, 0] == 1
    spatial, _ = encode_with(game, new_scratch(pass_alive_under_suicide=True))
    assert spatial[19, 0, 0] == 1


def test_only_safe_area_for_networks_that_expect_it():
    """Stones that might die are nobody's then, under territory scoring too."""
    rows = rows_of("""
        . X . X . . .
        X X X X . O .
        . . . . . O .
    """)
    for rules in (PLAIN, dataclasses.replace(PLAIN, scoring=SCORING_TERRITORY)):
        game = game_from("\n".join(rows), BLACK, rules)
        spatial, _ = encode_with(game, new_scratch())
        everything = spatial[18:20].copy()
        assert everything.sum() == (10 if rules is PLAIN else 0)
        spatial, _ = encode_with(game, new_scratch(only_safe_area=True))
        assert spatial[18].tolist() == [[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0], [0] * 7]
        assert not spatial[19].any()
