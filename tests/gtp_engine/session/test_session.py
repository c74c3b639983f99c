"""A game by a session alone, as a server would let somebody play it: no protocol, one error, one caller at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from go_rules.points import BLACK, WHITE, from_vertex
from go_rules.rule_names import preset
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.errors import Refused
from gtp_engine.session.session import Session
from search.request import Limits, ReportRequest
from search.result import SearchResult
from tests.gtp_engine.fakes import FakePlayer
from tests.systems import PATIENCE

D4, E5 = from_vertex("D4", 9, 9), from_vertex("E5", 9, 9)
SURROUNDED = ((BLACK, "A1"), (WHITE, "A2"), (WHITE, "B1"))


def session(player: FakePlayer) -> Session:
    made = Session(EngineSettings(size="9"), lambda: player)
    made.load()
    return made


def test_a_game_from_its_first_move_to_its_record(tmp_path: Path) -> None:
    game, stop = session(FakePlayer(["E5"])), threading.Event()
    game.set_rules(preset("japanese")[0])
    game.set_komi(6.5)
    game.play(BLACK, D4)
    decision = game.think(WHITE, stop)
    assert game.game.moves[1:] == []
    game.play_decision(decision, stop)
    assert [move.point for move in game.game.moves] == [D4, E5]
    record = tmp_path / "game.sgf"
    record.write_text(game.sgf())
    game.undo(2)
    assert game.score(stop)[:2] in ("B+", "W+")
    game.new_game(9, 9)
    assert game.load_sgf(record).komi == 6.5
    assert [move.point for move in game.game.moves] == [D4, E5]
    game.close()


def test_what_is_refused_says_why_in_one_line_and_changes_nothing(tmp_path: Path) -> None:
    game = session(FakePlayer())
    game.play(BLACK, D4)
    with pytest.raises(Refused, match=r"^D4 is not allowed: occupied$"):
        game.play(WHITE, D4)
    with pytest.raises(Refused, match="not so many moves"):
        game.undo(2)
    with pytest.raises(Refused, match=r"no\.sgf: No such file"):
        game.load_sgf(tmp_path / "no.sgf")
    with pytest.raises(Refused, match="no liberties"):
        game.set_position([(colour, from_vertex(v, 9, 9)) for colour, v in SURROUNDED], BLACK)
    assert [move.point for move in game.game.moves] == [D4]


def test_what_prevents_loading_is_raised() -> None:
    def broken() -> FakePlayer:
        raise ZeroDivisionError("a bug")

    game = Session(EngineSettings(size="9"), broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        game.load()
    with pytest.raises(Refused, match="could not be loaded"):
        game.get_ready()


def test_analysis_reports_until_it_is_stopped_and_a_move_waits_for_its_end() -> None:
    game, stop, reports = session(FakePlayer()), threading.Event(), list[SearchResult]()
    reported = threading.Event()

    def on_report(found: SearchResult) -> None:
        reports.append(found)
        reported.set()

    report = ReportRequest(on_report, every=0.01)
    analysis = threading.Thread(target=game.analyse, args=(Limits(), stop), kwargs={"report": report})
    analysis.start()
    assert reported.wait(PATIENCE)
    move = threading.Thread(target=game.play, args=(BLACK, D4))
    move.start()
    move.join(0.1)
    assert move.is_alive()
    assert game.game.moves == []
    stop.set()
    analysis.join(PATIENCE)
    move.join(PATIENCE)
    assert [each.point for each in game.game.moves] == [D4]
    assert reports[0].colour == BLACK
