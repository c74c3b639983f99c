"""What a match shows: the line of progress, the table, and the sentences below it."""

from __future__ import annotations

import io
import os
import struct
import time

import msgspec
import pytest
from rich.cells import cell_len

from gtp_engine.match.statistics import Sprt, Tally, elo, score_interval
from gtp_engine.match.table import Progress, duration, print_table, summary
from tests.gtp_engine.match.test_match import TERMS, game
from tests.systems import IS_WINDOWS

GAMES = [
    game(0, "B+R", longest=[1.0, 2.5], stderr_lines=[1, 2], stray_lines=[3, 4], settled_by="board"),
    game(1, "W+3.5", agreed=True, settled_by="scores", late=[2, 1]),
    game(2, "B+R", moves=50, longest=[1.5, 2.0], seconds=[10.9, 20.0]),
    game(3, "B+F", reason="crash", detail="engine A: exited (7)", longest=[3.25, 1.0]),
    game(4, "0", agreed=False, settled_by="judge"),
    game(5, "?", agreed=False),
]
"""A, which is black in every second game, wins three, and loses one by a crash."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the clock, to be set."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_progress_counts_the_time_of_the_games_played_here(now: list[float]) -> None:
    """Two games were played in an earlier run, and each of the next takes a minute."""
    stream = io.StringIO()
    progress = Progress(["A", "B"], 6, stream)
    for count in (3, 4, 6):
        now[0] += 60
        progress.update(GAMES[:count])
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "3 of 6 played; game 3: B+R (score, 50 moves)  A 3 - 0 B  3 min left",
        "4 of 6 played; game 4: B+F (crash, 100 moves)  A 3 - 1 B  2 min left",
        "6 of 6 played; game 6: ? (score, 100 moves)  A 3½ - 1½ B  0 s left",
    ]


def test_progress_on_a_terminal_is_one_line(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter line covers the one before, which ends only with the match."""
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    progress = Progress(["A", "B"], 6, terminal)
    progress.finish()
    assert terminal.getvalue() == ""
    progress.update(GAMES[:4])
    progress.update([*GAMES[:4], game(4, "0", moves=7)])
    progress.finish()
    _, first, second = terminal.getvalue().split("\r")
    assert first.startswith("4 of 6 played")
    assert second.startswith("5 of 6 played")
    assert second[-1] == "\n"
    assert len(second) - 1 == len(first) > len(second.rstrip())


@pytest.mark.parametrize(
    ("names", "columns"),
    [(["A", "B"], 40), (["A" * 60, "B" * 60], 80), (["本因坊" * 20, "B"], 80), (["本因坊", "B"], 61)],
)
def test_progress_on_a_terminal_never_wraps(
    now: list[float], monkeypatch: pytest.MonkeyPatch, names: list[str], columns: int
) -> None:
    """On a second row it could not be written over. A letter of some scripts takes two columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    progress = Progress(names, 6, terminal)
    for count in (4, 5, 6):
        progress.update(GAMES[:count])
    lines = terminal.getvalue().split("\r")[1:]
    assert len(lines) == 3
    assert all(cell_len(line) == columns - 1 for line in lines)
    monkeypatch.setenv("COLUMNS", "20")
    progress.update(GAMES)
    assert terminal.getvalue().split("\r")[-1] == "6 of 6 played; game"


@pytest.mark.skipif(IS_WINDOWS, reason="needs a pseudo-terminal")
def test_the_terminal_is_that_of_the_progress(now: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdout may be a file, or another terminal."""
    import fcntl
    import termios

    monkeypatch.setenv("COLUMNS", "80")
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with open(theirs, "w", encoding="utf-8") as terminal:
        Progress(["A", "B"], 6, terminal).update(GAMES)
        assert os.read(ours, 1000) == b"\r6 of 6 played; game 6: ? (sco"
    os.close(ours)


def test_one_of_a_thing_is_not_several(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    Progress(["A", "B"], 1, stream).update([game(0, "B+R", moves=1)])
    assert stream.getvalue() == "1 of 1 played; game 1: B+R (score, 1 move)  A 1 - 0 B  0 s left\n"
    terms = msgspec.structs.replace(TERMS, visits=1)
    print_table(terms, [game(0, "B+R", agreed=True)], Sprt(0, 200))
    out = capsys.readouterr().out
    assert out.splitlines()[0].strip() == "1 game, 9x9, chinese rules, komi 7, 1 visit"
    assert "Final scores compared in 1 game, different in 0." in out
    assert "undecided after 1 game (ratio" in out


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (36000, "10.0 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


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
    print_table(TERMS, games, sprt)  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("result", "words", "verdict"),
    [
        (
            "B+R",
            "A scores 100.0 %: Elo +inf (95 %: +{bound} to +inf)",
            "SPRT +0 against +200 Elo: +200 accepted after 8 games",
        ),
        (
            "W+R",
            "A scores 0.0 %: Elo -inf (95 %: -inf to -{bound})",
            "SPRT +0 against +200 Elo: +0 accepted after 5 games",
        ),
    ],
)
def test_a_score_without_a_finite_elo(
    capsys: pytest.CaptureFixture[str], result: str, words: str, verdict: str
) -> None:
    bound = elo(score_interval(Tally(50, 0, 0))[0])
    text = "\n".join(shown(capsys, [game(number, result, black=0) for number in range(50)], Sprt(0, 200)))
    assert words.format(bound=round(bound)) in text
    assert verdict in text
    assert "count for nobody" not in text
    assert "Final scores" not in text
