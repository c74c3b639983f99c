"""The command `nobi match` around its games: names, folders, interruption, and the order of what it tells."""

from __future__ import annotations

import io
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gtp_engine.match.play import Series
from tests.gtp_engine.match.conftest import run, stub

RESIGNER = stub("--name", "Loser", "--moves", "resign")
CRASHER = stub("--name", "Crasher", "--bad", "crash@1")


def small(folder: Path | None, games: int) -> list[object]:
    options: list[object] = ["--size", 5, "--komi", 0.5, "--openings", "none", "-n", games]
    return [*options, "--out", folder] if folder is not None else options


def test_engines_of_one_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, RESIGNER, RESIGNER, *small(tmp_path / "one", 1))
    assert err.startswith("match: Loser 1.0 (A) against Loser 1.0 (B); record in ")
    _, _, err = run(capsys, RESIGNER, CRASHER, *small(tmp_path / "two", 1))
    assert err.startswith("match: Loser 1.0 against Crasher 1.0; record in ")
    _, _, err = run(capsys, RESIGNER, RESIGNER, *small(tmp_path / "three", 1), "--name-a", "me", "--name-b", "you")
    assert err.startswith("match: me against you; record in ")


def test_games_are_told_in_the_order_of_their_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Games at several tables end in any order, and the record has them as they end."""
    run(capsys, RESIGNER, CRASHER, *small(tmp_path, 4))
    record = tmp_path / "record.jsonl"
    terms, *games = record.read_text().splitlines()
    record.write_text("\n".join([terms, *reversed(games)]) + "\n")
    _, out, err = run(capsys, RESIGNER, CRASHER, *small(tmp_path, 4))
    assert re.findall(r"^Game (\d): W\+F, crash", out, re.MULTILINE) == ["2", "4"]
    assert "played" not in err, "there was nothing left to play"


def test_an_interrupted_match_says_how_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where no game has ended: then there is nothing to go on with."""
    play = Series.run

    def interrupted(series: Series, after_game: Callable[..., None]) -> None:
        def after(*ended: object) -> None:
            after_game(*ended)
            signal.raise_signal(signal.SIGINT)

        play(series, after)

    monkeypatch.setattr(Series, "run", interrupted)
    code, out, err = run(capsys, RESIGNER, RESIGNER, *small(tmp_path / "some", 3))
    assert (code, out) == (130, "")
    line = f"match: interrupted; go on with the same command and --out {tmp_path / 'some'}"
    assert line in err.splitlines()

    def at_once(_series: Series, _after_game: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Series, "run", at_once)
    code, out, err = run(capsys, RESIGNER, RESIGNER, *small(tmp_path / "none", 3))
    assert (code, out) == (130, "")
    assert "interrupted; go on" not in err


def test_without_a_folder_it_makes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, RESIGNER, RESIGNER, *small(None, 1))[0] == 0
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch("match-[0-9]{8}-[0-9]{6}", folder.name)
    assert (folder / "record.jsonl").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_of_progress_ends_with_the_match(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run(capsys, RESIGNER, RESIGNER, *small(tmp_path, 2))
    _, first, second = terminal.getvalue().split("\r")
    assert first.startswith("1 of 2 played; game 1: W+R (resignation, 0 moves)  ")
    assert second.startswith("2 of 2 played; game 2: W+R (resignation, 0 moves)  ")
    assert (first[-1] != "\n", second[-1]) == (True, "\n")
