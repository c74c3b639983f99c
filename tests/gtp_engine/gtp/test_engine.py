"""The engine's behaviour over several commands: limits, clocks, superko, scoring, pondering."""

from __future__ import annotations

import re

import pytest

from go_rules.points import BLACK, WHITE
from gtp_engine.configuration.settings import EngineSettings
from gtp_engine.session.lateness import Lateness
from search.request import Limits
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.systems import PATIENCE


def limits_of_last_search(dialogue: Dialogue) -> Limits:
    return dialogue.player.searches[-1].limits


# --- Limits and clocks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (EngineSettings(), Limits(None, 5.0)),
        (EngineSettings(visits=100), Limits(100, None)),
        (EngineSettings(time=2.0), Limits(None, 2.0, unused_time_carries_over=False)),
        (EngineSettings(visits=100, time=2.0), Limits(100, 2.0, unused_time_carries_over=False)),
    ],
)
def test_limits_without_a_clock(settings: EngineSettings, expected: Limits) -> None:
    dialogue = Dialogue(settings=settings)
    dialogue.ask("boardsize 9", "genmove b")
    assert limits_of_last_search(dialogue) == expected


def test_the_clock_limits_and_the_users_limits_hold_as_well() -> None:
    dialogue = Dialogue(settings=EngineSettings(visits=50, time=0.5))
    dialogue.session.lateness = Lateness(0.0)
    dialogue.ask("boardsize 9", "time_settings 0 30 1", "genmove b")
    assert limits_of_last_search(dialogue) == Limits(50, 0.5, unused_time_carries_over=False)
    dialogue.ask("time_left w 0.5 1", "genmove w")
    assert limits_of_last_search(dialogue).seconds == pytest.approx(0.15, abs=0.05)


def test_own_account_where_no_time_left_is_sent() -> None:
    dialogue = Dialogue(FakePlayer(thinks=0.2), EngineSettings(size="9", lag=0.5))
    dialogue.ask("time_settings 10 0 0", "genmove b")
    left = dialogue.session.clock.left
    assert 8.5 < left[BLACK].main <= 9.3
    assert left[WHITE].main == 10
    dialogue.ask("play w e5")
    assert left[WHITE].main == 10
    dialogue.ask("reg_genmove w")
    assert dialogue.session.clock.left[WHITE].main == 10
    dialogue.ask("clear_board")
    assert dialogue.session.clock.left[BLACK].main == 10


def test_settings_survive_a_new_game() -> None:
    dialogue = Dialogue()
    dialogue.ask("komi 3.5", "kata-set-rules japanese", "time_settings 100 10 1")
    rules = dialogue.ask("kata-get-rules")
    for line in ("boardsize 13", "clear_board", "boardsize 9"):
        dialogue.ask(line)
        assert dialogue.ask("get_komi") == "3.5"
        assert dialogue.ask("kata-get-rules") == rules
        assert dialogue.session.clock.control.main == 100
        assert dialogue.session.game.komi == 3.5


def test_boards_are_warmed_up_before_the_clock_starts() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="19"))
    dialogue.ask("boardsize 9", "boardsize 13 7", "clear_board", "boardsize 9")
    # Again, for its memory was given to the other size: taking it anew is nothing for a clock to pay.
    assert dialogue.player.warmed == [(19, 19), (9, 9), (13, 7), (9, 9)]


def test_a_clock_of_days_is_not_for_thinking() -> None:
    dialogue = Dialogue()
    dialogue.ask("kata-time_settings fischer-capped 259200 86400 604800 -1")  # correspondence on OGS
    assert dialogue.session.move_limits(BLACK).seconds == 120
    dialogue.ask("kata-set-param longest 30")
    assert dialogue.session.move_limits(BLACK).seconds == 30
    dialogue.ask("kata-set-param maxTime 3000")
    assert dialogue.session.move_limits(BLACK).seconds == 3000
    dialogue.ask("kata-set-param maxPlayouts 77")
    assert dialogue.session.move_limits(BLACK).playouts == 77
    dialogue.ask("time_settings 0 0 0", "kata-set-param maxTime none")
    assert dialogue.session.move_limits(BLACK) == Limits(None, None, playouts=77)


def test_move_limits_count_the_wait() -> None:
    dialogue = Dialogue()
    dialogue.ask("kgs-time_settings byoyomi 0 10 1")
    without, with_ = (dialogue.session.move_limits(BLACK, waited).seconds for waited in (0.0, 2.0))
    assert without is not None
    assert with_ == pytest.approx(without - 2.0)


# --- Moves --------------------------------------------------------------------------------------------------------


