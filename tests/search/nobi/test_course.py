"""A search that the clock or its caller has ended, led the same way once more."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK
from go_rules.rules import RULES
from nets.evaluator import Evaluator
from search.course import UNSEARCHED, Course
from search.nobi.player import PuctPlayer
from search.request import Limits, ReportRequest, SearchRequest
from search.result import SearchResult
from tests.search.evaluators import FancifulEvaluator, SlowEvaluator
from tests.search.searches import SMALL

MOVES = 12


class Game9:
    """A game of a player against itself, whose searches end at any moment; what each found, and its course."""

    def __init__(self, evaluator: Evaluator, courses: list[Course], **parameters: Any) -> None:
        self.player = PuctPlayer(evaluator, dataclasses.replace(SMALL, **parameters))
        self.player.warm_up(9, 9)
        self.courses = courses
        self.found: list[tuple[object, ...]] = []

    def play(self, leads: bool) -> None:
        game = Game(9, 9)
        for number in range(MOVES):
            course = dataclasses.replace(self.courses[number], leads=True) if leads else Course()
            stop, timer = threading.Event(), None
            is_stopped = number % 3 == 2
            seconds = None if leads or is_stopped else 0.03
            limits = Limits(None if number % 4 else 40, seconds, may_stop_early=number > 6)
            if not leads:
                self.courses.append(course)
            elif course.step == UNSEARCHED:
                stop.set()
            if is_stopped and not leads:
                timer = threading.Timer(0.02, stop.set)
                timer.start()
            report = ReportRequest(self.keep, every=0.004, ownership=number > 5)
            request = SearchRequest(game, game.to_play, limits, report=report, stop=stop, course=course)
            result = self.player.search(request)
            if timer is not None:
                timer.join()
            self.keep(result)
            if number % 5 != 3:
                game.play(game.to_play, self.player.choose(game, result))
        self.player.close()

    def keep(self, result: SearchResult) -> None:
        moves = [(move.point, move.visits, move.utility, move.lcb, move.prior, move.pv) for move in result.moves]
        owned = None if result.ownership is None else result.ownership.tobytes()
        self.found.append((result.visits, result.new_visits, result.evaluations, result.utility, moves, owned))


@pytest.mark.parametrize(
    ("evaluator", "parameters"),
    [
        (FancifulEvaluator(with_errors=True), {}),
        (FancifulEvaluator(with_errors=True), {"batch": 8, "root_noise": True}),
        (SlowEvaluator(0.003), {"batch": 4}),
    ],
    ids=["one by one", "batches", "slow"],
)
def test_the_same_course_gives_the_same_results(evaluator: Evaluator, parameters: dict[str, Any]) -> None:
    first = Game9(evaluator, [], **parameters)
    first.play(leads=False)
    assert {course.reason for course in first.courses} >= {"time", "interrupted"}
    again = Game9(evaluator, first.courses, **parameters)
    again.play(leads=True)
    assert again.found == first.found


def test_with_several_workers_a_course_gives_as_many_visits() -> None:
    evaluator = FancifulEvaluator()
    game, player = Game(9, 9), PuctPlayer(evaluator, dataclasses.replace(SMALL, workers=2))
    player.warm_up(9, 9)
    course = Course(reason="time", visits=70, leads=True, by_visits=True)
    assert 70 <= player.search(SearchRequest(game, game.to_play, Limits(), course=course)).visits <= 72
    player.close()


def test_a_tree_is_kept_whatever_lies_between_the_fields_of_a_record() -> None:
    """A record has unused bytes, in which a copy of the game has what was in its memory before."""
    game, player = Game(9, 9), PuctPlayer(FancifulEvaluator(), SMALL)
    player.search(SearchRequest(game, BLACK, Limits(20)))
    content = bytearray(b"\xff" * RULES.itemsize)
    for kind, start, *_ in RULES.fields.values():
        content[start : start + kind.itemsize] = game.record.tobytes()[start : start + kind.itemsize]
    game.record = np.frombuffer(bytes(content), RULES)[0]
    assert player.search(SearchRequest(game, BLACK, Limits(30))).new_visits == 10
    player.close()
