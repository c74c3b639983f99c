"""From a request for a move to the move: searches that end without one, and what GoGui draws meanwhile."""

from __future__ import annotations

import dataclasses
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.points import BLACK, PASS, from_vertex
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.gtp.commands import play
from gtp_engine.gtp.commands.analysis import kata_search_analyze_cancellable
from gtp_engine.gtp.commands.play import kata_search_cancellable
from gtp_engine.session.thinking import Decision, held_back
from gtp_engine.session.time_management import SMALLEST
from search.request import Limits, MoveFilter, SearchRequest
from search.result import RESIGN, SearchResult
from tests.gtp_engine.fakes import Dialogue, FakePlayer, call_of
from tests.systems import PATIENCE


class EmptyHanded(FakePlayer):
    """Finds nothing wherever it may."""

    def search(self, request: SearchRequest) -> SearchResult:
        result = super().search(request)
        return dataclasses.replace(result, moves=()) if request.may_end_empty else result


def test_a_cancelled_search_needs_no_move_and_hides_no_older_one() -> None:
    dialogue = Dialogue(EmptyHanded())
    dialogue.ask("genmove b")
    before = dialogue.session.decision
    assert before is not None
    stop = threading.Event()
    stop.set()
    decision = dialogue.session.think(BLACK, stop, may_cancel=True)
    assert decision.is_cancelled
    assert decision.result.moves == ()
    assert dialogue.session.decision is before


def test_where_the_clock_and_nobody_else_ended_it_a_move_is_found() -> None:
    dialogue = Dialogue(EmptyHanded())
    decision = dialogue.session.think(BLACK, threading.Event(), may_cancel=True)
    assert not decision.is_cancelled
    assert decision.point == decision.result.moves[0].point
    assert [request.limits.visits for request in dialogue.player.searches][1:] == [1]


def test_a_cancellable_search_that_nobody_cancels_ends_with_a_move_that_is_not_played() -> None:
    dialogue = Dialogue()
    for handler in (kata_search_cancellable, kata_search_analyze_cancellable):
        assert handler(dialogue.session, call_of("kata-search_cancellable b")).endswith("A9")
        assert dialogue.session.game.moves == []


@pytest.mark.parametrize(
    ("commands", "changes", "is_kept"),
    [
        ([], {}, True),  # nobody said how long: five seconds, or less where that is enough
        ([], {"time": 3.0}, False),
        ([], {"time": 3.0, "early_answer": True}, True),
        (["time_settings 600 0 0"], {}, True),
        (["time_settings 600 0 0"], {"time": 0.5}, False),
        (["time_settings 600 0 0"], {"time": 500.0}, True),
        (["kgs-time_settings byoyomi 0 30 3", "time_left b 30 3"], {}, False),
        (["kgs-time_settings byoyomi 0 30 3", "time_left b 30 3"], {"early_answer": True}, True),
        (["kgs-time_settings byoyomi 0 30 3", "time_left b 2 3"], {}, True),  # a period, if it ends within the two
        (["kgs-time_settings byoyomi 0 300 3", "time_left b 40 3"], {"longest": 30.0}, False),
    ],
)
def test_whether_time_left_over_is_of_use(commands: list[str], changes: dict[str, Any], is_kept: bool) -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", **changes))
    for command in commands:
        dialogue.ask(command)
    dialogue.ask("genmove b")
    assert dialogue.player.searches[-1].limits.unused_time_carries_over is is_kept


def test_a_turn_that_has_used_up_its_time_still_has_a_little() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", lag=0.0))
    dialogue.ask("kgs-time_settings byoyomi 0 10 1")
    assert dialogue.session.move_limits(BLACK, 1000.0).seconds == SMALLEST
    dialogue.ask("kata-set-param maxTime 0.001")
    assert dialogue.session.move_limits(BLACK, 1000.0).seconds == 0.001


def test_a_move_that_has_to_be_found_obeys_the_same_filter() -> None:
    dialogue = Dialogue(EmptyHanded())
    only = MoveFilter(allow={BLACK: (frozenset({from_vertex("C3", 9, 9)}), 1)})
    decision = dialogue.session.think(BLACK, threading.Event(), filter=only, may_cancel=True)
    assert [request.filter for request in dialogue.player.searches] == [only, only]
    assert decision.point == from_vertex("C3", 9, 9)


