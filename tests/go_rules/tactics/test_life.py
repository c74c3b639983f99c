"""Pass-alive areas and final areas: diagrams, and the naive definitions on random positions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, board_points, column_of, point_at, row_of
from go_rules.position import MARK_BLACK_AT_CLEANUP_2, MARK_WHITE_AT_CLEANUP_2, PHASE_CLEANUP_2
from go_rules.rules import SCORING_AREA, SCORING_TERRITORY, TAX_ALL, TAX_NONE, TAX_SEKI, Rules
from go_rules.tactics.life import final_area, new_life_work, pass_alive_area, safe_area
from tests.go_rules.diagrams import game_from, rows_of
from tests.go_rules.naive import NaiveGame
from tests.go_rules.random_play import play_randomly
from tests.go_rules.tactics import naive_life

LETTERS = ".XO"

# name: (position, pass-alive area where suicide is forbidden, the same where it is allowed; None: no difference)
PASS_ALIVE = {
    "an empty board is nobody's": ("...|...|...", "...|...|...", None),
    "a lone stone is not alive": ("...|.X.|...", "...|...|...", None),
    "two eyes in the corner": (".X.X..|XXXX..|......|......", "XXXX..|XXXX..|......|......", None),
    "an eye and a large outside are not enough": (".XX...|XX....|......|......", "......|......|......|......", None),
    "two chains that share two eyes": (
        ".XX...|X.X...|XX....|......|......",
        "XXX...|XXX...|XX....|......|......",
        None,
    ),
    "chains that need each other fall together": (
        ".X.XO.|XXX.XX|OOOXO.|......|......",
        "......|......|......|......|......",
        None,
    ),
    "a stone in an eye of two points": ("O.X.X..|XXXXX..|.......|.......", "XXXXX..|XXXXX..|.......|.......", None),
    "a stone that stands back from the wall spoils an eye where it may be part of a suicide": (
        "OO.X.X..|OXXXXX..|XX......|........|........",
        "XXXXXX..|XXXXXX..|XX......|........|........",
        "........|........|........|........|........",
    ),
    "an eye too large to be safe": (
        "...X.X.X..|...XXXXX..|...X......|XXXX......|..........",
        "...XXXXX..|...XXXXX..|...X......|XXXX......|..........",
        None,
    ),
    "both colours": (".X.XO.O.|XXXXOOOO", "XXXXOOOO|XXXXOOOO", None),
    "eyes within the walls of the dead": (
        ".OX.X.X..|OXXXXXX..|XX.......|.........|.........",
        "XXXXXXX..|XXXXXXX..|XX.......|.........|.........",
        None,
    ),
}


def lines(diagram: str) -> str:
    return diagram.replace("|", "\n")


def area_of(diagram: str) -> dict[tuple[int, int], int]:
    rows = rows_of(lines(diagram))
    return {(x, y): LETTERS.index(c) for y, row in enumerate(rows) for x, c in enumerate(row) if c != "."}


def owners_of(game: Game, area: np.ndarray) -> dict[tuple[int, int], int]:
    points = board_points(game.width, game.height)
    return {(column_of(point), row_of(point)): int(area[point]) for point in points if area[point]}


def stones_of(game: Game) -> dict[tuple[int, int], int]:
    return owners_of(game, game.position["board"])


@pytest.mark.parametrize("name", PASS_ALIVE)
def test_pass_alive_diagrams(name):
    position, forbidden, allowed = PASS_ALIVE[name]
    game = game_from(lines(position))
    work = new_life_work()[0]
    for suicide, expected in ((False, forbidden), (True, allowed or forbidden)):
        pass_alive_area(game.position, suicide, work)
        assert owners_of(game, work["owned"]) == area_of(expected)


# name: (rules, position, owners, score)
FINAL = {
    "area: dame is nobody's": (SCORING_AREA, TAX_NONE, "XX.OO|X..OO", "XX.OO|X..OO", 1),
    "seki tax: area keeps the stones alone": (SCORING_AREA, TAX_SEKI, ".X.O.|XX.OO", ".X.O.|XX.OO", 0),
    "seki tax: territory has nothing but stones": (SCORING_TERRITORY, TAX_SEKI, ".X.O.|XX.OO", ".X.O.|XX.OO", 0),
    "no tax: territory in seki counts": (SCORING_TERRITORY, TAX_NONE, ".X.OO|XX.OO", "XX.OO|XX.OO", 0),
    "tax on groups: two points for each": (SCORING_AREA, TAX_ALL, ".X.X.|XXXXX", "XXXXX|XXXXX", -10 + 2),
    "area: the dead inside pass-alive walls are taken off": (
        SCORING_AREA,
        TAX_NONE,
        "O.X.X..|XXXXX..",
        "XXXXXXX|XXXXXXX",
        -14,
    ),
}


def random_games(count: int = 150):
    """Positions of small boards, some full and some half empty."""
    for seed in range(count):
        rng = random.Random(seed)
        width, height = rng.choice([(5, 5), (6, 4), (7, 7), (3, 8), (9, 9), (2, 6)])
        game = Game(width, height, Rules(suicide=rng.random() < 0.3))
        play_randomly(game, rng, rng.randrange(width * height // 2, 3 * width * height))
        yield seed, game


def test_pass_alive_is_the_naive_definition():
    work = new_life_work()[0]
    alive = 0
    for seed, game in random_games():
        naive = NaiveGame(game.width, game.height, game.rules)
        for suicide in (False, True):
            pass_alive_area(game.position, suicide, work)
            expected = {
                point: colour
                for colour in (BLACK, WHITE)
                for point in naive_life.pass_alive(naive, stones_of(game), colour, suicide)
            }
            assert owners_of(game, work["owned"]) == expected, (seed, suicide)
            alive += bool(expected)
    assert alive > 50, "the games should reach positions with pass-alive chains"


def test_safe_area_is_the_naive_definition():
    work = new_life_work()[0]
    smaller = 0
    for seed, game in random_games():
        naive = NaiveGame(game.width, game.height, game.rules)
        stones = stones_of(game)
        for suicide in (False, True):
            safe_area(game.position, suicide, work)
            expected = naive_life.safe_area(naive, stones, suicide)
            assert owners_of(game, work["area"]) == expected, (seed, suicide)
            smaller += 0 < len(expected) < len(naive_life.full_area(naive, stones, suicide))
    assert smaller > 10, "the games should reach positions with some stones that are safe and some that are not"


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (".X.X....|XXXX....", "XXXXXXXX|XXXXXXXX"),
        (".X.X...O|XXXX....", "XXXX....|XXXX...."),
        (".X.X...X|XXXX....", "XXXX....|XXXX...."),
        (".X.X.O.O.|XXXXOOOOO", "XXXX.OOOO|XXXXOOOOO"),
    ],
    ids=["nothing else", "an opponent's stone", "a stone of one's own that might die", "both live"],
)
def test_large_safe_regions(position, expected):
    work = new_life_work()[0]
    safe_area(game_from(lines(position)).position, False, work)
    assert owners_of(game_from(lines(position)), work["area"]) == area_of(expected)


@pytest.mark.parametrize("scoring", [SCORING_AREA, SCORING_TERRITORY])
@pytest.mark.parametrize("tax", [TAX_NONE, TAX_SEKI, TAX_ALL])
def test_final_area_is_the_naive_definition(scoring, tax):
    work = new_life_work()[0]
    rules = Rules(scoring=scoring, tax=tax)
    record = rules.record(0.0)
    for seed, game in random_games(60):
        naive = NaiveGame(game.width, game.height, rules)
        stones = stones_of(game)
        area, score = naive_life.final_area(naive, stones, rules, stones, False)
        assert final_area(game.position, record, 0, False, work) == score, seed
        assert owners_of(game, work["area"]) == area, seed


def test_only_stones_from_before_the_second_cleanup_count():
    """Territory scoring: stones put into the opponent's area, or into neutral points, during it are worth nothing."""
    game = game_from("XX.OO\nXX.OO", rules=Rules(scoring=SCORING_TERRITORY))
    position = game.position
    for point in board_points(5, 2):
        if position["board"][point]:
            black = position["board"][point] == BLACK
            position["marks"][point] = MARK_BLACK_AT_CLEANUP_2 if black else MARK_WHITE_AT_CLEANUP_2
    work = new_life_work()[0]
    assert final_area(position, game.record, PHASE_CLEANUP_2, False, work) == 0
    assert owners_of(game, work["area"]) == area_of("XX.OO|XX.OO")
    position["marks"][point_at(4, 0)] = 0
    assert final_area(position, game.record, PHASE_CLEANUP_2, False, work) == -1
    assert owners_of(game, work["area"]) == area_of("XX.O.|XX.OO")


@pytest.mark.parametrize("name", FINAL)
def test_final_area_diagrams(name):
    scoring, tax, position, owners, score = FINAL[name]
    game = game_from(lines(position), rules=Rules(scoring=scoring, tax=tax))
    work = new_life_work()[0]
    assert final_area(game.position, game.record, 0, False, work) == score
    assert owners_of(game, work["area"]) == area_of(owners)
