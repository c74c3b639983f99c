"""The eight symmetries are a group, act alike on points, moves and planes, and are numbered as KataGo numbers them."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.points import PASS, board_points, from_vertex, to_vertex
from nets.symmetry import symmetric_point, symmetry_count, symmetry_permutations

# Where KataGo's symmetry takes B7 of a 7x7 board (upside down, left and right, then rows for columns).
B7 = {0: "B7", 1: "B1", 2: "F7", 3: "F1", 4: "A6", 5: "G6", 6: "A2", 7: "G2"}


@pytest.mark.parametrize("symmetry", B7)
def test_numbering(symmetry):
    point = symmetric_point(from_vertex("B7", 7, 7), 7, 7, symmetry)
    assert to_vertex(point, 7) == B7[symmetry]


def test_all_are_different():
    assert len({tuple(permutation) for permutation in symmetry_permutations(4, 4)}) == 8
    assert len({tuple(permutation) for permutation in symmetry_permutations(4, 6)}) == 4


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 5), (4, 7), (19, 19)])
def test_permutations_agree_with_points(width, height):
    permutations = symmetry_permutations(width, height)
    assert len(permutations) == symmetry_count(width, height)
    points = [*board_points(width, height), PASS]
    for symmetry, permutation in enumerate(permutations):
        assert [points[move] for move in permutation] == [symmetric_point(p, width, height, symmetry) for p in points]


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 2)])
def test_planes_are_turned_and_output_is_turned_back(width, height):
    area = width * height
    planes = np.arange(2 * area, dtype=np.float32).reshape(2, height, width)
    for permutation in symmetry_permutations(width, height):
        turned = np.empty((2, area), np.float32)
        turned[:, permutation[:-1]] = planes.reshape(2, area)
        # A network that answers with its own input: the answer must come back to where the input was.
        for plane in range(2):
            assert (turned[plane][permutation[:-1]] == planes[plane].ravel()).all()
            policy = np.append(turned[plane], np.float32(-1))
            assert (policy[permutation] == np.append(planes[plane].ravel(), -1)).all()
