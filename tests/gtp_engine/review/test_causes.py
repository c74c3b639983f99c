"""Where the points went: areas, their names, and what a second search has to confirm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, board_points, from_vertex
from gtp_engine.review.causes import CONFIRMED_BY, TEXTS, Analyse, Cause, find_cause
from nets.embedded import network_file
from search.result import MoveInfo, SearchResult
from tests.campaigns.causes import bad_moves, cause_of, verdict
from tests.campaigns.finished_positions import network, new_player
from tests.go_rules.diagrams import game_from

POSITION = """
    . . . . . . . . .
    . O O . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . X X .
    . . . . . . O . .
    . . . . . . . . .
"""
"""Black at G3 and H3, White at G2 and in the upper left."""
VISITS = 10


def at(vertex: str) -> int:
    return from_vertex(vertex, 9, 9)


def found(colour: int, lead: float, best: str, owned: dict[str, float]) -> SearchResult:
    """A result for the side to move, whose view all of it is."""
    ownership = np.array([owned.get(vertex_of[point], 0.0) for point in board_points(9, 9)], np.float32)
    move = MoveInfo(at(best), 5, 5, 0.5, 0.0, lead, 1.0, lead, 0.5, 0.4, 0.0, 5.0, 0, (at(best),))
    return SearchResult(colour, VISITS, 0.5, 0.0, lead, 1.0, lead, 5.0, (move,), ownership)


vertex_of = {at(f"{column}{row}"): f"{column}{row}" for column in "ABCDEFGHJ" for row in range(1, 10)}
CORNER = ["F1", "G1", "H1", "J1", "G2", "H2", "J2"]


def judge(losses: Callable[[int], float]) -> Analyse:
    """Black's best move is H2, after which Black owns the lower right; after any other White does. `losses(visits)` is
    what the other loses."""

    def analyse(game: Game, visits: int) -> SearchResult:
        if game.to_play == BLACK:
            return found(BLACK, 5.0, "H2", {})
        is_best = bool(game.moves) and game.moves[-1].point == at("H2")
        whites = -0.9 if is_best else 0.9
        lead = -5.0 if is_best else losses(visits) - 5.0
        return found(game.to_play, lead, "H2", dict.fromkeys(CORNER, whites))

    return analyse


def cause(losses: Callable[[int], float], move: str = "E5") -> Cause | None:
    return find_cause(game_from(POSITION, to_play=BLACK), at(move), judge(losses), VISITS)


def test_an_area_has_its_points_its_region_and_the_stones_that_change_hands() -> None:
    why = cause(lambda _visits: 12.0)
    assert why is not None
    (area,) = why.areas
    assert area.points == {at(vertex) for vertex in CORNER if vertex != "H2"}
    assert area.region == "lower right"
    assert area.change == pytest.approx(-1.8 * 6, abs=0.01)
    assert [(chain.count, chain.first) for chain in area.chains] == [(1, at("G2"))]
    assert why.loss == 12.0
    assert why.pass_cost == 12.0
    assert why.refutation == (at("H2"),)


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_it_is_said_in_four_languages(language: str) -> None:
    why = cause(lambda _visits: 12.0)
    assert why is not None
    said = why.text(language, 9)
    assert "E5" in said
    assert "H2" in said
    assert "12" in said
    assert "−11" in said
    assert {"en": "the lower right", "zh": "右下角", "ja": "右下", "ko": "우하귀"}[language] in said
    assert "{" not in said


def test_the_best_move_and_a_small_loss_have_no_cause() -> None:
    assert cause(lambda _visits: 12.0, "H2") is None
    assert cause(lambda _visits: 1.9) is None


def test_what_more_visits_do_not_say_is_not_claimed() -> None:
    assert cause(lambda visits: 12.0 if visits == VISITS else 1.0) is None
    assert cause(lambda visits: 12.0 if visits == VISITS else 5.0) is None, "less than half of it"
    why = cause(lambda visits: 12.0 if visits == VISITS else 7.0)
    assert why is not None
    assert why.loss == 7.0, "the confirming search counts"


def test_the_best_move_is_that_of_more_visits() -> None:
    sure = judge(lambda _visits: 12.0)

    def analyse(game: Game, visits: int) -> SearchResult:
        is_misled = visits == VISITS and game.to_play == BLACK
        return found(BLACK, 5.0, "E5", {}) if is_misled else sure(game, visits)

    why = find_cause(game_from(POSITION, to_play=BLACK), at("E5"), analyse, VISITS)
    assert why is not None
    assert why.best == at("H2")
    assert [area.region for area in why.areas] == ["lower right"]


def test_an_area_that_more_visits_do_not_find_is_left_out() -> None:
    sure = judge(lambda _visits: 12.0)

    def analyse(game: Game, visits: int) -> SearchResult:
        if visits == VISITS * CONFIRMED_BY and game.to_play != BLACK:
            return found(game.to_play, sure(game, visits).lead, "H2", {})
        return sure(game, visits)

    why = find_cause(game_from(POSITION, to_play=BLACK), at("E5"), analyse, VISITS)
    assert why is not None
    assert why.areas == ()
    assert why.text("en", 9) == "E5 lost about 12 points; H2 was urgent. The answer: H2."


def test_known_causes_are_found_by_the_network_that_ships() -> None:
    """A campaign in short."""
    player = new_player(network(str(network_file()), "auto"))
    small = [move for move in bad_moves() if move.before.width == 9][10:20:2]
    assert [verdict(move, cause_of(player, move, 25)) for move in small] == ["right"] * 5
    player.close()
