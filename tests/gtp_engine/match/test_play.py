"""What a match does beside its games: openings in pairs, a comment in each SGF file, and how it ends."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.play import Contest, Series, open_contest
from gtp_engine.match.record import MatchRecord
from gtp_engine.match.statistics import Sprt
from gtp_engine.match.table import summary
from tests.gtp_engine.match.conftest import Match, stub, stub_command
from tests.gtp_engine.match.test_match import game
from tests.gtp_engine.match.zoo import processes_with

RESIGNER = stub("--name", "Loser", "--moves", "resign")


def lines_of(folder: Path) -> list[dict[str, object]]:
    """The games of a record as JSON."""
    return [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()[1:]]


def open_match(
    folder: Path, a: list[str], b: list[str], games: int, stop: threading.Event | None = None, **options: object
) -> tuple[Contest, Series]:
    """A match on 5x5 of two commands, whose record is in a folder, and what plays it."""
    conditions = read_conditions(size=(5, 5), komi=0.5, **options)  # type: ignore[arg-type]
    contest = Contest(folder, (0, 1), [a, b], ["A", "B"], conditions)
    return contest, Series([contest], conditions, games, stop=stop)


def test_two_games_have_one_opening_and_the_next_two_another(tmp_path: Path, match: Match) -> None:
    openings = tmp_path / "openings.txt"
    openings.write_text("C3\nB2 D4\nB4\n")
    options = ["--size", 5, "-n", 8, "--openings", openings, "--out", tmp_path / "match"]
    assert match(RESIGNER, RESIGNER, *options)[0] == 0
    pairs = [["C3"], ["B2", "D4"], ["B4"], ["C3"]]
    assert [game["opening"] for game in lines_of(tmp_path / "match")] == [pair for pair in pairs for _ in (0, 1)]


def comments(path: Path) -> list[str]:
    """The comments of an SGF file, and an empty text for each node that has none."""
    return [(re.findall(r"C\[((?:[^\]\\]|\\.)*)\]", node) or [""])[0] for node in path.read_text().split(";")[1:]]


def test_the_last_comment_of_a_game_says_how_it_ended(tmp_path: Path, match: Match) -> None:
    options = ["--size", 5, "--komi", 0.5, "-n", 2, "--openings", "none", "--score", "engines"]
    winner = stub("--name", "Winner", "--moves", "C3", "--score", "B+24.5")
    match(winner, stub("--name", "Quiet"), *options, "--out", tmp_path / "quiet")
    *others, last = comments(tmp_path / "quiet" / "games" / "0001.sgf")
    assert set(others) == {""}
    assert re.sub(r"[0-9.]+ s$", "T s", last, flags=re.MULTILINE).split("\n") == [
        "Game 1: B+24.5, score, by one score",
        "Winner 1.0: final_score B+24.5, T s",
        "Quiet 1.0: final_score none, T s",
    ]
    twice = stub("--name", "Twice", "--moves", "C3,B2")
    slow = stub("--name", "Slow", "--bad", "slow@1", "--bad", "crash@2")
    match(slow, twice, *options, "--out", tmp_path / "slow")
    *_, last = comments(tmp_path / "slow" / "games" / "0002.sgf")
    first, a, b = last.split("\n")
    assert first == "Game 2: B+F, crash (engine A: exited (7) at 'genmove white')"
    seconds = lines_of(tmp_path / "slow")[1]["seconds"]
    assert isinstance(seconds, list)
    assert [a, b] == [
        f"{name} 1.0: final_score none, {taken:.1f} s" for name, taken in zip(("Slow", "Twice"), seconds, strict=True)
    ]


def test_each_engine_has_its_own_file_for_stderr(tmp_path: Path, match: Match) -> None:
    match(RESIGNER, stub("--bad", "crash@1"), "--size", 5, "-n", 2, "--openings", "none", "--out", tmp_path)
    written = {path.name: path.read_text() for path in (tmp_path / "stderr").iterdir()}
    assert written == {"A-1.txt": "", "B-1.txt": "stub: crashing now\n"}


def test_a_record_that_cannot_be_written_ends_the_match_and_its_engines(tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}-unwritten"
    _, match = open_match(tmp_path, stub_command("--name", mark, "--moves", "resign"), stub_command("--name", mark), 2)
    (tmp_path / "games").rmdir()
    (tmp_path / "games").write_text("no folder")
    with pytest.raises(OSError):
        match.run(lambda _: None)
    assert lines_of(tmp_path) == []
    assert processes_with(mark) == []


def test_a_match_that_is_stopped_records_no_game_that_was_not_over(tmp_path: Path) -> None:
    """Its engines are killed under the referee, to whom they seem to have crashed."""
    resigner, mark = stub_command("--moves", "resign"), f"mark-{os.getpid()}-stopped"
    thinker = stub_command("--name", mark, "--bad", "hang@1")
    stop = threading.Event()
    _, match = open_match(tmp_path, resigner, thinker, 4, stop, opening_set="none")  # the second game never ends
    seen: list[int] = []

    def after_game(contest: Contest) -> None:
        seen.append(len(contest.record.games))
        stop.set()

    match.run(after_game)
    assert seen == [1]
    assert [game["game"] for game in lines_of(tmp_path)] == [0]
    assert processes_with(mark) == []


WINS, RESIGNS = stub_command("--moves", "C3"), stub_command("--moves", "resign")
TESTED: dict[str, object] = {"sprt": "0:200", "opening_set": "none"}


def with_games(folder: Path, winners: Mapping[int, int]) -> MatchRecord:
    """The record of a match on 5x5 between WINS and RESIGNS, in which games of these numbers have these winners."""
    conditions = read_conditions(size=(5, 5), komi=0.5, opening_set="none")
    record = MatchRecord(folder, conditions.agreed([WINS, RESIGNS], ["A", "B"]))
    for number, winner in winners.items():
        record.add(game(number, "B+R" if number % 2 == winner else "W+R"), b"(;)")
    return record


def test_games_that_still_run_when_a_test_has_decided_do_not_undo_it(tmp_path: Path) -> None:
    """Their results are in the score, and not in the test, also of a match that goes on."""
    record = with_games(tmp_path, {number: int(number >= 20) for number in range(50)})
    contest, match = open_match(tmp_path, WINS, RESIGNS, 100, **TESTED)
    assert contest.is_decided
    match.run(lambda _contest: pytest.fail("the test needs no more games"))
    found = summary(record.terms, record.games, Sprt(0, 200))
    assert (found["games"], found["score"], found["sprt"]["accepted"]) == (50, 0.4, 1)
    assert found["sprt"]["games"] < 20


def test_games_count_for_a_test_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Those that were longer than others, here the first two, are waited for."""
    with_games(tmp_path, dict.fromkeys(range(29, 1, -1), 1))
    contest, match = open_match(tmp_path, WINS, RESIGNS, 100, **TESTED)
    assert not contest.is_decided
    played: list[int] = []
    match.run(lambda contest: played.append(contest.record.games[-1].game))
    assert sorted(played) == [0, 1]
    assert contest.is_decided


