"""From a result to a move: temperature, resignation, passing."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, from_vertex, point_at
from go_rules.rule_names import preset
from go_rules.rules import Rules
from search.nobi.move_choice import choose_move, end_well, should_resign, temperature
from search.nobi.parameters import SearchParameters
from search.result import RESIGN, MoveInfo
from tests.go_rules.diagrams import game_from, play_all
from tests.search.searches import move_info, search_result

TROMP_TAYLOR = preset("tromp-taylor")[0]
CHINESE = preset("chinese")[0]
COLD = SearchParameters(temperature=0.0, temperature_early=0.0)


def info(point: int, choice: float, prior: float = 0.1) -> MoveInfo:
    return move_info(point, int(choice), choice=choice, prior=prior)


def drawn(parameters: SearchParameters, *moves: MoveInfo, times: int = 4000) -> Counter[int]:
    generator = np.random.default_rng(1)
    game = Game(9, 9)
    return Counter(choose_move(game, search_result(BLACK, *moves), parameters, generator) for _ in range(times))


def test_cold_choice_is_the_best() -> None:
    assert set(drawn(COLD, info(30, 10.0), info(31, 90.0), info(32, 89.0), times=20)) == {31}


@pytest.mark.parametrize(
    ("temperature", "odds"), [(1.0, pytest.approx(3.0, rel=0.15)), (0.5, pytest.approx(9.0, rel=0.25))]
)
def test_the_odds_are_to_the_power_of_one_over_the_temperature(temperature: float, odds: float) -> None:
    warm = dataclasses.replace(COLD, temperature=temperature, temperature_early=temperature)
    counts = drawn(warm, info(30, 10.0), info(31, 30.0), info(32, 0.0))
    assert counts[32] == 0
    assert counts[31] / counts[30] == odds


def test_only_unlikely_moves_are_cooled() -> None:
    warm = dataclasses.replace(COLD, temperature=0.1, temperature_early=0.1, temperature_only_below=0.2)
    counts = drawn(warm, info(30, 40.0), info(31, 45.0), info(32, 5.0), info(33, 10.0))
    assert counts[31] / counts[30] == pytest.approx(45 / 40, rel=0.15)
    assert counts[32] + counts[33] < 100


def test_priors_decide_where_nothing_was_searched() -> None:
    assert set(drawn(COLD, info(30, 0.0, prior=0.2), info(31, 0.0, prior=0.7), times=5)) == {31}
    assert set(drawn(COLD, info(30, 0.0, prior=0.0), times=5)) == {30}, "where the network knows nothing either"


def test_temperature_falls_with_the_game() -> None:
    game = Game(19, 19)
    parameters = SearchParameters()
    assert temperature(game, parameters) == pytest.approx(0.5)
    for _ in range(19):
        game.play(game.to_play, game.legal_moves(game.to_play)[0])
    assert temperature(game, parameters) == pytest.approx(0.1 + 0.4 / 2)
    moved = [(move.colour, move.point) for move in game.moves if move.point != PASS]
    set_up = Game(game.width, game.height)
    set_up.set_position(moved, BLACK)
    assert set_up.turn == len(moved)
    assert temperature(set_up, parameters) == pytest.approx(0.1 + 0.4 * 0.5 ** (len(moved) / len(game.moves)))


@pytest.mark.parametrize(
    ("recent", "lead", "resigns"),
    [
        ((-0.95, -0.95, -0.95), -20.0, True),
        ((0.0, -0.95, -0.95, -0.95), -20.0, True),
        ((-0.95, -0.95), -20.0, False),
        ((-0.95, -0.8, -0.95), -20.0, False),
        ((-0.95, -0.95, -0.95), -1.0, False),
        ((-0.95, -0.95, -0.95), 5.0, False),
    ],
)
def test_resignation(recent: tuple[float, ...], lead: float, resigns: bool) -> None:
    parameters = dataclasses.replace(COLD, resign=True)
    lost = search_result(BLACK, info(30, 9.0), lead=lead)
    assert should_resign(Game(9, 9), lost, parameters, recent) is resigns
    move = choose_move(Game(9, 9), lost, parameters, np.random.default_rng(1), recent)
    assert move == (RESIGN if resigns else 30)
    assert choose_move(Game(9, 9), lost, COLD, np.random.default_rng(1), recent) == 30


def after(moves: int, komi: float = 7.0, stones: tuple[str, ...] = ()) -> Game:
    """A game on 19x19 after so many moves, all in the upper half of the board; Tromp-Taylor rules."""
    game = Game(19, 19, komi=komi, rules=TROMP_TAYLOR)
    if stones:
        game.place_handicap([from_vertex(vertex, 19, 19) for vertex in stones])
    row, column = 0, 0
    while len(game.moves) < moves:
        point = point_at(column, row)
        column, row = (column + 1, row) if column < 18 else (0, row + 1)
        if game.is_legal(game.to_play, point) and point not in game.handicap:
            game.play(game.to_play, point)
    return game


@pytest.mark.parametrize(
    ("moves", "colour", "komi", "stones", "lead", "resigns"),
    [
        # As KataGo's shouldResign says: white has three fifths of the board's points, as moves, to catch up.
        (60, WHITE, 0.5, 4, -300.0, False),
        (90, WHITE, 0.5, 4, -57.0, False),
        (90, WHITE, 0.5, 4, -59.0, True),
        (150, WHITE, 0.5, 4, -36.0, False),
        (150, WHITE, 0.5, 4, -37.0, True),
        (150, WHITE, 0.5, 0, -8.5, False),
        (150, WHITE, 0.5, 0, -9.5, True),
        (150, WHITE, 6.5, 0, -1.0, True),
        (150, BLACK, 0.5, 4, -1.0, True),
        (60, BLACK, 0.5, 4, -1.0, True),
    ],
)
def test_white_behind_from_the_start_is_patient(
    moves: int, colour: int, komi: float, stones: int, lead: float, resigns: bool
) -> None:
    game = after(moves, komi, ("D4", "Q16", "D16", "Q4")[:stones])
    parameters = dataclasses.replace(COLD, resign=True, resign_min_score=0.0)
    assert should_resign(game, search_result(colour, info(30, 9.0), lead=lead), parameters, (-0.99,) * 5) is resigns


SETTLED = """
    . X O .
    X X O O
    X X O .
    . X O O
