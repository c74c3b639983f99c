"""One game: every way for it to end, and who is to blame."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from go_rules.points import from_vertex
from go_rules.rule_names import preset
from gtp_engine.match import record
from gtp_engine.match.record import GameRecord
from gtp_engine.match.referee import Conduct, scores_on_board
from gtp_engine.session.clock import TimeControl
from tests.go_rules.diagrams import rows_of
from tests.go_rules.kos import TRIPLE_KO, TRIPLE_KO_CYCLE
from tests.gtp_engine.match import zoo

Play = Callable[..., GameRecord]


def test_two_passes_end_the_game_and_equal_scores_decide_it(referee_game: Play) -> None:
    game = referee_game(["--moves", "C3", "--score", "B+24.5"], ["--score", "B+24.5"])
    assert (game.result, game.reason, game.agreed) == ("B+24.5", record.WON_BY_SCORE, True)
    assert game.moves == 3
    assert game.winner == 0
    assert game.own_moves == [2, 1]


def test_resigning(referee_game: Play) -> None:
    game = referee_game(["--moves", "C3,resign"], [])
    assert (game.result, game.reason, game.winner) == ("W+R", record.RESIGNED, 1)


def test_colours_may_be_exchanged(referee_game: Play) -> None:
    game = referee_game(["--moves", "resign"], ["--moves", "C3"], black=1)
    assert (game.result, game.winner) == ("B+R", 1)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("illegal@1", record.ILLEGAL),
        ("nonsense@1", record.ILLEGAL),
        ("crash@1", record.CRASHED),
        ("fail@1", record.GARBLED),
        ("refuse@1", record.REFUSED),
    ],
)
def test_whoever_misbehaves_loses(referee_game: Play, bad: str, reason: str) -> None:
    game = referee_game(["--moves", "C3,C2"], ["--bad", bad])
    assert (game.result, game.reason, game.winner) == ("B+F", reason, 0)
    assert game.detail.startswith("engine B: ")


def test_a_hang_is_cut_short(referee_game: Play) -> None:
    game = referee_game(["--moves", "C3"], ["--bad", "hang@1"], Conduct(hang_seconds=0.5))
    assert (game.result, game.reason) == ("B+F", record.HUNG)


def test_stray_output_and_stderr_are_counted(referee_game: Play) -> None:
    game = referee_game(["--bad", "garbage@1"], ["--bad", "crash@1"])
    assert game.stray_lines == [1, 0]
    assert game.stderr_lines == [0, 1]


def test_scores_that_differ(referee_game: Play) -> None:
    game = referee_game(["--score", "B+3.5"], ["--score", "B+5.5"])
    assert (game.result, game.agreed, game.winner) == ("B+", False, 0)
    game = referee_game(["--score", "B+3.5"], ["--score", "W+5.5"])
    assert (game.result, game.agreed, game.counts) == ("?", False, False)
    assert game.scores == ["B+3.5", "W+5.5"]


def test_one_score_is_enough_and_none_counts_for_nobody(referee_game: Play) -> None:
    assert referee_game(["--score", "W+0.5"], []).result == "W+0.5"
    assert referee_game([], []).result == "?"


def test_counting_the_board_as_it_stands(referee_game: Play) -> None:
    game = referee_game(["--moves", "C3", "--score", "W+9"], [], Conduct(count_board=True))
    assert (game.result, game.scores) == ("B+24.5", [None, None])
    assert scores_on_board(preset("tromp-taylor")[0])
    assert not scores_on_board(preset("chinese")[0])
    assert not scores_on_board(preset("japanese")[0])


def test_the_move_limit(referee_game: Play) -> None:
    moves = ["--moves", "A1,B1,C1,D1", "--score", "B+1"]
    game = referee_game(moves, ["--moves", "A5,B5,C5", "--score", "B+1"], Conduct(max_moves=5))
    assert (game.moves, game.reason, game.result) == (5, record.MOVE_LIMIT, "B+1")


@pytest.mark.parametrize("count_board", [False, True])
def test_a_triple_ko_is_nobodys(referee_game: Play, count_board: bool) -> None:
    board = rows_of(TRIPLE_KO)
    stones = {letter: [f"{'ABCD'[x]}{11 - y}" for y, row in enumerate(board) for x, each in enumerate(row)
                       if each == letter] for letter in "XO"}  # fmt: skip
    turns = zip(["pass", *stones["X"]], stones["O"], strict=True)
    opening = tuple(from_vertex(vertex, 4, 11) for turn in turns for vertex in turn)
    cycle = TRIPLE_KO_CYCLE.split()
    shapes = ["--lists", "rectangular_boardsize"]
    mine, theirs = (
        [*shapes, "--moves", ",".join([*cycle[at::4]] * 2), "--score", f"{'BW'[at > 1]}+9"] for at in (1, 3)
    )
    game = referee_game(mine, theirs, Conduct(count_board=count_board), opening, width=4, height=11)
    assert (game.moves, game.result, game.reason, game.winner) == (34, "0", record.WON_BY_SCORE, None)


def test_the_referee_keeps_its_own_board_from_the_opening_on(referee_game: Play) -> None:
    opening = tuple(from_vertex(vertex, 5, 5) for vertex in ["B3", "C3", "A2", "D2", "B1", "C1", "C2", "B2"])
    game = referee_game(["--moves", "C2"], [], Conduct(), opening)  # white's last move took the ko there
    assert game.opening == ["B3", "C3", "A2", "D2", "B1", "C1", "C2", "B2"]
    assert (game.reason, game.winner, game.detail) == (record.ILLEGAL, 1, "engine A: C2 at move 9: ko")


def test_clock_is_sent_and_lateness_counted_or_punished(referee_game: Play, tmp_path: Path) -> None:
    control = TimeControl.canadian(0, 0.1, 1)
    log = tmp_path / "log"
    slow = ["--bad", "slow@1", "--lists", "time_left", "--log", str(log), "--score", "0"]
    game = referee_game(slow, ["--score", "0"], Conduct(lag=0.05), control=control)
    assert (game.late, game.result) == ([1, 0], "0")
    assert "time_settings 0 0.1 1" in log.read_text()
    assert "time_left black 0.10 1" in log.read_text()
    game = referee_game(slow, [], Conduct(lag=0.05, enforce_clock=True), control=control)
    assert (game.result, game.reason) == ("W+T", record.OVERTIME)


def test_byoyomi_is_told_of_as_it_was_announced(referee_game: Play, tmp_path: Path) -> None:
    """To an engine that knows no byo-yomi, all periods but the last are main time."""
    control, told = TimeControl.byoyomi(0.25, 1, 2), {}
    for name, known in (("periods", ["--lists", "kgs-time_settings"]), ("main time", [])):
        log = tmp_path / name
        slow = ["--bad", "slow@1", "--bad", "slow-genmove@2", "--moves", "A1,B1"]
        engine = [*slow, "--lists", "time_left", *known, "--log", str(log)]
        referee_game(engine, ["--moves", "A5,B5"], Conduct(max_moves=5), control=control)
        lines = log.read_text(encoding="utf-8").splitlines()
        told[name] = [line for line in lines if line.startswith(("time_", "kgs-time"))]
    assert told == {
        "periods": [
            "kgs-time_settings byoyomi 0.25 1 2",
            "time_left black 0.25 0",
            "time_left black 1.00 2",
            "time_left black 1.00 1",
        ],
        "main time": [
            "kgs-time_settings byoyomi 0.25 1 2",
            "time_settings 1.25 1 1",
            "time_left black 1.25 0",
            "time_left black 1.00 0",
            "time_left black 1.00 1",
        ],
    }


def test_thinking_before_the_question_is_on_the_clock(referee_game: Play) -> None:
    """An engine that takes its time to hear of a move or of its clock has used it."""
    control = TimeControl.canadian(0, 0.1, 1)
    for moment in ("slow-play@1", "slow-time_left@1"):
        lazy = ["--bad", moment, "--lists", "time_left", "--score", "0"]
        game = referee_game(["--moves", "C3", "--score", "0"], lazy, Conduct(lag=0.5), control=control)
        assert (game.late, game.longest[1] > 0.8) == ([0, 1], True), moment
        game = referee_game(["--moves", "C3"], lazy, Conduct(lag=0.5, enforce_clock=True), control=control)
        assert (game.result, game.reason) == ("B+T", record.OVERTIME), moment


def test_an_engine_that_refuses_the_terms_loses(referee_game: Play) -> None:
    game = referee_game([], ["--bad", "refuse-komi@1"])
    assert (game.result, game.reason) == ("B+F", record.TERMS_REFUSED)
    assert game.detail == "engine B: refuses `komi 0.5`: never"


# --- Hostile engines: all moments and both sides are in tests/campaigns/opponents.py -------------------------------


OTHER_MOMENTS = ("list_commands", "play", "other", "final_score", "between", "quit")


def cases() -> Iterator[tuple[str, str, int]]:
    """(kind, moment, honest side): every kind while it thinks, and every second at one more moment."""
    for number, kind in enumerate(zoo.KINDS):
        yield kind, "genmove", number % 2
        other = OTHER_MOMENTS[number // 2 % len(OTHER_MOMENTS)]
        if number % 2 == 0 and zoo.is_attack(kind, other):
            yield kind, other, number // 2 % 2


@pytest.mark.skipif(sys.platform == "win32", reason="the hostile engine uses what POSIX has")
def test_hostile_engines_lose_or_harm_nobody(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as tables:
        complaints = list(tables.map(lambda case: zoo.play(tmp_path, *case), cases()))
    assert len(complaints) > 40
    assert [complaint for complaint in complaints if complaint] == []
