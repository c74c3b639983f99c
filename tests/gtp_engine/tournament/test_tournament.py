"""Whole tournaments by `nobi tournament`: pairs, ratings, files, going on, and hostile names."""

from __future__ import annotations

import html.parser
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gtp_engine.match.play import ROUND
from gtp_engine.tournament.command import distinct
from tests.conftest import REPOSITORY
from tests.gtp_engine.match.conftest import nobi, stub
from tests.gtp_engine.match.zoo import processes_with
from tests.systems import PATIENCE, needs_signals, no_program

SOUTH = stub("--name", "South", "--moves", "C3")
NORTH = stub("--name", "North", "--moves", "C2")
QUITTER = stub("--name", "Quitter", "--moves", "resign")
"""South and North each play one stone, and white's komi decides; Quitter loses to both."""


run = nobi("tournament")


def small(folder: Path, games: int = 4) -> list[object]:
    return ["--size", 5, "--komi", 0.5, "--score", "board", "-n", games, "--out", folder]


class Tables(html.parser.HTMLParser):
    """The cells of a page's tables, by the table's id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: list[str] = []
        self._rows: list[list[str]] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "table":
            self._rows = self.tables.setdefault(dict(attrs)["id"] or "", [])
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self._rows[-1][-1] += data


def value(text: str) -> float:
    """`12½` as a number."""
    return float(text.replace("½", "") or 0) + 0.5 * text.endswith("½")


def test_a_tournament(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, QUITTER, SOUTH, NORTH, *small(tmp_path))
    assert code == 0
    found = json.loads((tmp_path / "results.json").read_text())
    assert [engine["name"] for engine in found["engines"]] == ["South 1.0", "North 1.0", "Quitter 1.0"]
    south, north, quitter = found["engines"]
    assert [engine["wins"] for engine in found["engines"]] == [6, 6, 0]
    assert south["elo"] == pytest.approx(north["elo"], abs=0.1)
    assert quitter["elo"] < -150
    assert north["above_next_interval"][0] < north["above_next"] < north["above_next_interval"][1]
    assert quitter["above_next"] is None
    assert [match["games"] for match in found["matches"]] == [4, 4, 4]
    assert "South 1.0" in out
    # Both colours in each pair, and varied openings: the first two games have one, the next two another.
    lines = (tmp_path / "02-03" / "record.jsonl").read_text().splitlines()
    assert [json.loads(line)["black"] for line in lines[1:]] == [0, 1, 0, 1]


def test_the_cross_table_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crasher = stub("--name", "Crasher", "--moves", "B2", "--bad", "crash@2")
    code, _, _ = run(capsys, QUITTER, SOUTH, NORTH, crasher, *small(tmp_path, 3), "--parallel", 3)
    assert code == 3
    tables = Tables((tmp_path / "results.html").read_text()).tables
    ranking, cross = tables["ranking"][1:], tables["cross"][1:]
    assert [row[1] for row in ranking] == [row[1] for row in cross]
    for row, crossed in zip(ranking, cross, strict=True):
        cells = [cell.split("/") for cell in crossed[2:-1] if cell]
        assert [games for _, games in cells] == ["3", "3", "3"]
        assert sum(value(won) for won, _ in cells) == value(crossed[-1]) == value(row[5])
    assert sum(value(row[-1]) for row in cross) == 18
    assert next(row for row in ranking if "Crasher" in row[1])[-1].endswith("crash")


NASTY = "<script>alert(1)</script>\"'&[red]\x1b[31m"


def test_hostile_names_stay_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = stub("--name", NASTY, "--moves", "resign")
    code, out, err = run(capsys, evil, "<b>=" + SOUTH, *small(tmp_path, 1))
    assert code == 0
    page = (tmp_path / "results.html").read_text()
    assert "script" not in Tables(page).tags
    assert "b" not in Tables(page).tags
    shown = [row[1] for row in Tables(page).tables["ranking"][1:]]
    assert shown == ["<b>", "<script>alert(1)</script>\"'&[red]\\x1b[31m 1.0"]
    for text in (page, out, err):
        assert all(line.isprintable() for line in text.split("\n"))
    assert "[red]" in out


def test_a_tournament_goes_on_with_more_games_and_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = ["s=" + SOUTH, "n=" + NORTH]
    assert run(capsys, *first, *small(tmp_path, 2), "--json")[0] == 0
    record = tmp_path / "01-02" / "record.jsonl"
    before = record.read_text()
    record.write_text(before + '{"game":2,"bla')  # killed while writing
    code, out, _ = run(capsys, *first, "q=" + QUITTER, *small(tmp_path, ROUND + 2), "--parallel", 2, "--json")
    assert code == 0
    assert [match["games"] for match in json.loads(out)["matches"]] == [ROUND + 2] * 3
    assert record.read_text().startswith(before)
    code, _, err = run(capsys, *reversed(first), *small(tmp_path, 2))
    assert code == 1
    assert "holds another match" in err
    assert len(err.splitlines()) == 1


def test_a_sequential_test_ends_each_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, SOUTH, QUITTER, NORTH, *small(tmp_path, 40), "--sprt", "0:200", "--json")
    assert code == 0
    games = [match["games"] for match in json.loads(out)["matches"]]
    assert max(games[0], games[2]) < 30
    assert games[1] > 10  # South and North are equal


@needs_signals
def test_interrupting_keeps_everything(tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}"
    slow = [stub("--name", f"{mark}{i}", "--bad", "hang@1") for i in range(2)]
    quick = [f"q{i}={each}" for i, each in enumerate([QUITTER, SOUTH])]
    arguments = ["tournament", *quick, *slow, *map(str, small(tmp_path, ROUND + 2)), "--parallel", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gtp_engine.cli", *arguments], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True
    )
    record = tmp_path / "01-02" / "record.jsonl"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not (record.exists() and record.read_text().count("\n") > ROUND):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == f"tournament: interrupted; go on with the same command and --out {tmp_path}"
    assert "Traceback" not in err
    assert json.loads((tmp_path / "results.json").read_text())["games"] >= ROUND
    assert processes_with(mark) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["gnugo"], 2, "a tournament has 2 to 99 engines"),
        (["a=no-such-engine", "b=x"], 1, f"a: cannot start no-such-engine: {no_program()}"),
        (["no-such-engine", "x"], 1, "engine 1: cannot start no-such-engine"),
        (["a= ", "b"], 1, "an engine's command is empty"),
        (["/no/engine=x", "b"], 1, f"engine 1: cannot start /no/engine=x: {no_program()}"),
        (["a=no-such-engine\n", "b"], 1, f"a: cannot start no-such-engine: {no_program()}"),
        (["a" * 60 + "=no-such-engine", "b"], 1, "a" * 60 + ": cannot start no-such-engine"),
        (["no-such-engine"] * 99, 1, "engine 1: cannot start no-such-engine"),
        (["no-such-engine"] * 100, 2, "a tournament has 2 to 99 engines"),
        (["a", "b", "--sprt", "5"], 2, "5 is not ELO0:ELO1"),
        ([], 2, "Missing argument"),
    ],
)
def test_bad_input_gets_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_equal_names_are_told_apart() -> None:
    commands = ["nobi", "nobi --player uct", "nobi", "gnugo"]
    names = distinct(["Nobi 1", "Nobi 1", "Nobi 1", "GNU Go"], commands)
    assert names == ["nobi (1)", "nobi --player uct", "nobi (3)", "GNU Go"]
    names = distinct(["Nobi 1", "Nobi 1", "nobi (1)"], ["nobi", "nobi", "gnugo"])
    assert len(set(names)) == 3
