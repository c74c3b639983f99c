"""Sets of points as rows of bits, beside sets of Python's."""

from __future__ import annotations

import random

import numpy as np
import pytest

from go_rules.tactics.life import BIT_ROWS, put_neighbours, spread

Point = tuple[int, int]


def rows(points: set[Point]) -> np.ndarray:
    result = np.zeros(BIT_ROWS, np.int64)
    for x, y in points:
        result[y + 1] |= 1 << x
    return result


def beside(point: Point) -> set[Point]:
    x, y = point
    return {(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)}


def connected(points: set[Point], allowed: set[Point]) -> set[Point]:
    found, todo = set(points), list(points)
    while todo:
        new = beside(todo.pop()) & allowed - found
        found |= new
        todo += new
    return found


@pytest.mark.parametrize(("width", "height"), [(1, 1), (25, 1), (1, 25), (9, 9), (19, 19), (25, 25)])
def test_points_spread_as_far_as_they_are_connected(width: int, height: int) -> None:
    for seed in range(60):
        generator = random.Random(seed)
        board = [(x, y) for x in range(width) for y in range(height)]
        allowed = set(generator.sample(board, round(generator.uniform(0.3, 1.0) * len(board))))
        points = set(generator.sample(sorted(allowed), min(len(allowed), generator.choice([0, 1, 2, 5]))))
        spreading = rows(points)
        spread(spreading, rows(allowed), height)
        assert (spreading == rows(connected(points, allowed))).all(), seed


@pytest.mark.parametrize(("width", "height"), [(1, 2), (6, 3), (25, 25)])
def test_neighbours(width: int, height: int) -> None:
    board = [(x, y) for x in range(width) for y in range(height)]
    for seed in range(20):
        generator = random.Random(seed)
        points = set(generator.sample(board, len(board) // 3))
        allowed = set(generator.sample(board, len(board) // 2))
        found = np.zeros(BIT_ROWS, np.int64)
        put_neighbours(rows(points), rows(allowed), height, found)
        assert (found == rows({other for point in points for other in beside(point)} & allowed)).all(), seed


def test_a_spiral_is_followed_to_its_end() -> None:
    size, x, y, direction = 25, 0, 0, (1, 0)
    path = [(x, y)]
    for length in [24, 24, 24, *(each for step in range(22, 0, -2) for each in (step, step))]:
        for _ in range(length):
            x, y = x + direction[0], y + direction[1]
            path.append((x, y))
        direction = -direction[1], direction[0]
    assert len(set(path)) == len(path)
    start = rows({path[0]})
    spread(start, rows(set(path)), size)
    assert (start == rows(set(path))).all()
