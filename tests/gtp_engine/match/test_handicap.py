"""Matches in which the second engine has handicap stones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from go_rules.points import to_vertex
from go_rules.sgf.reader import read_sgf
from tests.gtp_engine.match.conftest import run, stub


def test_with_a_handicap_the_second_engine_has_black_and_its_stones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    winner = stub("--name", "Winner", "--moves", "E5", "--lists", "set_free_handicap")
    resigner = stub("--name", "Loser", "--moves", "resign", "--lists", "set_free_handicap")
    options = ["--size", 9, "-n", 3, "--out", tmp_path, "--handicap", 3]
    code, out, _ = run(capsys, winner, resigner, *options)
    assert code == 0
    assert "3 games, 9x9, chinese rules, komi 0.5, 3 handicap stones" in out
    terms, *games = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()]
    assert (terms["handicap"], terms["komi"], terms["openings"]) == (3, 0.5, "none")
    assert [(game["black"], game["result"], game["moves"]) for game in games] == [(1, "W+R", 1)] * 3
    game = read_sgf(tmp_path / "games" / "0001.sgf").to_game(0)
    assert [to_vertex(point, 9) for point in game.handicap] == ["C3", "G7", "C7"]
    # More games go on in the folder; with another handicap they would be another match.
    assert run(capsys, winner, resigner, *options[:-1], 2)[0] == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--size", 5, "--handicap", 2], "a 5x5 board has no fixed handicap"),
        (["--size", 7, "--handicap", 5], "a 7x7 board has 2 to 4 stones"),
        (["--size", 9, "--handicap", 1], "1 is not in the range"),
        (
            ["--size", 9, "--handicap", 2, "--openings", "x.txt"],
            "--handicap and a file of --openings exclude each other",
        ),
    ],
)
def test_handicaps_that_there_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[object], reason: str
) -> None:
    code, _, err = run(capsys, stub(), stub(), *options, "--out", tmp_path / "match")
    assert code != 0
    assert reason in err
    assert len(err.splitlines()) == 1


def test_an_engine_that_takes_no_handicap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, stub(), stub(), "--size", 9, "--handicap", 2, "--out", tmp_path)
    assert code == 1
    assert err == "nobi: engine A refuses `set_free_handicap C3 G7`: unknown command\n"
