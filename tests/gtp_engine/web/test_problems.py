"""The folder of problems, when each is asked again, and how it is asked on the board."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from go_rules.game import Game
from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.sgf.grammar import split_games
from go_rules.sgf.reader import parse_sgf
from gtp_engine.errors import Refused
from gtp_engine.review.problems import Problem
from gtp_engine.web.problems import Problems
from tests.gtp_engine.fakes import FakePlayer
from tests.gtp_engine.web.browser import Browser

CENTRE = 40


def at(vertex: str) -> int:
    return from_vertex(vertex, 9, 9)


def position(*stones: str) -> Game:
    """A game with black stones here, a white one in a corner, and white to play."""
    game = Game(9, 9)
    game.set_position([(WHITE, at("J9")), *((BLACK, at(vertex)) for vertex in stones)], WHITE)
    return game


PROBLEM = Problem((at("E5"), at("E4")), at("A1"), (at("E5"),), 6.25)


@pytest.fixture
def problems(data: Path) -> Problems:
    kept = Problems()
    assert kept.add(position("C3"), PROBLEM, "Ann – Bob, move 7")
    return kept


def days_pass(problems: Problems, days: int) -> None:
    for path in problems.folder.iterdir():
        due = datetime.datetime.strptime(path.name[:8], "%Y%m%d") - datetime.timedelta(days)
        path.rename(path.with_name(due.strftime("%Y%m%d") + path.name[8:]))


def test_a_position_is_kept_once(problems: Problems) -> None:
    assert not problems.add(position("C3"), PROBLEM, "another game")
    assert not Problems().add(position("C3"), PROBLEM, "another process")
    assert problems.add(position("C4"), PROBLEM, "another position")
    assert problems.told() == {"due": 2, "count": 2, "next": datetime.date.today().isoformat()}


def test_what_is_solved_is_asked_again_after_more_and_more_days_until_it_is_known(problems: Problems) -> None:
    _, asked = problems.next()
    for days in (1, 3, 7, 21):
        assert problems.answer(asked.key, is_solved=True) == days
        days_pass(problems, days - 1)
        with pytest.raises(Refused, match="no problem is due"):
            problems.next()
        days_pass(problems, 1)
        assert problems.next()[1].key == asked.key
    assert problems.answer(asked.key, is_solved=True) == 0
    days_pass(problems, 100)
    assert problems.told() == {"due": 0, "count": 1, "next": ""}


def test_what_is_not_solved_begins_anew_on_the_next_day(problems: Problems) -> None:
    _, asked = problems.next()
    problems.answer(asked.key, is_solved=True)
    problems.answer(asked.key, is_solved=True)
    assert problems.answer(asked.key, is_solved=False) == 1
    days_pass(problems, 1)
    assert problems.answer(asked.key, is_solved=True) == 1


def test_another_process_may_have_answered_or_deleted_it(problems: Problems) -> None:
    _, asked = problems.next()
    Problems().answer(asked.key, is_solved=True)
    assert problems.answer(asked.key, is_solved=True) == 3
    next(problems.folder.iterdir()).unlink()
    assert problems.answer(asked.key, is_solved=True) == 1
    assert problems.told()["count"] == 0


def test_all_problems_are_the_games_of_one_file_with_their_answers(problems: Problems) -> None:
    problems.add(position("C4"), PROBLEM, "other")
    games = [parse_sgf(text) for text in split_games(problems.collection())]
    assert len(games) == 2
    assert [move.point for move in games[0].moves] == [at("E5"), at("E4")]
    assert games[0].to_game(before_move=1).to_play == WHITE
    assert b"GN[Ann \xe2\x80\x93 Bob, move 7]" in problems.collection()
    assert b"C[Played in the game: it lost 6.2 points.]BM[1]" in problems.collection()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"(;SZ[9]AB[aa])"])
def test_a_damaged_file_is_a_line_that_names_it(problems: Problems, content: bytes) -> None:
    (path,) = problems.folder.iterdir()
    path.write_bytes(content)
    with pytest.raises(Refused, match=path.name) as raised:
        problems.next()
    assert "\n" not in str(raised.value)


# --- On the board -------------------------------------------------------------------------------------------------


def posed(page: Browser) -> dict[str, Any]:
    assert page.ask("problem") == {}
    return page.wait("game")


def test_the_right_move_is_right_without_a_search(problems: Problems, page: Browser) -> None:
    game = posed(page)
    assert (game["person"], game["mode"], len(game["nodes"])) == (WHITE, "play", 1)
    assert game["problem"] == {"state": "open", "node": None, "loss": 0.0, "days": 0, "best": []}
    page.ask("play", node=0, point=CENTRE)
    assert page.wait("problems")["due"] == 0
    told = page.wait("nodes", lambda told: told["problem"]["state"] != "open")
    assert (told["problem"]["state"], told["problem"]["days"], told["mode"]) == ("right", 1, "analyse")
    assert told["problem"]["best"] == [CENTRE, CENTRE + 9]
    assert page.ask("problem")["key"] == "no_problem_is_due"


def test_a_wrong_move_is_answered_and_may_be_tried_again(
    problems: Problems, page: Browser, player: FakePlayer, data: Path
) -> None:
    posed(page)
    page.ask("play", node=0, point=13)
    told = page.wait("nodes", lambda told: told["problem"]["state"] == "wrong")
    assert told["problem"]["loss"] == 1.5, "the player sees every side to move 0.75 ahead"
    assert page.wait("nodes", lambda told: told["nodes"] and told["nodes"][0]["colour"] == BLACK)["mode"] == "play"
    page.ask("problem", do="again")
    assert page.wait("nodes", lambda told: told["at"] == 0)["problem"]["state"] == "open"
    page.ask("play", node=0, point=CENTRE)
    told = page.wait("nodes", lambda told: told["problem"]["state"] == "right")
    assert told["problem"]["days"] == 1, "the first answer counts"
    assert problems.told()["due"] == 0
    assert not (data / "games").exists(), "a problem is no game of the user's"


def test_an_answer_that_is_shown_is_none_of_the_persons(problems: Problems, page: Browser) -> None:
    posed(page)
    page.ask("problem", do="show")
    told = page.wait("nodes")
    assert (told["problem"]["state"], told["problem"]["best"]) == ("shown", [CENTRE, CENTRE + 9])
    assert next(problems.folder.iterdir()).name[8:11] == "-0-"
    page.ask("new", person=0)
    assert page.ask("problem", do="show")["key"] == "no_problem_on_the_board"


def test_a_game_is_searched_for_the_persons_problems(data: Path, page: Browser, player: FakePlayer) -> None:
    """The player loses 1.5 points with each move, which is too little."""
    page.ask("new", width=9, height=9, person=0)
    page.ask("play", node=0, point=CENTRE)
    page.ask("review", problems=True)
    assert page.wait("message")["texts"] == [{"key": "problems_found", "values": {"n": 0}}]
    status, headers, body = page.request("GET", "/api/problems.sgf")
    assert (status, body) == (200, b"")
    assert headers["content-disposition"] == 'attachment; filename="problems.sgf"'
