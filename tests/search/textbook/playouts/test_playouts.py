"""The playout board against the exact one, and what playouts must and must not do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from go_rules.board import is_legal, play
from go_rules.board import place_stone as exact_place
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, N_POINTS, NO_POINT, PASS, WHITE, board_points, from_vertex
from go_rules.position import new_stack
from go_rules.rule_names import PRESETS
from go_rules.scoring import tromp_taylor_area
from search.textbook.playouts import board as playout_board
from search.textbook.playouts.board import (
    AROUND,
    PLAYOUT_BOARD,
    area_score,
    in_atari,
    is_capture_or_joins,
    is_self_atari,
    load_position,
    place,
)
from search.textbook.playouts.patterns import EMPTY_NEIGHBOUR, PATTERN, playout_table
from search.textbook.playouts.playout import (
    choose_move,
    is_playable,
    is_vital,
    new_policy,
    new_tools,
    playout,
    random_move,
)
from tests.go_rules.diagrams import game_from

RULES = PRESETS["chinese"][0].record(0.0)
UNIFORM = (0.0, 0.0, 1.0)
GUIDED = (0.9, 0.9, 0.1, 0.9)
SIZES = [(1, 1), (2, 2), (1, 7), (5, 5), (9, 9), (13, 6), (19, 19), (25, 25)]


def board_of(game: Game) -> np.void:
    return board_at(game.position)


def board_at(position: np.void) -> np.void:
    b: np.void = np.zeros(1, PLAYOUT_BOARD)[0]
    load_position(b, position)
    return b


def assert_same(b: np.void, pos: np.void) -> None:
    """Everything the playout board knows, recomputed from the exact position."""
    fresh = board_at(pos)
    assert (b["board"] == pos["board"]).all()
    on_board = [p for p in range(N_POINTS) if pos["board"][p] in (EMPTY, BLACK, WHITE)]
    assert (b["around"][on_board] == fresh["around"][on_board]).all()
    n = int(b["n_empties"])
    empties = sorted(b["empties"][:n].tolist())
    assert empties == np.flatnonzero(pos["board"] == EMPTY).tolist()
    assert all(b["empties"][b["slot"][point]] == point for point in empties)
    for colour in (BLACK, WHITE):
        assert b["on_board"][colour] == (pos["board"] == colour).sum()
    for point in on_board:
        if pos["board"][point] == EMPTY:
            continue
        head, exact_head = int(b["chain"][point]), int(pos["chain"][point])
        assert b["liberties"][head] == fresh["liberties"][exact_head]
        assert b["stones"][head] == pos["stones"][exact_head]
        assert in_atari(b, head) == (pos["liberties"][exact_head] == 1)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_playout_board_agrees_with_the_exact_one(width: int, height: int) -> None:
    """Legality, captures, ko, chains, atari and self-atari over random games."""
    rng = random.Random(width * 100 + height)
    points = board_points(width, height)
    checked = 0
    for _ in range(3 if width < 13 else 1):
        game = Game(width, height, PRESETS["chinese"][0])
        b = board_of(game)
        pos = game.stack[:1].copy()[0]
        for move in range(min(200 if width < 19 else 80, 2 * width * height)):
            colour = BLACK if move % 2 == 0 else WHITE
            legal = [p for p in points if pos["board"][p] == EMPTY and is_legal(pos, p, colour, RULES)]
            for point in points:
                if pos["board"][point] == EMPTY and point != b["ko"]:
                    open_ = any(pos["board"][point + AROUND[i]] == EMPTY for i in range(4))
                    assert (point in legal) == (open_ or bool(is_capture_or_joins(b, point, colour)))
            if not legal:
                break
            point = rng.choice(legal)
            after = np.array([pos])[0]
            captured, _, _ = exact_place(after, point, colour)
            lonely = captured == 0 and after["liberties"][after["chain"][point]] == 1
            assert bool(is_self_atari(b, point, colour)) == lonely
            assert place(b, point, colour) == play(pos, point, colour, RULES) == captured
            assert b["ko"] == pos["ko"]
            if move % 7 == 0 or captured:
                assert_same(b, pos)
            checked += 1
    assert checked or width * height == 1


@pytest.mark.parametrize("policy", [UNIFORM, GUIDED])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_finished_playout_is_scored_as_by_area(width: int, height: int, policy: tuple[float, ...]) -> None:
    game = Game(width, height)
    b = board_of(game)
    tools = new_tools(1, new_policy(*policy))
    limit = 10 * width * height
    for _ in range(20 if width < 19 else 3):
        load_position(b, game.position)
        if playout(b, BLACK, NO_POINT, tools, limit) == limit:
            continue
        pos = new_stack(1)[0]
        pos["width"], pos["height"] = width, height
        pos["board"] = b["board"]
        assert area_score(b) == tromp_taylor_area(pos, np.zeros(N_POINTS, np.int8))


@pytest.mark.parametrize("policy", [UNIFORM, GUIDED])
def test_playouts_do_not_care_for_colours(policy: tuple[float, ...]) -> None:
    """With colours exchanged and the same random numbers the same game is played, and the score changes sign."""
    for seed in range(50):
        boards = [board_of(Game(9, 9)) for _ in range(2)]
        tools = [new_tools(seed, new_policy(*policy)) for _ in range(2)]
        moves = [
            playout(b, colour, NO_POINT, t, 1000) for b, colour, t in zip(boards, (BLACK, WHITE), tools, strict=True)
        ]
        assert moves[0] == moves[1]
        assert area_score(boards[0]) == -area_score(boards[1])
        swap = np.array([EMPTY, WHITE, BLACK], np.int8)
        assert (tools[0].first == swap[tools[1].first]).all()


def test_who_moves_first_gains_a_little() -> None:
    """On an empty 9x9 board random play gives the first player two to three points, and all playouts end."""
    game = Game(9, 9)
    b = board_of(game)
    tools = new_tools(5, new_policy(*UNIFORM))
    scores, lengths = [], []
    for _ in range(4000):
        load_position(b, game.position)
        lengths.append(playout(b, BLACK, NO_POINT, tools, 3 * 81))
        scores.append(area_score(b))
    # The standard error of the mean is about 0.4 points.
    assert -4.0 < np.mean(scores) < -0.8
    assert 100 < np.mean(lengths) < 120
    assert np.mean(np.array(lengths) == 3 * 81) < 0.005


def test_own_eyes_are_not_filled() -> None:
    """Two chains with two eyes each: nothing is left to play but the other's eyes, which is suicide."""
    game = game_from(
        """
        . X . X O
        X X X X O
        X O O O O
        O O . O .
        """
    )
    b = board_of(game)
    table = playout_table()
    tools = new_tools(1, new_policy(*GUIDED))
    for colour in (BLACK, WHITE):
        assert random_move(b, colour, table, 1.0, tools.random) == PASS
    assert playout(b, BLACK, NO_POINT, tools, 100) == 2
    assert area_score(b) == 2


