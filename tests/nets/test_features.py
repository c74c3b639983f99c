"""The input features: KataGo's own on recorded positions, each plane on a small diagram, and their symmetries.

test_global_features.py tests the numbers beside the planes.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rule_names import preset
from go_rules.rules import BONUS_NONE, KO_POSITIONAL, KO_SIMPLE, SCORING_TERRITORY, TAX_NONE, TAX_SEKI, Rules
from nets import features
from nets.features import IN_TREE, Scratch, new_scratch
from nets.symmetry import symmetric_point, symmetry_count, symmetry_permutations
from tests.go_rules.diagrams import game_from, play_all, rows_of
from tests.go_rules.random_play import play_randomly
from tests.nets.golden import COLOURS, PLAIN, encode_with, game_of

LADDER_PLANES = [features.CAUGHT, features.CAUGHT_BEFORE, features.CAUGHT_TWICE_BEFORE, features.CATCHES]

KATAGO_DISAGREES_WITH_ITSELF = {10, 45}
"""Recorded positions with a double ko. The record came from KataGo's Python features, whose double-ko rule lacks a
`not` that its C++ has. KataGo's engine, and so what it answers on other recorded positions, follows the C++."""


def picture(plane: np.ndarray) -> list[str]:
    assert set(plane.ravel().tolist()) <= {0.0, 1.0}
    return ["".join("#" if value else "." for value in row) for row in plane]


# --- Against KataGo -----------------------------------------------------------------------------------------------


def test_recorded_features(shared: Callable[[str], Path], scratch: Scratch):
    """Exactly KataGo's, number for number."""
    with np.load(shared("golden/features.npz")) as recorded:
        rows = json.loads(str(recorded["positions"]))
        for i, row in enumerate(rows):
            spatial, global_ = encode_with(game_of(row), scratch, COLOURS[row["to_play"]])
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
        {3: "#....|.....|.....|.....|.....", 4: ".#..#|.....|.....|.....|#....", 5: ".....|.....|.....|.....|....."},
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
    """A turned picture is the picture of the turned game."""
    for seed in range(20):
        game = random_game(seed)
        permutations = symmetry_permutations(game.width, game.height)
        for symmetry in range(symmetry_count(game.width, game.height)):
            turned, global_ = encode_with(game, scratch, view=IN_TREE, permutation=permutations[symmetry])
            other_spatial, other_global = encode_with(replayed(game, symmetry), scratch, view=IN_TREE)
            differing = np.flatnonzero((other_spatial.reshape(22, -1) != turned).any(axis=1))
            assert differing.size == 0, (seed, symmetry, differing)
            assert (other_global == global_).all(), (seed, symmetry)


def test_colours_are_equal(scratch):
    """With the colours swapped and komi reversed everything looks the same to the side to move."""
    for seed in range(30):
        game = random_game(seed)
        other = replayed(game, swap=True)
        if game.handicap_stones or other.handicap_stones:  # a handicap bonus is white's alone
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