def test_superko_is_checked_whatever_the_player_says() -> None:
    """The player wants to retake a ko at once; the next best move is sent instead."""
    dialogue = Dialogue(FakePlayer(["B3"]))
    dialogue.ask("boardsize 5")
    dialogue.ask("gogui-play_sequence b b4 w c4 b a3 w d3 b b2 w c2 b c3 w pass")
    dialogue.ask("gogui-play_sequence b e1 w b3")
    # White took C3's stone with B3; black may not take back, unless the controller says that it did.
    dialogue.player.script = ["C3"]
    assert dialogue.ask("genmove b") == "A5"
    dialogue.ask("undo", "play b c3")


def test_moves_after_the_end_of_the_game() -> None:
    dialogue = Dialogue()
    dialogue.ask("gogui-play_sequence b pass w pass")
    assert dialogue.session.game.is_over
    assert dialogue.ask("genmove b") == "A9"
    assert dialogue.ask("kata-genmove_analyze w").startswith("info move B9")


@pytest.mark.parametrize("komi", ["7", "6.5"])
def test_a_button_makes_half_points(komi: str) -> None:
    dialogue = Dialogue()
    dialogue.ask("kata-set-rules aga-button", f"komi {komi}", "play b c3")
    score = dialogue.ask("final_score")
    whole = 0.0 if score == "0" else float(score[2:])
    assert (whole - float(komi)) % 1 == 0.5


# --- The end of a game --------------------------------------------------------------------------------------------

DEAD_STONE = "set_position b c5 b c4 b c3 b c2 b c1 w d5 w d4 w d3 w d2 w d1 w a1"


@pytest.mark.parametrize(
    ("rules", "score"),
    [
        ("chinese", "B+4.5"),
        ("chinese-ogs", "B+4.5"),
        ("aga", "B+4.5"),
        ("japanese", "B+5.5"),
        ("tromp-taylor", "W+6.5"),
    ],
)
def test_dead_stones_count_as_the_rules_say(rules: str, score: str) -> None:
    """Black has 15 points, white 10 and komi 0.5. Tromp and Taylor leave the white stone on the board."""
    dialogue = Dialogue(FakePlayer(dead=["A1"]))
    dialogue.ask("boardsize 5", "komi 0.5", f"kata-set-rules {rules}", DEAD_STONE, "gogui-play_sequence b pass w pass")
    assert dialogue.ask("final_score") == score


@pytest.mark.parametrize(("rules", "score", "after"), [("japanese", "B+5.5", "B+5.5"), ("chinese", "B+4.5", "B+4.5")])
def test_what_is_settled_is_counted_before_the_passes_too(rules: str, score: str, after: str) -> None:
    """The player expects 0.75 points; the white stone is dead, and every other point somebody's for sure."""
    dialogue = Dialogue(FakePlayer(dead=["A1"]))
    dialogue.ask("boardsize 5", "komi 0.5", f"kata-set-rules {rules}", DEAD_STONE)
    assert dialogue.ask("final_score") == score
    dialogue.ask("gogui-play_sequence b pass w pass")
    assert dialogue.ask("final_score") == after
    dialogue.player.dead = []
    dialogue.ask("undo", "undo")
    assert dialogue.ask("final_score") != score, "where the player thinks that it lives"


@pytest.mark.parametrize(("to_play", "score"), [("b", "B+0.5"), ("w", "W+1.5")])
def test_neutral_points_are_filled_in_turn(to_play: str, score: str) -> None:
    """Three of them between territories of eleven points, with stones, and komi 0.5."""
    dialogue = Dialogue()
    dialogue.ask("boardsize 5")
    dialogue.ask("komi 0.5")
    dialogue.ask("kata-set-rules chinese")
    dialogue.ask("set_position b b5 b b4 b b3 b b2 b b1 w d5 w d4 w d3 w d2 w d1 b c5 w c1")
    if to_play == "w":
        dialogue.ask("play b a1")
    assert dialogue.ask("final_score") == score


def test_neutral_points_are_left_once_both_have_passed() -> None:
    """Of 25 points one is black's, one white's; black would fill the first of the others and the last."""
    dialogue = Dialogue()
    dialogue.ask("boardsize 5", "komi 0.5", "kata-set-rules chinese", "gogui-play_sequence b c3 w c4")
    assert dialogue.ask("final_score") == "B+0.5"
    dialogue.ask("gogui-play_sequence b pass w pass")
    assert dialogue.ask("final_score") == "W+0.5"


