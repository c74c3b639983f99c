"""Which stones are dead, by what searches with either side to move found."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.thinking.estimate import dead_stones, lost_chains
from tests.go_rules.diagrams import game_from

BOARD = """
    . X O . O
    X X O O .
    O O X X X
    . O X . X
    . . . . .
"""


def at(vertex: str) -> int:
    return from_vertex(vertex, 5, 5)


def test_a_chain_is_lost_that_the_opponent_owns_on_average() -> None:
    game = game_from(BOARD)
    own = np.full(25, 0.5)
    assert lost_chains(game, BLACK, own) == {}
    own[1] = -0.9  # the first point of the chain B5, A4, B4
    assert lost_chains(game, BLACK, own) == pytest.approx({})
    own[5] = -0.5
    assert lost_chains(game, BLACK, own) == pytest.approx({at("B5"): 0.3})
    assert set(lost_chains(game, WHITE, np.full(25, -1.0))) == {at("C5"), at("E5"), at("A3")}


@pytest.mark.parametrize(
    ("black", "white", "dead"),
    [
        ({"B5": 0.3}, {}, {"B5", "A4", "B4"}),
        ({}, {"E5": 0.1}, {"E5"}),
        ({"B5": 0.3}, {"E5": 0.1}, {"B5", "A4", "B4", "E5"}),  # they do not touch
        ({"B5": 0.7}, {"C5": 0.6}, set()),
        ({"B5": 0.95}, {"C5": 0.9, "E5": 0.9}, {"E5"}),
        ({"B5": 0.95}, {"C5": 0.6, "A3": 0.1}, {"B5", "A4", "B4"}),
        ({"B5": 0.5, "C3": 0.9}, {"A3": 0.6}, {"C3", "D3", "E3", "C2", "E2"}),
    ],
)
def test_of_two_chains_that_touch_only_one_can_be_dead(
    black: dict[str, float], white: dict[str, float], dead: set[str]
) -> None:
    lost = ({at(vertex): sure for vertex, sure in each.items()} for each in (black, white))
    assert dead_stones(game_from(BOARD), *lost) == {at(vertex) for vertex in dead}