def test_nobody_looks_at_the_clock_after_the_search() -> None:
    dialogue = Dialogue()
    dialogue.ask("time_settings 60 0 0")
    looks: list[bool] = []

    class Seen(FakePlayer):
        def search(self, request: SearchRequest) -> SearchResult:
            looks.append(dialogue.pulse.look is not None)
            return super().search(request)

    dialogue.player.search = Seen().search  # type: ignore[method-assign]
    dialogue.session.think(BLACK, threading.Event())
    assert looks == [True]
    assert dialogue.pulse.look is None


def test_who_asks_for_reports_gets_them_and_gogui_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-version 1.6.0", "kata-genmove_analyze b 300")
    report = dialogue.player.searches[-1].report
    assert report is not None
    assert report.every == 3.0
    assert capsys.readouterr().err == ""


def test_gogui_draws_what_is_thought(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "DRAWING_SECONDS", 0.01)
    dialogue = Dialogue(FakePlayer(thinks=0.015), settings=EngineSettings(size="9"))
    dialogue.ask("genmove b")
    assert "gogui-gfx" not in capsys.readouterr().err
    dialogue.ask("gogui-version 1.6.0", "genmove w")
    assert capsys.readouterr().err == "gogui-gfx:\nVAR w B9 b pass\nTEXT 10 visits, 52 % for W, +0.8 points\n\n"


def test_a_move_that_is_not_allowed_is_not_played_though_the_player_chooses_it() -> None:
    class Passes(FakePlayer):
        def choose(self, game: Game, result: SearchResult) -> int:
            return PASS

    dialogue = Dialogue(Passes())
    assert dialogue.ask("kata-genmove_analyze b").endswith("play pass")
    dialogue.ask("clear_board")
    assert not dialogue.ask("kata-genmove_analyze b avoid b pass 1").endswith("play pass")
    dialogue.ask("clear_board")
    assert dialogue.ask("kata-genmove_analyze b allow b c3 1").endswith("play C3")
    dialogue.ask("clear_board")
    assert dialogue.ask("kata-genmove_analyze b avoid w pass 1").endswith("play pass")


def test_how_long_a_move_is_held_back() -> None:
    """About half a second for a move that everybody plays, five for one that nobody plays, where the scale is one."""
    game = Game(9, 9)
    settings = EngineSettings(delay_scale=1.0, delay_max=4.0)
    result = FakePlayer().search(SearchRequest(game, BLACK, Limits(visits=1)))
    point = result.moves[0].point

    def seconds(luck: float = 1.0, settings: EngineSettings = settings, **changes: Any) -> float:
        decision = Decision(BLACK, changes.pop("point", point), replace(result, **changes), 0, 0.0, 0.0)
        return held_back(settings, game, decision, luck)

    assert seconds(moves=(replace(result.moves[0], prior=0.4),)) == pytest.approx(1.0)
    assert seconds(moves=()) == 4.0
    assert seconds(0.5, moves=()) == pytest.approx(2.5)
    people = np.zeros(82)
    people[0] = 0.9
    assert seconds(likelihoods=people, point=from_vertex("A9", 9, 9)) == pytest.approx(0.5)
    assert seconds(0.1, likelihoods=people, point=PASS) == pytest.approx(0.5)
    assert seconds(0.1, likelihoods=people, point=RESIGN) == pytest.approx(0.5)
    assert seconds(settings=EngineSettings(), moves=()) == 0.0


@pytest.mark.parametrize("limit", ["kata-set-param maxTime 0.3", "time_settings 0 1 1"])
def test_a_move_is_held_back_no_longer_than_it_may_take(limit: str) -> None:
    dialogue = Dialogue(FakePlayer())
    dialogue.ask("boardsize 9", limit, 'kata-set-params {"delayMoveScale":1000,"lagBuffer":0.2}')
    began = time.monotonic()
    assert dialogue.ask("genmove b")
    assert 0.1 < time.monotonic() - began < PATIENCE
