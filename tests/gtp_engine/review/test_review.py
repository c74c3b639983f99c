"""`nobi review`: what it says of moves, what it writes, and one line for what cannot be."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from sgfmill import sgf

from go_rules.points import BLACK, PASS, WHITE, from_vertex
from gtp_engine import cli
from gtp_engine.review.judged import Judged, Opinion, Summary, worst
from gtp_engine.review.texts import as_json, note_of
from tests.systems import native

RECORD = "(;SZ[9]KM[7]PB[Ann & <Bob>]PW[[b\\]Carl]DT[2026-11-27];B[ee];W[gc];B[cg];W[aa];B[ff])"
QUICK = ("--visits", "16", "--set", "workers=1", "--set", "seed=1")


def opinion(colour: int, winrate: float, lead: float, *line: str) -> Opinion:
    """What a search on 9×9 thinks, and which moves it would play; the first two are equal by symmetry."""
    points = tuple(from_vertex(each, 9, 9) for each in line)
    return Opinion(colour, winrate, lead, 100, points, {point: max(0, n - 1) for n, point in enumerate(points)})


def judged(number: int, move: str, before: Opinion, after: Opinion) -> Judged:
    return Judged(number, before.colour, from_vertex(move, 9, 9), before, after)


def test_what_a_move_lost_is_its_players_view() -> None:
    by_white = judged(2, "A1", opinion(WHITE, 0.6, 3.0, "C3", "G7"), opinion(BLACK, 0.7, 6.0, "E5"))
    assert by_white.winrate_lost == pytest.approx(0.3)
    assert by_white.points_lost == pytest.approx(9.0)
    assert by_white.rank is None
    twice = judged(2, "C3", opinion(WHITE, 0.6, 3.0, "C3"), opinion(WHITE, 0.55, 5.0, "E5"))
    assert (twice.winrate_lost, twice.points_lost) == (pytest.approx(0.05), 0.0)
    assert twice.rank == 0


def test_notes_say_what_was_better() -> None:
    before, after = opinion(WHITE, 0.6, 3.0, "C3", "G7", "pass"), opinion(BLACK, 0.6, 1.0, "E5")
    note = note_of(judged(2, "A1", before, after), 9, 0.04)
    assert note.comment == (
        "Not looked at; the first is C3. Lost 20 % and 4.0 points. Black wins 60.0 %, B+1.0 (100 visits)."
    )
    assert note.properties == {"SBKV": "60.00", "SBKS": "1.00", "BM": "2"}
    (variation,) = note.variations
    assert [(move.colour, move.point) for move in variation.moves] == [
        (WHITE, from_vertex("C3", 9, 9)),
        (BLACK, from_vertex("G7", 9, 9)),
        (WHITE, PASS),
    ]
    assert variation.comment == "Better by 20 % and 4.0 points. Black wins 40.0 %, W+3.0 (100 visits)."
    assert not note_of(judged(2, "A1", before, after), 9, 0.21).variations
    by_symmetry = note_of(judged(2, "G7", before, after), 9, 0.04)
    assert by_symmetry.comment.startswith("The first choice. Lost 20 %")
    assert not by_symmetry.variations


def test_sums_and_the_worst_moves() -> None:
    losses = (0.0, 0.03, 0.05, 0.10, 0.30, 0.07)
    moves = [
        judged(n, "A1", opinion(BLACK, 0.5, 0.0, "C3"), opinion(WHITE, 0.5 + lost, 0.0, "C3"))
        for n, lost in enumerate(losses, 1)
    ]
    summary = Summary.of(moves)
    assert (summary.doubtful, summary.bad, summary.very_bad) == (2, 1, 1)
    assert summary.winrate_lost == pytest.approx(sum(losses) / 6)
    assert [move.number for move in worst(moves, 3)] == [4, 5, 6]
    assert Summary.of([]).points_lost == 0.0
    written = as_json({BLACK: "Ann", WHITE: ""}, {BLACK: summary, WHITE: Summary.of([])}, moves, 9)
    assert written["moves"][4]["winrate_lost"] == 0.3
    assert written["players"]["black"]["name"] == "Ann"


def test_a_game_is_reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.sgf"
    record.write_text(RECORD)
    assert cli.run(["review", str(target), str(record), *QUICK]) == 0
    printed = capsys.readouterr()
    assert "Black Ann & <Bob>" in printed.out
    assert "White [b]Carl" in printed.out
    assert not printed.err
    root, *nodes = sgf.Sgf_game.from_bytes(target.read_bytes()).get_main_sequence()
    assert root.get("DT") == "2026-11-27"
    assert "moves 1 to 5" in root.get("C")
    assert [node.get_move()[0] for node in nodes] == ["b", "w", "b", "w", "b"]
    for node in nodes:
        assert 0.0 <= float(node.get_raw("SBKV")) <= 100.0
        assert "Black wins" in node.get("C")
    corner = nodes[3]  # which throws the game away
    assert corner.get("BM") == 2
    assert len(nodes[2]) == 2, "what was better stands beside it"
    assert float(corner.get_raw("SBKV")) > float(nodes[2].get_raw("SBKV")) + 16


def test_a_part_of_a_game_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.sgf"
    record.write_text(RECORD.replace(")", ";W[];B[])"))
    assert cli.run(["review", str(target), str(record), *QUICK, "--from", "4", "--to", "99", "--json"]) == 0
    moves = json.loads(capsys.readouterr().out)["moves"]
    assert [(move["number"], move["colour"], move["move"]) for move in moves] == [
        (4, "W", "A9"),
        (5, "B", "F4"),
        (6, "W", "pass"),
        (7, "B", "pass"),
    ]
    assert target.read_text(encoding="utf-8").count("SBKV") == 5


@pytest.mark.skipif(os.name == "nt", reason="a signal to oneself ends the process there")
def test_what_was_found_until_an_interruption_is_written(tmp_path: Path) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "out.sgf"
    record.write_text("(;SZ[9]" + ";B[];W[]" * 400 + ")")
    codes: list[int] = []

    def interrupt() -> None:
        time.sleep(3)
        while not codes:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(30)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    codes.append(cli.run(["review", str(target), str(record), "--set", "workers=1", "--visits", "400"]))
    assert codes == [130]
    assert 0 < target.read_text(encoding="utf-8").count("SBKV") < 801


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.txt", "game.sgf"], "out.txt: the review must be a file .sgf in a folder that exists"),
        (["nowhere/out.sgf", "game.sgf"], "nowhere/out.sgf: the review must be a file .sgf in a folder that exists"),
        (["game.sgf", "game.sgf"], "game.sgf: exists already; name a new file"),
        (["out.sgf", "missing.sgf"], "missing.sgf: No such file or directory"),
        (["out.sgf", "broken.sgf"], "broken.sgf: no SGF game found"),
        (["out.sgf", "illegal.sgf"], "illegal.sgf: move 2 (white E5) is illegal: occupied"),
        (["out.sgf", "empty.sgf"], "empty.sgf: the game has 0 moves, and none from 1 to 0"),
        (["out.sgf", "game.sgf", "--from", "6"], "game.sgf: the game has 5 moves, and none from 6 to 5"),
        (["out.sgf", "game.sgf", "--from", "3", "--to", "2"], "game.sgf: the game has 5 moves, and none from 3 to 2"),
        (["out.sgf", "game.sgf", "--net", "missing.bin.gz"], "missing.bin.gz: No such file or directory"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "game.sgf").write_text(RECORD)
    (tmp_path / "broken.sgf").write_text("hello")
    (tmp_path / "illegal.sgf").write_text("(;SZ[9];B[ee];W[ee])")
    (tmp_path / "empty.sgf").write_text("(;SZ[9])")
    assert cli.run(["review", *arguments]) == 1
    assert capsys.readouterr() == ("", f"nobi: {native(message)}\n")
    assert not (tmp_path / "out.sgf").exists()
    assert (tmp_path / "game.sgf").read_text() == RECORD