def test_a_judge_is_told_to_quit_like_the_players(tmp_path: Path) -> None:
    log = tmp_path / "log"
    judge = stub("--log", str(log), "--score", "B+24.5")
    score = ["--moves", "pass", "--score"]
    _, match = open_match(
        tmp_path / "match",
        stub_command(*score, "B+3.5"),
        stub_command(*score, "W+5.5"),
        1,
        judge=judge,
        opening_set="none",
        scorer="engines",
    )
    match.run(lambda _: None)
    assert [game["settled_by"] for game in lines_of(tmp_path / "match")] == ["judge"]
    assert log.read_text().splitlines()[-1] == "quit"


# --- Several matches -----------------------------------------------------------------------------------------------


def contests_of(folder: Path, *engines: list[str], **options: object) -> tuple[list[Contest], Series]:
    """The contests of each two of the engines on 5x5, and a series of so many games in each."""
    games = options.pop("games")
    assert isinstance(games, int)
    conditions = read_conditions(size=(5, 5), opening_set="none", **options)  # type: ignore[arg-type]
    names = [f"engine {number}" for number in range(len(engines))]
    pairs = [(one, other) for one in range(len(engines)) for other in range(one + 1, len(engines))]
    found = [open_contest(folder, pair, engines, names, conditions) for pair in pairs]
    return found, Series(found, conditions, games)


def test_matches_advance_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.match.play.ROUND", 2)
    found, played = contests_of(tmp_path, RESIGNS, RESIGNS, RESIGNS, games=3)
    order: list[tuple[int, int]] = []
    played.run(lambda contest: order.append(contest.sides))
    assert order == [*[(0, 1)] * 2, *[(0, 2)] * 2, *[(1, 2)] * 2, (0, 1), (0, 2), (1, 2)]
    assert [len(contest.record.games) for contest in found] == [3, 3, 3]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01-02", "01-03", "02-03"]


def test_a_round_that_was_interrupted_is_finished_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtp_engine.match.play.ROUND", 2)
    _, played = contests_of(tmp_path, RESIGNS, RESIGNS, RESIGNS, games=1)
    played.run(lambda _: None)
    order: list[tuple[int, int]] = []
    _, played = contests_of(tmp_path, RESIGNS, RESIGNS, RESIGNS, games=4)
    played.run(lambda contest: order.append(contest.sides))
    assert order[:6] == [(0, 1), (0, 2), (1, 2), (0, 1), (0, 1), (0, 2)]
    assert len(order) == 9


class Enough(Exception):
    """Raised after a game to end a series."""


def test_a_match_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    """The first engine thinks for ever. What ends the series ends it too, and its game counts for nobody."""
    thinker = stub_command("--bad", "hang@1")
    found, played = contests_of(tmp_path, thinker, RESIGNS, RESIGNS, games=1, parallel=3, hang=20.0)
    first: list[tuple[int, int]] = []

    def after_game(contest: Contest) -> None:
        first.append(contest.sides)
        raise Enough

    with pytest.raises(Enough):
        played.run(after_game)
    assert first == [(1, 2)]
    assert [len(contest.record.games) for contest in found] == [0, 0, 1]
