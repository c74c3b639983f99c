"""The tables, the page and the JSON of a tournament, from records that no engine has played."""

from __future__ import annotations

import importlib.util
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest

from gtp_engine.errors import UserError
from gtp_engine.match.conditions import read_conditions
from gtp_engine.match.play import Contest, open_contest
from gtp_engine.match.record import GameRecord, tally
from gtp_engine.match.statistics import Sprt
from gtp_engine.tournament.report import draw, page, print_results, write_results
from gtp_engine.tournament.results import as_json, results
from tests.gtp_engine.match.conftest import Terminal
from tests.gtp_engine.match.test_match import game
from tests.gtp_engine.tournament.test_tournament import NORTH, QUITTER, SOUTH, Tables, run, small

COMMANDS = [["weak", "--level", "<1>"], ["strong"], ["middle", "x" * 2000]]
NAMES = ["Weak", "Strong", "Middle"]


@pytest.fixture
def contests(tmp_path: Path) -> list[Contest]:
    """Weak against Strong: three losses, a draw and a win. Weak against Middle: one game that counts for nobody.
    Strong against Middle: two wins, in one of which Middle crashed, and a loss."""
    conditions = read_conditions(size=(9, 9))
    games: dict[tuple[int, int], list[GameRecord]] = {
        (0, 1): [
            game(0, "W+R"),
            game(1, "0", agreed=True, own_moves=[50, 25]),
            game(2, "B+R"),
            game(3, "B+R"),
            game(4, "W+R"),
        ],
        (0, 2): [game(0, "?", agreed=False)],
        (1, 2): [game(0, "B+R"), game(1, "W+F", reason="crash"), game(2, "W+3.5", agreed=True)],
    }
    found = []
    for sides, played in games.items():
        contest = open_contest(tmp_path, sides, COMMANDS, NAMES, conditions)
        for each in played:
            contest.record.add(each, b"(;)")
        found.append(contest)
    return found


def test_what_is_found(contests: list[Contest]) -> None:
    """A plays fifty moves in ten seconds in every game. B takes twenty, and once plays only half as many."""
    found = results(NAMES, contests)
    assert [NAMES[engine] for engine in found.ranking] == ["Strong", "Middle", "Weak"]
    assert found.points.tolist() == [[0, 1.5, 0], [3.5, 0, 2], [0, 1, 0]]
    assert found.has_faults
    told = as_json(found)
    assert told["games"] == 9
    strong, middle, weak = told["engines"]
    scored = ("name", "number", "wins", "draws", "losses", "uncounted", "score", "faults", "seconds_per_move")
    assert [strong[key] for key in scored] == ["Strong", 2, 5, 1, 2, 0, 0.6875, {}, 0.347]
    assert [middle[key] for key in scored] == ["Middle", 3, 1, 0, 2, 1, 0.3333, {"crash": 1}, 0.4]
    assert [weak[key] for key in scored] == ["Weak", 1, 1, 1, 3, 1, 0.3, {}, 0.2]
    for engine in (strong, middle, weak):
        low, high = engine["elo_interval"]
        assert engine["elo"] == pytest.approx((low + high) / 2, abs=0.11)
        assert low < engine["elo"] < high
    assert strong["above_next"] == pytest.approx(strong["elo"] - middle["elo"], abs=0.11)
    assert [match["games"] for match in told["matches"]] == [5, 1, 3]


def test_nothing_is_known_of_engines_that_have_not_played(tmp_path: Path) -> None:
    """They stand in the order of the command line."""
    names = [f"engine {number}" for number in range(99)]
    contest = open_contest(tmp_path, (0, 1), [["x"]] * 99, names, read_conditions(size=(9, 9)))
    found = results(names, [contest])
    assert found.ranking == list(range(99))
    assert not found.has_faults
    told = as_json(found)["engines"]
    assert {engine["score"] for engine in told} == {None}
    assert {engine["seconds_per_move"] for engine in told} == {0.0}
    row = Tables(page(names, found)).tables["ranking"][1]
    assert row[:3] + row[5:] == ["1", "engine 0", "+0", "0", "0", "", "0.000", "0"]


def test_the_page(tmp_path: Path, contests: list[Contest]) -> None:
    found = write_results(tmp_path, NAMES, COMMANDS, contests)
    text = (tmp_path / "results.html").read_text(encoding="utf-8")
    tables = Tables(text).tables
    head, strong, middle, weak = tables["ranking"]
    assert head[-3:] == ["score", "s/move", "faults"]
    assert (strong[:2], strong[5:]) == (["1", "Strong"], ["5½", "8", "68.8 %", "0.347", "0"])
    assert (middle[:2], middle[5:]) == (["2", "Middle"], ["1", "3", "33.3 %", "0.400", "1 crash"])
    assert (weak[:2], weak[5:]) == (["3", "Weak"], ["1½", "5", "30.0 %", "0.200", "0"])
    elo, margin = found.ratings.elo[1], found.ratings.margin(1)
    lead, its_margin = found.ratings.difference(1, 2)
    assert strong[2:5] == [
        f"{elo:+.0f}",
        f"{elo - margin:+.0f} to {elo + margin:+.0f}",
        f"{lead:.0f} ± {its_margin:.0f}",
    ]
    assert weak[4] == ""
    assert tables["cross"] == [
        ["", "engine", "1", "2", "3", "points"],
        ["1", "Strong", "", "2/3", "3½/5", "5½"],
        ["2", "Middle", "1/3", "", "", "1"],
        ["3", "Weak", "1½/5", "", "", "1½"],
    ]
    assert [row[:2] for row in tables["commands"][1:]] == [["1", "Strong"], ["2", "Middle"], ["3", "Weak"]]
    strong_command, middle_command, weak_command = (row[2] for row in tables["commands"][1:])
    assert (strong_command, weak_command) == ("strong", "weak --level '<1>'")
    assert middle_command.startswith("middle xxx")
    assert len(middle_command) == 1000
    assert text.count("different final scores") == 1
    assert "Weak and Middle gave different final scores in 1 of their games." in text


