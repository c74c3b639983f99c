"""Handicap stones: the GTP specification's pattern on every size, and free placements."""

from __future__ import annotations

import pytest

from go_rules.game import Game
from go_rules.handicap import HandicapError, fixed_handicap, free_handicap, max_fixed_handicap, max_free_handicap
from go_rules.points import MAX_SIZE, column_of, row_of, to_vertex


@pytest.mark.parametrize(
    ("n", "side", "vertices"),
    [
        (2, 19, "D4 Q16"),
        (3, 19, "D4 Q16 D16"),
        (4, 19, "D4 Q16 D16 Q4"),
        (5, 19, "D4 Q16 D16 Q4 K10"),
        (6, 19, "D4 Q16 D16 Q4 D10 Q10"),
        (7, 19, "D4 Q16 D16 Q4 D10 Q10 K10"),
        (8, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16"),
        (9, 19, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
        (9, 13, "D4 K10 D10 K4 D7 K7 G4 G10 G7"),
        (9, 9, "C3 G7 C7 G3 C5 G5 E3 E7 E5"),
        (4, 7, "C3 E5 C5 E3"),
        (4, 8, "C3 F6 C6 F3"),
        (4, 12, "C3 K10 C10 K3"),
        (4, 14, "D4 L11 D11 L4"),
        (2, 25, "D4 W22"),
    ],
)
def test_fixed_pattern(n, side, vertices):
    assert [to_vertex(point, side) for point in fixed_handicap(n, side, side)] == vertices.split()


@pytest.mark.parametrize(
    ("width", "height", "most"),
    [
        *((6, 6, 0), (6, 19, 0), (7, 7, 4), (7, 19, 4), (8, 8, 4), (9, 10, 4), (18, 18, 4)),
        *((9, 9, 9), (9, 13, 9), (25, 25, 9)),
    ],
)
def test_room_for_the_fixed_pattern(width, height, most):
    assert max_fixed_handicap(width, height) == most
    for n in (0, 1, most + 1):
        with pytest.raises(HandicapError):
            fixed_handicap(n, width, height)


@pytest.mark.parametrize(("width", "height"), [(1, 2), (2, 2), (3, 3), (5, 5), (9, 9), (4, 13), (25, 1)])
def test_any_number_of_free_stones_is_a_legal_setup(width, height):
    for n in range(1, max_free_handicap(width, height) + 1):
        points = free_handicap(n, width, height)
        assert len(set(points)) == n
        Game(width, height).place_handicap(points)
    for n in (0, max_free_handicap(width, height) + 1):
        with pytest.raises(HandicapError):
            free_handicap(n, width, height)


@pytest.mark.parametrize("side", range(9, MAX_SIZE + 1))
def test_free_stones_start_from_the_pattern_and_stay_off_the_edge(side):
    most = max_fixed_handicap(side, side)
    assert free_handicap(most, side, side) == fixed_handicap(most, side, side)
    for point in free_handicap(min(most + 4, 9), side, side):
        assert 0 < column_of(point) < side - 1
        assert 0 < row_of(point) < side - 1