"""
CASES: list[tuple[str, Rules, str, int, float, float, str, str, str]] = [
    # what, rules, board, to play, komi, lead, moves before, wanted by the search, played
    ("the opponent passed, we win", TROMP_TAYLOR, SETTLED, BLACK, -0.5, 0.5, "pass", "A1", "pass"),
    ("the opponent passed, we lose", TROMP_TAYLOR, SETTLED, BLACK, 0.5, -0.5, "pass", "A1", "A1"),
    ("the opponent passed, a draw, we could win", TROMP_TAYLOR, SETTLED, BLACK, 0.0, 0.5, "pass", "A1", "A1"),
    ("nobody passed", TROMP_TAYLOR, SETTLED, BLACK, -0.5, 0.5, "", "A1", "A1"),
    ("pass", TROMP_TAYLOR, SETTLED, BLACK, -0.5, 0.5, "", "pass", "pass"),
    ("the opponent passed, the board says we lose", TROMP_TAYLOR, SETTLED, BLACK, 3.5, 4.0, "pass", "pass", "A1"),
    ("the opponent passed, we lose either way", TROMP_TAYLOR, SETTLED, BLACK, 3.5, -3.5, "pass", "pass", "pass"),
    ("friends agree that it is over", CHINESE, SETTLED, BLACK, -0.5, 1.0, "pass", "A1", "pass"),
    ("much is left to play for", CHINESE, SETTLED, BLACK, -0.5, 9.0, "pass", "A1", "A1"),
    ("agreement settles it", CHINESE, SETTLED, BLACK, 3.5, 4.0, "pass", "pass", "pass"),
    ("our own dead stones count on the board", CHINESE, SETTLED, BLACK, -5.5, 0.5, "pass", "A1", "A1"),
]


@pytest.mark.parametrize(
    ("what", "rules", "board", "colour", "komi", "lead", "before", "wanted", "played"), CASES, ids=[c[0] for c in CASES]
)
def test_ending(
    what: str, rules: Rules, board: str, colour: int, komi: float, lead: float, before: str, wanted: str, played: str
) -> None:
    game = game_from(board, to_play=3 - colour if before else colour, rules=rules, komi=komi)
    side = game.width
    if before:
        game.play(3 - colour, PASS)
    point = from_vertex(wanted, side, side)
    others = [info(from_vertex(v, side, side), 5.0) for v in ("A1", "pass") if v != wanted]
    found = end_well(game, search_result(colour, info(point, 50.0), *others, lead=lead), point)
    assert found == from_vertex(played, side, side)


def test_a_pass_that_the_search_saw_lose_ends_no_game_among_friends() -> None:
    game = game_from(SETTLED, to_play=WHITE, rules=CHINESE, komi=-0.5)
    game.play(WHITE, PASS)
    dame = info(from_vertex("A1", 4, 4), 50.0)
    for winrate, played in ((0.6, PASS), (0.3, dame.point)):
        passing = dataclasses.replace(info(PASS, 1.0), winrate=winrate)
        assert end_well(game, search_result(BLACK, dame, passing, lead=0.5), dame.point) == played


def test_dead_stones_are_captured_where_stones_count_as_they_stand() -> None:
    game = game_from(
        """
        . X . X .
        X X X X X
        O . X X X
        X X X X X
        X X X X X
        """,
        to_play=BLACK,
        rules=TROMP_TAYLOR,
        komi=0.5,
    )
    found = search_result(BLACK, info(PASS, 50.0), lead=24.0)
    assert end_well(game, found, PASS) == from_vertex("B3", 5, 5)
    game.set_rules(CHINESE)
    assert end_well(game, found, PASS) == PASS


def test_the_board_that_dead_stones_are_captured_on_need_not_be_square() -> None:
    game = game_from(
        """
        . X . X .
        X X X X X
        X X X X X
        X X X X X
        X X X X X
        O . X X X
        X X X X X
        """,
        to_play=BLACK,
        rules=TROMP_TAYLOR,
        komi=0.5,
    )
    assert end_well(game, search_result(BLACK, info(PASS, 50.0), lead=34.0), PASS) == from_vertex("B2", 5, 7)


def test_a_pass_is_played_where_there_is_nothing_else() -> None:
    """The board as it stands is lost, though the search expects to win."""
    game = game_from(SETTLED, to_play=WHITE, rules=TROMP_TAYLOR, komi=3.5)
    game.play(WHITE, PASS)
    assert end_well(game, search_result(BLACK, info(PASS, 50.0), lead=4.0), PASS) == PASS


def test_where_a_player_chose_the_pass_alone_its_next_move_is_played() -> None:
    """`value` and `gumbel` choose one move and give the others nothing; the moves are the best first all the same."""
    game = Game(5, 5, TROMP_TAYLOR, 30.0)
    play_all(game, "B C3 W pass")
    better, likelier = from_vertex("B2", 5, 5), from_vertex("D4", 5, 5)
    moves = (info(PASS, 1.0), info(better, 0.0, prior=0.1), info(likelier, 0.0, prior=0.7))
    assert end_well(game, search_result(BLACK, *moves, lead=5.0), PASS) == better
