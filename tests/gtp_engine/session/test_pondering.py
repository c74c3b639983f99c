"""Thinking on the opponent's time: on a copy of the game, ended at once, and without a word where it fails."""

from __future__ import annotations

import time

from go_rules.game import Game
from gtp_engine.session.thinking import Pondering
from search.request import Limits, SearchRequest
from search.result import SearchResult
from tests.gtp_engine.fakes import FakePlayer
from tests.systems import PATIENCE


def fail(error: BaseException) -> None:
    raise AssertionError("no error was expected") from error


def test_its_end_is_timed_from_when_it_was_asked_for_first() -> None:
    """`play` asks and does not wait; `genmove` asks again and waits."""
    pondering, player = Pondering(fail), FakePlayer(ends_late=0.4)
    assert pondering.stop() == 0.0
    pondering.start(player.search, Game(9, 9), Limits())
    assert player.searching.wait(PATIENCE)
    pondering.interrupt()
    time.sleep(0.2)
    pondering.interrupt()
    assert pondering.stop() >= 0.4
    assert pondering.stop() == 0.0


def test_a_second_search_ends_the_first() -> None:
    pondering, player = Pondering(fail), FakePlayer()
    pondering.start(player.search, Game(9, 9), Limits())
    assert player.searching.wait(PATIENCE)
    pondering.start(player.search, Game(5, 5), Limits())
    pondering.stop()
    first, second = player.searches
    assert (first.game.width, second.game.width) == (9, 5)
    assert first.stop is not second.stop


def test_an_error_is_noted_and_ends_nothing_else() -> None:
    class Broken(FakePlayer):
        def search(self, request: SearchRequest) -> SearchResult:
            raise ZeroDivisionError("a bug")

    errors: list[BaseException] = []
    pondering = Pondering(errors.append)
    pondering.start(Broken().search, Game(9, 9), Limits())
    pondering.stop()
    assert [type(error) for error in errors] == [ZeroDivisionError]
    player = FakePlayer()
    pondering.start(player.search, Game(9, 9), Limits())
    pondering.stop()
    assert len(player.searches) == 1
