"""The players without a network: what they find, what their means say, how they end games, how they draw."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE, board_points, from_vertex, to_vertex
from go_rules.rule_names import PRESETS
from search.request import OWNERSHIP_AT_THE_END, Limits, SearchRequest
from search.result import SearchResult
from search.textbook.players import TextbookPlayer
from tests.go_rules.diagrams import game_from
from tests.search.solved import SUPERKO
from tests.search.textbook.making import player_of, search
from tests.search.textbook.test_ending import FINISHED

CHINESE, JAPANESE = PRESETS["chinese-ogs"][0], PRESETS["japanese"][0]

UCT = pytest.mark.parametrize("name", ["rave", "uct"])


# --- Finding moves ------------------------------------------------------------------------------------------------

THREE_IN_A_ROW = """
    . . . X O . O
    X X X X O O .
    O O O O O O O
    O O O O O O O
    O O O O O O O
    O O O O O O O
    O O . O . O O
"""
NINE_STONES = """
    . . . . . . .
    X X X X . . .
    O O O X . . .
    O O O . O . .
    O O O X . . .
    X X X X . . .
    . . . . . . .
"""
PROBLEMS = {
    # (diagram, komi that makes the result depend on it, colour to play, solution)
    "kill three in a row": (THREE_IN_A_ROW, -41.5, WHITE, "B7"),
    "live with three in a row": (THREE_IN_A_ROW, -41.5, BLACK, "B7"),
    "take nine stones": (NINE_STONES, 0.5, BLACK, "D4"),
    "save nine stones": (NINE_STONES, 0.5, WHITE, "D4"),
}


@UCT
@pytest.mark.parametrize("problem", PROBLEMS)
def test_tactics(problem: str, name: str) -> None:
    diagram, komi, colour, vertex = PROBLEMS[problem]
    result = search(player_of(name), game_from(diagram, colour, CHINESE, komi), 3000)
    assert to_vertex(result.moves[0].point, 7) == vertex


@UCT
@pytest.mark.parametrize(("first", "value"), [("B2", 9), ("B1", 3), ("A1", -9)])
def test_first_moves_on_3x3(first: str, value: int, name: str) -> None:
    """Half a point less komi than black's points minus white's by area wins for black, half a point more loses."""
    for komi in (value - 0.5, value + 0.5):
        game = Game(3, 3, SUPERKO, komi)
        game.play(BLACK, from_vertex(first, 3, 3))
        assert (search(player_of(name), game, 10000).winrate > 0.5) == (komi > value)


@UCT
def test_the_centre_of_5x5_wins_by_everything(name: str) -> None:
    player, game = player_of(name), Game(5, 5, SUPERKO, 24.5)
    result = search(player, game, 20000)
    assert to_vertex(player.choose(game, result), 5) == "C3"
    assert result.moves[0].winrate > 0.5


def test_the_visits_of_a_finished_game_leave_room_for_a_search() -> None:
    """A position of the tree that becomes the root had visits, but no moves, where the game was over in the tree."""
    player, game = player_of("rave"), Game(5, 5, CHINESE)
    game.play(BLACK, PASS)
    search(player, game, 2000)
    game.play(WHITE, PASS)
    result = search(player, game, 200)
    assert result.new_visits >= 190
    assert sum(move.visits for move in result.moves) >= 190


def test_a_second_pass_in_a_row_ends_no_game() -> None:
    """Black has passed and is asked for another move: that pass would be its own second, not an answer."""
    game = Game(5, 5, CHINESE, 0.5)
    game.play(BLACK, PASS)
    for colour, ends in ((BLACK, False), (WHITE, True)):
        result = player_of("mc", score_weight=0.0).search(SearchRequest(game, colour, Limits(visits=2000)))
        passing = next(move for move in result.moves if move.point == PASS)
        assert (passing.winrate in (0.0, 1.0)) == ends


# --- Threads, parameters ----------------------------------------------------------------------------------------------


@UCT
def test_several_workers_share_one_tree(name: str) -> None:
    result = search(player_of(name, workers=4), Game(9, 9), 3000)
    # Lost updates are rare, and no move is lost or invented.
    assert 2970 <= result.visits <= 3000
    assert abs(sum(move.visits for move in result.moves) - 2999) < 30
    assert sorted(move.point for move in result.moves) == sorted([*board_points(9, 9), PASS])


def test_a_player_that_is_closed_has_no_threads_any_more() -> None:
    before, player = set(threading.enumerate()), player_of("uct", workers=2)
    search(player, Game(5, 5, CHINESE, 0.5), 4)
    begun = set(threading.enumerate()) - before
    assert begun
    player.close()
    assert not begun & set(threading.enumerate())


def visited(result: SearchResult) -> int:
    return sum(move.visits > 0 for move in result.moves)


def test_first_play_urgency_and_exploration() -> None:
    moves = search(player_of("uct", expand_visits=1.0), Game(9, 9), 82).moves
    assert {move.visits for move in moves} == {1}, "every move is tried once before any twice"
    assert visited(search(player_of("uct", expand_visits=1.0), Game(9, 9), 400)) == 82
    lazy = player_of("uct", expand_visits=1.0, first_play_urgency=0.3, exploration=0.1)
    assert visited(search(lazy, Game(9, 9), 400)) < 41, "a low urgency leaves moves untried"
    shares = [search(player_of("uct", exploration=c), Game(5, 5), 4000).moves[0].visits for c in (0.1, 0.5, 2.0)]
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize("factor", [0.1, 1.0, 4.0])
def test_with_widening_every_move_considered_is_soon_tried_and_no_other(factor: float) -> None:
    for visits in (50, 600):
        result = search(player_of("uct", widening=factor), Game(9, 9), visits)
        assert visited(result) == min(82, max(1, int(np.ceil(factor * visits**0.5))))


# --- Flat Monte Carlo -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("visits", [26 * 40, 26 * 40 + 7])
def test_every_move_gets_the_same_number_of_playouts(workers: int, visits: int) -> None:
    result = search(player_of("mc", workers=workers), Game(5, 5), visits)
    counts = sorted(move.visits for move in result.moves)
    assert len(counts) == 26
    if workers == 1:
        assert result.visits == sum(counts) == visits
        assert counts[-1] - counts[0] == (1 if visits % 26 else 0)
    else:  # lost updates are rare
        assert visits - 5 <= sum(counts) <= visits
        assert counts[-1] - counts[0] <= 6


def test_the_best_mean_is_played_whatever_the_visits() -> None:
    player, game = player_of("mc"), Game(5, 5, CHINESE, 24.5)
    result = search(player, game, 26 * 200)
    means = [move.winrate for move in result.moves]
    assert means == sorted(means, reverse=True)
    assert np.mean(means) < result.winrate < means[0]
    assert result.winrate == pytest.approx(means[0], abs=0.03)
    assert to_vertex(player.choose(game, result), 5) == "C3"


def test_a_mean_is_what_its_playouts_say() -> None:
    """Counted again: a value is a win but for the score's small part, and means of moves add up to all playouts."""
    result = search(player_of("mc", score_weight=0.0, seed=5), Game(5, 5, CHINESE, 7.5), 26 * 50)
    for move in result.moves:
        assert move.winrate * move.visits == pytest.approx(round(move.winrate * move.visits))
    mean = np.average([move.score_mean for move in result.moves], weights=[move.visits for move in result.moves])
    assert result.ownership is not None
    assert mean == pytest.approx(result.ownership.sum() - 7.5, abs=1e-3)


