"""Boards small enough to be solved: every rule of play and the area count have to be right for these values."""

from __future__ import annotations

import pytest

from go_rules.points import PASS, point_at
from go_rules.rules import KO_POSITIONAL, Rules
from tests.go_rules.solving import solve_with_superko, solve_without_superko


@pytest.mark.parametrize(
    ("width", "height", "value"),
    [(1, 1, 0), (2, 1, 0), (1, 3, 3), (4, 1, 4), (2, 2, 0), (2, 3, 0), (4, 2, 8), (2, 4, 8), (3, 3, 9)],
)
def test_without_superko(width, height, value):
    """van der Werf and Winands, "Solving Go for rectangular boards" (2009)."""
    assert solve_without_superko(width, height)[0] == value


def test_first_moves_on_3x3():
    _, values = solve_without_superko(3, 3)
    centre, side, corner = 9, 3, -9
    rows = [[corner, side, corner], [side, centre, side], [corner, side, corner]]
    expected = {point_at(x, y): rows[y][x] for y in range(3) for x in range(3)}
    assert values == {**expected, PASS: -9}


@pytest.mark.slow
def test_3x4_without_superko():
    assert solve_without_superko(3, 4)[0] == 4


@pytest.mark.parametrize(
    ("width", "height", "value"), [(1, 1, 0), (2, 1, 0), (3, 1, 3), (4, 1, 4), (5, 1, 0), (1, 5, 0), (2, 2, 1)]
)
def test_with_positional_superko(width, height, value):
    assert solve_with_superko(width, height, Rules(ko=KO_POSITIONAL, suicide=False)) == value