@pytest.mark.parametrize(
    ("diagram", "vertex", "eye"),
    [
        (". X . . \n X X . . \n . . . . \n . . . .", "A4", True),
        (". X . . \n X O . . \n . . . . \n . . . .", "A4", False),  # the one diagonal of a corner is taken
        ("X . X . \n X X X . \n . . . . \n . . . .", "B4", True),
        ("X . X . \n O X X . \n . . . . \n . . . .", "B4", False),  # one diagonal makes an eye at the edge false
        ("X X X . \n X . X . \n X X O . \n . . . .", "B3", True),  # inside one may go
        ("X X O . \n X . X . \n X X O . \n . . . .", "B3", False),
    ],
)
def test_false_eyes(diagram: str, vertex: str, eye: bool) -> None:
    b = board_of(game_from(diagram))
    flags = playout_table()[b["around"][from_vertex(vertex, 4, 4)]]
    assert bool(flags & BLACK) == eye
    assert not flags & WHITE


def test_patterns_and_empty_neighbours() -> None:
    table = playout_table()
    hane = board_of(game_from("X O X \n . . . \n . . ."))
    flags = int(table[hane["around"][from_vertex("B2", 3, 3)]])
    assert flags & (PATTERN * BLACK)
    assert flags & (PATTERN * WHITE)
    assert (flags // EMPTY_NEIGHBOUR) & 7 == 3
    empty = board_of(Game(3, 3))
    flags = int(table[empty["around"][from_vertex("B2", 3, 3)]])
    assert not flags & PATTERN * (BLACK | WHITE)
    assert (flags // EMPTY_NEIGHBOUR) & 7 == 4


def test_the_policy_takes_what_is_in_atari() -> None:
    game = game_from(
        """
        . . . . .
        . O O . .
        O X X . .
        . O O . .
        . . . . .
        """,
        WHITE,
    )
    b = board_of(game)
    playout(b, WHITE, from_vertex("C3", 5, 5), new_tools(1, new_policy(capture_rate=1.0)), 1)
    assert b["board"][from_vertex("D3", 5, 5)] == WHITE
    assert b["on_board"][BLACK] == 0


def test_packed_liberties_have_room_for_the_largest_board() -> None:
    """Every point of 25x25 counted four times still fits its bits."""
    points = np.array(board_points(25, 25), np.uint64)
    assert 4 * len(points) < 2**12
    assert int(4 * points.sum()) < 2**21
    assert int(4 * (points * points).sum()) < 2**31
    assert int(playout_board.SUM_MASK) == 2**21 - 1


# --- Small spaces -------------------------------------------------------------------------------------------------


def slow_is_vital(b: np.void, point: int) -> bool:
    """Whether a point is the middle of a space of three to five: by flood filling, and counting who is beside whom."""
    space, around, waiting = {point}, set(), [point]
    while waiting:
        here = waiting.pop()
        for offset in AROUND[:4]:
            content = int(b["board"][here + offset])
            if content == EMPTY and here + offset not in space:
                space.add(here + offset)
                waiting.append(here + offset)
            elif content in (BLACK, WHITE):
                around.add(content)
    ends = {point + offset for offset in AROUND[:4]} & space
    pairs = sum(p + offset in space for p in space for offset in AROUND[:4])
    return 3 <= len(space) == len(ends) + 1 and pairs == 2 * len(ends) and len(around) < 2


def test_vital_points_against_flood_filling() -> None:
    rng = random.Random(4)
    table = playout_table()
    found = checked = 0
    for size in (3, 5, 7, 9):
        points = board_points(size, size)
        for _ in range(60):
            b = board_of(Game(size, size))
            share = rng.random()
            for point in rng.sample(points, round(0.75 * len(points))):
                colour = BLACK if rng.random() < share else WHITE
                if point != b["ko"] and is_playable(b, point, colour, 0):
                    place(b, point, colour)
            for point in points:
                if b["board"][point] == EMPTY:
                    vital = slow_is_vital(b, point)
                    assert bool(is_vital(b, point, table)) == vital
                    found += vital
                    checked += 1
    assert found > 30
    assert checked > 20 * found


SPACES = {
    "three in a row": ("X X X X X \n X . . . X \n X X X X X \n . O O O O", "C3"),
    "bent three": ("X X X X X \n X . . X X \n X X . X O \n X X X X .", "C3"),
    "a T": ("X X X X X \n X . . . X \n X X . X X \n . X X X X", "C3"),
    "a cross": ("X X . X X \n X . . . X \n X X . X X \n . X X X X", "C3"),
    "in the corner": (". . X . O \n . X X O O \n X X O . . \n O O . O .", "A4"),
}


@pytest.mark.parametrize("name", SPACES)
def test_the_policy_plays_the_vital_point(name: str) -> None:
    """After a stone was taken or placed beside it, both sides play there."""
    diagram, vertex = SPACES[name]
    middle = from_vertex(vertex, 5, 4)
    b = board_of(game_from(diagram))
    stones = [point for point in board_points(5, 4) if b["board"][point] == BLACK]
    beside = [p for p in stones if any(p + offset == middle for offset in AROUND[:4])]
    ends = [middle + offset for offset in AROUND[:4] if b["board"][middle + offset] == EMPTY]
    beside_ends = [p for p in stones if any(p + offset in ends for offset in AROUND[:4])]
    assert beside or beside_ends
    for last in beside + beside_ends:
        for colour in (BLACK, WHITE):
            tools = new_tools(1, new_policy(vital_rate=1.0))
            assert choose_move(b, colour, last, tools) == middle
