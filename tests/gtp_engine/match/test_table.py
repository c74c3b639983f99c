"""What a match shows: the line of progress, the table, and the sentences below it."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import cast

import pytest

from gtp_engine.match.play import Contest
from gtp_engine.match.record import GameRecord
from gtp_engine.match.statistics import Sprt, Tally, elo, score_interval
from gtp_engine.match.table import print_result, status, summary
from tests.gtp_engine.match.test_match import TERMS, game

GAMES = [
    game(0, "B+R", longest=[1.0, 2.5], stderr_lines=[1, 2], stray_lines=[3, 4], settled_by="board"),
    game(1, "W+3.5", agreed=True, settled_by="scores", late=[2, 1]),
    game(2, "B+R", moves=50, longest=[1.5, 2.0], seconds=[10.9, 20.0]),
    game(3, "B+F", reason="crash", detail="engine A: exited (7)", longest=[3.25, 1.0]),
    game(4, "0", agreed=False, settled_by="judge"),
    game(5, "?", agreed=False),
]
"""A, which is black in every second game, wins three, and loses one by a crash."""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the clock, to be set."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def contest_with(games: list[GameRecord]) -> Contest:
    """A match that has come so far."""
    return cast(Contest, SimpleNamespace(record=SimpleNamespace(games=games)))


def test_the_status_counts_the_time_of_the_games_played_here(
    now: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two games were played in an earlier run, and each of the next takes a minute."""
    with status(["A", "B"], 6) as tell:
        for count in (3, 4, 6):
            now[0] += 60
            tell(contest_with(GAMES[:count]))
    assert capsys.readouterr().err.splitlines() == [
        "3 of 6 played; game 3: B+R (score, 50 moves)  A 3 - 0 B  3 min left",
        "4 of 6 played; game 4: B+F (crash, 100 moves)  A 3 - 1 B  2 min left",
        "6 of 6 played; game 6: ? (score, 100 moves)  A 3½ - 1½ B  0 s left",
    ]


def test_every_number_of_a_summary() -> None:
    low, high = score_interval(Tally(3, 1, 1))
    found = summary(TERMS, GAMES, Sprt(-10, 30))
    bound = found["sprt"].pop("bound")
    ratio = found["sprt"].pop("log_likelihood_ratio")
    assert bound == pytest.approx(2.944, abs=0.001)
    assert 0 < ratio < bound
    assert found == {
        "engines": ["A", "B"],
        "games": 6,
        "wins": 3,
        "draws": 1,
        "losses": 1,
        "uncounted": 1,
        "score": 0.7,
        "score_interval": [round(low, 4), round(high, 4)],
        "elo": round(elo(0.7), 1),
        "elo_interval": [round(elo(low), 1), round(elo(high), 1)],
        "as_black": [2, 0, 3],
        "as_white": [1, 1, 3],
        "faults": [{"crash": 1}, {}],
        "scores_compared": 3,
        "scores_differ": 2,
        "settled_by": {"board": 1, "scores": 1, "judge": 1},
        "late_moves": [2, 6],
        "stderr_lines": [1, 2],
        "stray_lines": [3, 4],
        "seconds_per_move": [0.203, 0.4],
        "longest_move": [3.25, 2.5],
        "moves_per_game": 91.7,
        "sprt": {"elo0": -10, "elo1": 30, "games": 6, "accepted": None},
    }


def test_a_summary_of_no_games() -> None:
    found = summary(TERMS, [])
    assert (found["games"], found["moves_per_game"], found["longest_move"]) == (0, 0, [0.0, 0.0])
    assert found["elo_interval"] == [None, None]
    assert found["seconds_per_move"] == [0.0, 0.0]
    assert "sprt" not in found


def shown(capsys: pytest.CaptureFixture[str], games: list[object], sprt: Sprt | None = None) -> list[str]:
    """The lines of a table and of what is below it."""
    print_result(TERMS, games, sprt)  # type: ignore[arg-type]
    return capsys.readouterr().out.splitlines()


def test_every_cell_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, [*GAMES])
    assert lines[0].strip() == "6 games, 9x9, chinese rules, komi 7"
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    rows = [row for row in rows if "engine" not in row]  # the head of the table, as Windows draws it
    assert rows == [
        ["A", "3½", "3", "2 of 3", "1 of 3", "0.20", "3.25", "2", "1 crash", "1"],
        ["B", "1½", "1", "1 of 3", "0 of 3", "0.40", "2.50", "6", "0", "2"],
    ]


def test_every_sentence_below_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    low, high = score_interval(Tally(3, 1, 1))
    below = [line for line in shown(capsys, [*GAMES], Sprt(-10, 30)) if line[-1:] in ".)" or line.startswith("Game")]
    first, method, *rest = below
    assert first == f"A scores 70.0 %: Elo +147 (95 %: {elo(low):+.0f} to {elo(high):+.0f}) against B."
    assert method.startswith("Elo: logistic")
    ratio = summary(TERMS, GAMES, Sprt(-10, 30))["sprt"]["log_likelihood_ratio"]
    assert rest == [
        "Final scores compared in 3 games, different in 2.",
        "Settled otherwise: 1 by judge.",
        "1 game counts for nobody: the engines did not agree on a winner.",
        f"SPRT -10 against +30 Elo: undecided after 6 games (ratio {ratio:+.2f}, bounds ±2.94).",
        "Game 4: B+F, crash: engine A: exited (7)",
    ]