def test_one_search_serves_all_questions_about_the_end() -> None:
    dialogue = Dialogue(FakePlayer(dead=["A1"]))
    dialogue.ask("boardsize 5", DEAD_STONE, "gogui-play_sequence b pass w pass")
    dialogue.ask("final_score", "final_status_list dead", "final_status_list alive", "final_status_list seki")
    assert [request.colour for request in dialogue.player.searches] == [BLACK, WHITE]
    dialogue.ask("undo", "final_score")
    assert len(dialogue.player.searches) == 4


def test_seki() -> None:
    """Neither side can play at A1 or D1: black's B1 and C1 and white's chain around them live without eyes."""
    dialogue = Dialogue()
    dialogue.ask("set_position b b1 b c1 w a2 w b2 w c2 w d2 w e2 w e1 b a3 b b3 b c3 b d3 b e3 b f3 b f2 b f1")
    dialogue.ask("gogui-play_sequence b pass w pass")
    assert dialogue.ask("final_status_list seki").split("\n") == ["A2 B2 C2 D2 E2 E1", "B1 C1"]
    assert dialogue.ask("final_status_list alive") == "A3 B3 C3 D3 E3 F3 F2 F1"
    assert dialogue.ask("final_status_list dead") == ""
    dialogue.player.dead = ["B1"]
    dialogue.ask("clear_cache")
    assert dialogue.ask("final_status_list seki") == ""
    assert dialogue.ask("final_status_list dead") == "B1 C1"


# --- Pondering ----------------------------------------------------------------------------------------------------


def test_pondering_runs_on_a_copy_until_the_next_command() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", ponder=True))
    dialogue.ask("genmove b")
    assert dialogue.player.searching.wait(PATIENCE)
    request = dialogue.player.searches[-1]
    assert (request.colour, request.limits) == (WHITE, Limits(may_stop_early=False))
    dialogue.ask("name")
    assert request.stop is not None
    assert not request.stop.is_set()
    dialogue.ask("play w e5")
    assert request.stop.is_set()
    dialogue.ask("genmove b")
    assert dialogue.player.searching.wait(PATIENCE)
    dialogue.ask("stop")
    last = dialogue.player.searches[-1].stop
    assert last is not None
    assert last.is_set()
    dialogue.session.close()
    assert not dialogue.player.searching.is_set()
    assert dialogue.player.closed


def test_no_pondering_after_resigning_or_the_last_pass() -> None:
    dialogue = Dialogue(FakePlayer(["resign", "pass"]), EngineSettings(size="9", ponder=True))
    dialogue.ask("genmove b", "play b pass", "genmove w")
    assert not dialogue.player.searching.wait(0.05)
    assert len(dialogue.player.searches) == 2


def test_pondering_has_limits() -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", ponder=True))
    dialogue.ask('kata-set-params {"maxVisitsPondering":5,"maxTimePondering":2.5,"maxPlayoutsPondering":4}')
    dialogue.ask("genmove b")
    dialogue.session.close()  # waits for the search, which is over at once
    assert dialogue.player.searches[-1].limits == Limits(5, 2.5, False, 4)


def test_pondering_goes_on_after_the_komi() -> None:
    """Some controllers tell it at every move."""
    dialogue = Dialogue(settings=EngineSettings(size="9", ponder=True))
    dialogue.ask("komi 6.5")
    dialogue.session.stop_pondering()
    assert not dialogue.player.searches
    dialogue.ask("genmove b", "komi 7.5")
    dialogue.session.close()
    assert len(dialogue.player.searches) == 3
    assert dialogue.player.searches[-1].game.komi == 7.5


# --- What people see -------------------------------------------------------------------------------------------------


def test_ogs_chat(capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = Dialogue(settings=EngineSettings(size="9", ogs_chat=True))
    dialogue.ask("genmove b")
    first, second = capsys.readouterr().err.splitlines()
    # gtp2ogs looks for variations once a line has named an engine that it knows (PvOutputParser.ts).
    assert re.search("KataGo", first)
    assert not re.search("DISCUSSION:|MALKOVICH:|MAIN:", first)
    assert second == "MALKOVICH:Visits 10 Winrate 52.00% ScoreLead 0.8 ScoreStdev 12.2 PV A9 pass"
    dialogue.player.script = ["C9"]  # not the first of the search's moves
    dialogue.ask("genmove w")
    assert capsys.readouterr().err.endswith(" PV C9 pass\n")
    dialogue.player.doublings = 2.0
    dialogue.ask("genmove b")
    (third,) = capsys.readouterr().err.splitlines()
    assert third.startswith("MALKOVICH:Visits 10 Winrate 52.00% ScoreLead 0.8 ScoreStdev 12.2 (PDA 2.00) PV ")
