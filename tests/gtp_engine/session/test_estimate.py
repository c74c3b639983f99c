"""Which stones are dead and what the score is, by what a network or short searches find with either side to move."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from go_rules.points import BLACK, WHITE, from_vertex
from gtp_engine.session.estimate import dead_stones, is_finished, judged, lost_chains
from search.request import SearchRequest
from search.result import SearchResult
from tests.go_rules.diagrams import game_from
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.search.evaluators import CountingEvaluator, FancifulEvaluator

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
    assert lost_chains(game, BLACK, np.full(25, 0.0)) == {}
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
        ({"B5": 0.8}, {"C5": 0.79, "A3": 0.1}, {"B5", "A4", "B4"}),
        ({"B5": 0.79}, {"C5": 0.1}, set()),
        ({"B5": 0.5, "C3": 0.9}, {"A3": 0.6}, {"C3", "D3", "E3", "C2", "E2"}),
    ],
)
def test_of_two_chains_that_touch_only_one_can_be_dead(
    black: dict[str, float], white: dict[str, float], dead: set[str]
) -> None:
    lost = ({at(vertex): sure for vertex, sure in each.items()} for each in (black, white))
    assert dead_stones(game_from(BOARD), *lost) == {at(vertex) for vertex in dead}


# --- By searches --------------------------------------------------------------------------------------------------


class Opinionated(FakePlayer):
    """Finds that all points have one ownership: `views` has it by the side to move, +1 where they are that side's."""

    def __init__(self, views: dict[int, float]) -> None:
        super().__init__()
        self.views = views

    def search(self, request: SearchRequest) -> SearchResult:
        found = super().search(request)
        area = request.game.width * request.game.height
        return dataclasses.replace(found, ownership=np.full(area, self.views[request.colour], np.float32))


def test_the_position_before_the_passes_is_searched_for_both_sides() -> None:
    dialogue, stop = Dialogue(), threading.Event()
    dialogue.ask("gogui-play_sequence b c3 w g7 b e5 w pass b pass")
    dialogue.session.estimate(stop, 0.5)
    black, white = dialogue.player.searches
    assert (black.colour, white.colour) == (BLACK, WHITE)
    for request in (black, white):
        assert [move.point for move in request.game.moves] == [from_vertex(v, 9, 9) for v in ("C3", "G7", "E5")]
        assert request.limits.seconds == 0.25
        assert request.stop is stop
    assert len(dialogue.session.game.moves) == 5


def test_a_pass_that_ends_nothing_stands() -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-play_sequence b c3 w pass")
    dialogue.session.estimate(threading.Event())
    assert [len(request.game.moves) for request in dialogue.player.searches] == [2, 2]
    button = Dialogue()
    button.ask("kata-set-rules aga-button", "gogui-play_sequence b c3 w pass b pass")
    assert not is_finished(button.session.game)
    button.ask("play w pass")
    assert is_finished(button.session.game)


def test_an_empty_board_is_not_counted() -> None:
    """No point belongs to anybody there, and neither search is sure of any."""
    dialogue = Dialogue(Opinionated({BLACK: 0.0, WHITE: 0.0}))
    dialogue.ask("kata-set-rules chinese", "komi 20.5")
    assert dialogue.ask("final_score") == "B+0.5"


def test_what_was_interrupted_is_not_kept() -> None:
    dialogue, stop = Dialogue(), threading.Event()
    dialogue.ask("gogui-play_sequence b c3 w g7")
    stop.set()
    dialogue.session.estimate(stop)
    assert dialogue.session.estimated is None
    found = dialogue.session.estimate(threading.Event())
    assert dialogue.session.estimate(threading.Event()) is found
    assert len(dialogue.player.searches) == 4


@pytest.mark.parametrize(
    ("views", "score"),
    [
        # Both searches find that the board is black's, with its one stone, and so it is counted.
        ({BLACK: 0.8, WHITE: -0.8}, "B+80.5"),
        # Black is not sure enough, or each finds the board its own. White, which is to move, expects 0.75 points.
        ({BLACK: 0.79, WHITE: -0.8}, "W+0.5"),
        ({BLACK: 0.9, WHITE: 0.9}, "W+0.5"),
    ],
)
def test_what_both_sides_are_sure_of_is_counted(views: dict[int, float], score: str) -> None:
    dialogue = Dialogue(Opinionated(views))
    dialogue.ask("kata-set-rules chinese", "komi 0.5", "play b c3")
    assert dialogue.ask("final_score") == score


# --- By a network -------------------------------------------------------------------------------------------------


def answers(turned: bool) -> list[str]:
    """What an engine says of the end of a game, with a network that thinks otherwise of each symmetry of a board."""
    dialogue = Dialogue()
    dialogue.player.evaluator = FancifulEvaluator(sharpness=3.0)
    vertices = ["C3", "G7", "D6", "F4", "C7", "E2", "H8", "B5", "G2"]
    if turned:  # columns and rows change places
        vertices = [f"{'ABCDEFGHJ'[9 - int(vertex[1])]}{9 - 'ABCDEFGHJ'.index(vertex[0])}" for vertex in vertices]
    for number, vertex in enumerate(vertices):
        dialogue.ask(f"play {'bw'[number % 2]} {vertex}")
    said = [dialogue.ask("final_score"), str(dialogue.ask("final_status_list dead").count("\n"))]
    assert dialogue.player.searches == []
    return said


def test_a_network_gives_the_same_score_however_the_board_lies() -> None:
    """All symmetries are asked, and nothing is left to chance."""
    assert answers(turned=False) == answers(turned=True) == answers(turned=False)


def test_a_board_that_networks_do_not_know_is_searched() -> None:
    dialogue = Dialogue()
    dialogue.player.evaluator = FancifulEvaluator()
    dialogue.ask("boardsize 4", "final_score")
    assert len(dialogue.player.searches) == 2


def test_a_network_is_asked_once_where_time_is_short() -> None:
    evaluator = CountingEvaluator()
    due = [False, True]
    game = game_from(BOARD)
    judged(evaluator, game, BLACK, lambda: due.pop(0))
    assert due == []
    assert judged(evaluator, game, BLACK, lambda: True).ownership.shape == (25,)


@pytest.mark.parametrize(("white", "score"), [("j9", "B+2.5"), ("j9 w j8", "B+1.5")])
def test_where_there_is_a_seki_no_neutral_point_is_filled(white: str, score: str) -> None:
    """In the corner neither side can play. Black has ten points and white seven or eight, and komi 0.5."""
    dialogue = Dialogue()
    dialogue.ask("kata-set-rules chinese", "komi 0.5")
    seki = "b b1 b c1 w a2 w b2 w c2 w d2 w e2 w e1 b a3 b b3 b c3 b d3 b e3 b f3 b f2 b f1"
    dialogue.ask(f"set_position {seki} w {white}")
    assert dialogue.ask("final_score") == score