def test_a_lucky_playout_promises_little() -> None:
    """On the empty board each move has two playouts, the best of which were won by the whole board."""
    result = search(player_of("mc"), Game(9, 9), 164)
    assert max(move.lead for move in result.moves) > 30
    assert abs(result.lead) < 20
    assert 0.2 < result.winrate < 0.8


# --- The end of games -------------------------------------------------------------------------------------------------


def test_territory_is_not_filled() -> None:
    """Under Japanese rules both sides pass in a finished position, whoever is ahead."""
    player = player_of("rave")
    for komi in (0.5, 30.5):
        game = game_from(FINISHED, BLACK, JAPANESE, komi)
        for colour in (BLACK, WHITE):
            player.clear()
            assert player.choose(game, search(player, game, 2000)) == PASS
            game.play(colour, PASS)


def test_the_score_of_a_finished_position() -> None:
    """28 points for black against 21 for white; ownership and lead say so for either side."""
    for rules in (CHINESE, JAPANESE):
        for colour, sign in ((BLACK, 1), (WHITE, -1)):
            game = game_from(FINISHED, colour, rules, 0.5)
            result = search(player_of("rave"), game, 2000)
            assert result.ownership is not None
            assert result.ownership.sum() * sign == pytest.approx(28 - 21, abs=2.0)
            assert result.score_mean * sign == pytest.approx(-float(game.score()), abs=2.0)


# --- Random moves -----------------------------------------------------------------------------------------------------


def draw(player: TextbookPlayer, game: Game) -> int:
    return player.choose(game, player.search(SearchRequest(game, game.to_play, Limits(seconds=5.0))))


EYES = """
    . X . X .
    X X X X O
    . O O O .
    O . . O O
"""


def test_moves_are_uniform() -> None:
    """By chi-square over the moves that are legal and fill no eye, listed by hand."""
    player, game = player_of("random"), game_from(EYES, BLACK)
    n = 1000
    counts = Counter(to_vertex(draw(player, game), 4) for _ in range(n))
    # A4 and C4 are black's eyes; E4 joins nothing but is free; A2, E2, B1 and C1 are white's.
    assert set(counts) == {"E4", "A2", "B1", "C1"}
    chi_square = sum((count - n / 4) ** 2 / (n / 4) for count in counts.values())
    assert chi_square < 16.3  # three degrees of freedom: exceeded once in a thousand seeds


ALIVE = """
    . X . X O
    X X X X O
    X O O O O
    O O . O .
"""


def test_it_passes_only_where_nothing_is_left() -> None:
    """Both sides have two eyes, and nothing else is empty: whoever is to play, there is no move but the pass."""
    player = player_of("random")
    for colour in (BLACK, WHITE):
        assert draw(player, game_from(ALIVE, colour)) == PASS
    assert all(draw(player, Game(3, 3)) != PASS for _ in range(200))


def test_it_knows_who_owns_what() -> None:
    """For final_status_list and analysis, games are played out."""
    request = SearchRequest(game_from(ALIVE, BLACK), BLACK, Limits(visits=50), report=OWNERSHIP_AT_THE_END)
    result = player_of("random").search(request)
    assert result.ownership is not None
    assert result.ownership.tolist()[:4] == [1.0] * 4
    assert result.visits == 50
    assert player_of("random").search(dataclasses.replace(request, report=None)).visits == 1
