"""Ladders: diagrams with known answers, and the naive reader on random positions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, NO_POINT, WHITE, board_points, column_of, point_at, row_of
from go_rules.rules import KO_SIMPLE, Rules
from go_rules.tactics.ladder import LADDERS, find_ladders
from go_rules.tactics.ladder_board import new_ladder_work
from tests.go_rules.diagrams import game_from, rows_of
from tests.go_rules.naive import NaiveGame, Point
from tests.go_rules.random_play import play_randomly
from tests.go_rules.tactics.naive_ladder import NaiveLadder, TooLong

# Stones that are caught in small letters, `*` for a move that catches a chain of two liberties.
DIAGRAMS = {
    "in atari in the corner": """
        x O . . .
        . . . . .
        . . . . .
    """,
    "a ladder": """
        . . . . . . . .
        . . X . . . . .
        . X o * . . . .
        . X . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """,
    "in atari already": """
        . . . . . . . .
        . . X . . . . .
        . X o X . . . .
        . X . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . . . .
    """,
    "a stone in its way": """
        . . . . . . . .
        . . X . . . . .
        . X O . . . . .
        . X . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . . . . O . .
        . . . . . . . .
    """,
    "a stone beside its way": """
        . . . . . . . .
        . . X . . . . .
        . X o * . . . .
        . X . . . . . .
        . . . . . . . .
        . . . . . . . .
        . . O . . . . .
        . . . . . . . .
    """,
    "either move will do": """
        . . . . . . .
        . . X X . . .
        . X o * . . .
        . . * . . . .
    """,
    "a snapback": """
        . X X o
        X o * o
        X o * o
        . X X o
    """,
    "double ko": """
        . X X X .
        X o . o X
        X X o o X
        . X X X .
        . . . . .
    """,
    "in atari, with nothing to take": """
        . x O O .
        O O . . .
        . . . . .
    """,
    "in atari, but so is a stone beside": """
        . X o . X
        O O X X .
        . . . . .
    """,
}


def read(game: Game) -> tuple[set[Point], dict[int, set[Point]]]:
    """(stones caught, {colour: moves that catch a chain of it})."""
    memory = np.zeros(1, LADDERS)
    slot = find_ladders(game.position, new_ladder_work()[0], memory)
    rows = memory[slot]["rows"]
    planes = [{(x, y) for y in range(game.height) for x in range(game.width) if rows[i, y] >> x & 1} for i in range(3)]
    return planes[0], {BLACK: planes[1], WHITE: planes[2]}


@pytest.mark.parametrize("swapped", [False, True], ids=["as drawn", "colours swapped"])
@pytest.mark.parametrize("name", DIAGRAMS)
def test_diagrams(name, swapped):
    rows = rows_of(DIAGRAMS[name])
    position = "\n".join(rows).upper().replace("*", ".")
    if swapped:
        position = position.translate(str.maketrans("XO", "OX"))
    caught, catching = read(game_from(position))
    marked = [(x, y, c) for y, row in enumerate(rows) for x, c in enumerate(row)]
    assert caught == {(x, y) for x, y, c in marked if c in "xo"}
    assert catching[BLACK] | catching[WHITE] == {(x, y) for x, y, c in marked if c == "*"}


def naive_reader(game: Game, patience: int) -> NaiveLadder:
    board = game.position["board"]
    points = board_points(game.width, game.height)
    stones = {(column_of(point), row_of(point)): int(board[point]) for point in points if board[point]}
    ko = int(game.position["ko"])
    ko_point = None if ko == NO_POINT else (column_of(ko), row_of(ko))
    return NaiveLadder(NaiveGame(game.width, game.height, game.rules), stones, ko_point, patience)


def test_reading_is_the_naive_definition():
    read_chains = found = 0
    for seed in range(250):
        rng = random.Random(seed)
        width, height = rng.choice([(5, 5), (7, 7), (9, 9), (4, 6), (2, 7), (11, 11)])
        game = Game(width, height, Rules(ko=KO_SIMPLE))
        play_randomly(game, rng, rng.randrange(2, 2 * width * height))
        caught, catching = read(game)
        reader = naive_reader(game, 0)
        for point, colour in reader.stones.items():
            reader.patience = 1500
            liberties = reader.board.liberties(reader.stones, point)
            try:
                if len(liberties) == 1:
                    assert reader.is_caught(point) == (point in caught), (seed, point)
                elif len(liberties) == 2:
                    moves = reader.catching_moves(point)
                    assert bool(moves) == (point in caught), (seed, point)
                    assert moves <= catching[colour], (seed, point)
                else:
                    assert point not in caught
                    continue
            except TooLong:
                continue
            read_chains += 1
            found += point in caught
    assert found > 500
    assert read_chains > 2 * found


def test_a_ko_point_may_not_be_the_first_move():
    """The attacker cannot begin by retaking a ko; the ladder features depend on the ko point."""
    diagram = """
        . . X O .
        . X O . O
        . . X O .
        . . . . .
    """
    game = game_from(diagram, BLACK, Rules(ko=KO_SIMPLE))
    game.play(BLACK, point_at(3, 1))
    assert game.position["ko"] == point_at(2, 1)
    caught, catching = read(game)
    assert (3, 1) not in caught
    # Without the ban black's stone is in atari, and taking it would do.
    assert not catching[BLACK]


def test_memory_is_by_position_and_size():
    """One memory serves boards of several sizes, and a collision only costs the reading."""
    small, large = game_from("XO.\n...\n..."), game_from("XO...\n.....\n.....\n.....\n.....")
    work, memory = new_ladder_work()[0], np.zeros(1, LADDERS)
    for game in (small, large, small):
        find_ladders(game.position, work, memory)
        key = memory[0]["key"]
        rows = memory[0]["rows"].copy()
        assert find_ladders(game.position, work, memory) == 0
        assert memory[0]["key"] == key
        fresh = np.zeros(1, LADDERS)
        find_ladders(game.position, new_ladder_work()[0], fresh)
        assert (fresh[0]["rows"] == rows).all()


def test_what_an_earlier_reading_found_is_what_a_new_one_finds():
    """Moves near the last one, so that many chains are short of liberties, and one in ten positions never read."""
    kept = 0
    for seed in range(30):
        rng = random.Random(seed)
        width, height = rng.choice([(9, 9), (19, 19), (7, 5)])
        game = Game(width, height, Rules(ko=KO_SIMPLE))
        work, memory = new_ladder_work()[0], np.zeros(64, LADDERS)
        last = point_at(width // 2, height // 2)
        for _ in range(2 * width * height):
            colour = int(game.position["to_play"])
            legal = [point for point in board_points(width, height) if game.is_legal(colour, point)]
            near = [
                point
                for point in legal
                if abs(column_of(point) - column_of(last)) < 3 > abs(row_of(point) - row_of(last))
            ]
            if not legal:
                break
            last = rng.choice(near if near and rng.random() < 0.7 else legal)
            game.play(colour, last)
            if rng.random() < 0.1:
                continue
            known = memory[find_ladders(game.position, work, memory)]
            fresh = np.zeros(1, LADDERS)
            find_ladders(game.position, new_ladder_work()[0], fresh)
            assert (known["rows"] == fresh[0]["rows"]).all(), (seed, len(game.moves))
            kept += int(known["n_readings"])
    assert kept > 10_000


def test_the_reader_leaves_the_position_alone_and_restores_its_board():
    for seed in range(40):
        game = Game(9, 9, Rules(ko=KO_SIMPLE))
        play_randomly(game, random.Random(seed), 60)
        before = game.position.tobytes()
        work = new_ladder_work()[0]
        find_ladders(game.position, work, np.zeros(1, LADDERS))
        assert game.position.tobytes() == before
        assert work["n_changed"] == 0
        cells = work["cells"].reshape(5, -1)
        for row, field in enumerate(("board", "chain", "next", "liberties", "stones")):
            assert (cells[row] == game.position[field]).all(), (seed, field)