def test_what_sequential_tests_decided(
    tmp_path: Path, contests: list[Contest], capsys: pytest.CaptureFixture[str]
) -> None:
    """Weak's loss and draw were enough; what came after them counts for the score alone."""
    test = Sprt(0, 400)
    found = write_results(tmp_path, NAMES, COMMANDS, contests, test)
    looked_at = [contests[0].record.games[:2], *(contest.record.games for contest in contests[1:])]
    ratios = [test.log_likelihood_ratio(tally(games)) for games in looked_at]
    told = [match["sprt"] for match in msgspec.json.decode((tmp_path / "results.json").read_bytes())["matches"]]
    assert [match["log_likelihood_ratio"] for match in told] == [round(ratio, 3) for ratio in ratios]
    assert [(match["games"], match["accepted"]) for match in told] == [(2, 0), (1, None), (3, None)]
    print_results(found)
    verdict = f"+0 accepted after 2 games (ratio {ratios[0]:+.2f}, bounds ±2.94)."
    line = f"Weak against Strong: SPRT +0 against +400 Elo: {verdict}"
    assert line in " ".join(capsys.readouterr().out.split())
    assert line in (tmp_path / "results.html").read_text(encoding="utf-8")


def test_games_that_count_for_nobody_are_told(
    tmp_path: Path, contests: list[Contest], capsys: pytest.CaptureFixture[str]
) -> None:
    line = "Weak against Middle: 1 game counts for nobody: the engines did not agree on a winner."
    found = write_results(tmp_path, NAMES, COMMANDS, contests)
    print_results(found)
    text = " ".join(capsys.readouterr().out.split())
    assert line in text
    assert line in (tmp_path / "results.html").read_text(encoding="utf-8")
    assert text.count("for nobody") == 1
    contests[1].record.add(game(1, "?"), b"(;)")
    print_results(results(NAMES, contests))
    assert "Weak against Middle: 2 games count for nobody:" in " ".join(capsys.readouterr().out.split())


def test_the_table_on_a_terminal(contests: list[Contest], capsys: pytest.CaptureFixture[str]) -> None:
    found = results(NAMES, contests)
    print_results(found)
    out = capsys.readouterr().out
    assert out.startswith("3 engines, 9 games, 9x9, chinese rules, komi 7")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
    rows = [row for row in rows if "engine" not in row]  # the heads of the tables, as Windows draws them
    assert [row[:2] for row in rows] == [["1", "Strong"], ["2", "Middle"], ["3", "Weak"]] * 2
    assert [row[2:] for row in rows[3:]] == [["", "2/3", "3½/5", "5½"], ["1/3", "", "", "1"], ["1½/5", "", "", "1½"]]
    assert out.count("│ 3 │ Weak   │") == 2, "names are at the left"
    assert out.count("│     1½ │") == 2, "numbers are at the right"
    assert "Weak and Middle gave different final scores in 1 of their games." in out
    assert "the mean is 0" in out


def test_results_that_cannot_be_written_are_told_in_one_line(tmp_path: Path, contests: list[Contest]) -> None:
    (tmp_path / "results.html").mkdir()
    with pytest.raises(UserError, match=re.escape(f"{tmp_path}: ")):
        write_results(tmp_path, NAMES, COMMANDS, contests)


def shown(terminal: Terminal) -> str:
    """The text without escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in place of stderr. No fixture can: pytest puts its own stderr back before the test begins."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_a_bar_counts_the_games_of_this_and_of_earlier_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_for(monkeypatch)
    run(capsys, SOUTH, NORTH, QUITTER, *small(tmp_path, 1), "--json")
    assert "3/3" in shown(terminal)
    terminal = terminal_for(monkeypatch)
    _, out, _ = run(capsys, SOUTH, NORTH, QUITTER, *small(tmp_path, 2), "--json")
    bar = shown(terminal)
    assert "3/6" in bar
    assert "6/6" in bar
    assert re.findall(r"6/6 .*?([1-3]-[1-3]: \S+)", bar)[-1] == "2-3: W+R"
    assert out.count("\n") == 1, "stdout has the JSON alone"


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is missing")
def test_the_picture_is_small_and_always_the_same(tmp_path: Path, contests: list[Contest]) -> None:
    found = results(NAMES, contests)
    for name in ("a.svg", "b.svg"):
        draw(tmp_path / name, found, [1, 1, 1], ["0", "$x_1$", "<b>"], "What is better", "a & b")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert len(text) < 30_000
    words = ["".join(element.itertext()).strip() for element in ElementTree.fromstring(text).iter()]
    assert {"$x_1$", "<b>", "a & b", "What is better", "Elo against Strong"} <= set(words)
    draw(tmp_path / "c.png", found, [None, None], ["0", "1"], "", "")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
