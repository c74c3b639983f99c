"""The experiments: who plays whom, the tables and pictures, and what the command refuses."""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
import io
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from gtp_engine import cli
from gtp_engine.configuration.sources import load
from gtp_engine.match.statistics import Tally
from gtp_engine.players import check
from gtp_engine.tournament.experiment import EXPERIMENTS, PLAYER, Pairing, findings_of, limit_text, plan
from gtp_engine.tournament.findings import COLUMNS
from gtp_engine.tournament.results import Results, Standing, rate
from nobi_machine.locks import folder_for_one

needs_matplotlib = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is missing")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run(["experiment", *(str(argument) for argument in arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_names_players_and_parameters_that_there_are(name: str) -> None:
    for engine in plan(EXPERIMENTS[name], None).engines:
        words = dict(zip(engine.arguments[::2], engine.arguments[1::2], strict=True))
        settings = [words.pop("--set")] if "--set" in words else []
        check(load(None, settings, {option[2:]: value for option, value in words.items()}))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_small_and_connected(name: str) -> None:
    experiment = EXPERIMENTS[name]
    planned = plan(experiment, None)
    assert len(planned.pairs) * experiment.games <= 450
    assert {engine for pair in planned.pairs for engine in pair} == set(range(len(planned.engines)))
    assert len({engine.label for engine in planned.engines}) == len(planned.engines)
    assert len(planned.bases) == len(experiment.values)
    assert not experiment.base or experiment.base in experiment.values


def test_the_pairings() -> None:
    base = dataclasses.replace(EXPERIMENTS["exploration"], values=("1", "2", "3"), base="2")
    assert plan(base, None).pairs == [(0, 1), (2, 1)]
    assert plan(dataclasses.replace(base, base="9"), None).pairs == [(1, 0), (2, 0)]
    assert plan(dataclasses.replace(base, pairing=Pairing.LADDER), None).pairs == [(1, 0), (2, 1)]
    assert plan(dataclasses.replace(base, pairing=Pairing.ALL), None).pairs == [(0, 1), (0, 2), (1, 2)]
    rivals = plan(dataclasses.replace(base, pairing=Pairing.RIVAL, rival="rave"), None)
    assert rivals.pairs == [(0, 3), (1, 4), (2, 5)]
    assert rivals.bases == [3, 4, 5]
    assert rivals.engines[4].label == "rave exploration=2"


def test_the_limits_of_the_engines() -> None:
    def limits(name: str, seconds: float | None) -> list[tuple[str, ...]]:
        return [engine.arguments[4:6] for engine in plan(EXPERIMENTS[name], seconds).engines[:2]]

    assert limits("exploration", None) == [("--visits", "400")] * 2
    assert limits("exploration", 0.25) == [("--time", "0.25")] * 2
    assert limits("simulations", 0.25) == [("--visits", "50"), ("--visits", "100")]
    assert EXPERIMENTS["players"].option == PLAYER
    assert limits("players", None) == [("--visits", "100"), ("--visits", "1000")]
    assert limit_text(EXPERIMENTS["exploration"], 0.25) == "0.25 s a move"
    assert limit_text(EXPERIMENTS["simulations"], 0.25) == "visits as they say"
    assert limit_text(dataclasses.replace(EXPERIMENTS["rave"], option="time"), 0.25) == "seconds a move as they say"
    assert limit_text(dataclasses.replace(EXPERIMENTS["rave"], visits=1), None) == "1 visit a move"


@pytest.mark.parametrize("seconds", [None, 0.25])
@pytest.mark.parametrize(
    ("option", "values"),
    [("workers", (1, 4)), ("time", (0.5, 2.0)), ("visits", (10, 20)), ("rave_equivalence", (0, 9))],
)
def test_every_engine_has_its_value_whatever_the_others_have_in_common(
    option: str, values: tuple[float, float], seconds: float | None
) -> None:
    """An option of the command line would win over --set. What is varied alone limits a move, if it is a limit."""
    experiment = dataclasses.replace(EXPERIMENTS["rave"], option=option, values=tuple(map(str, values)))
    found = []
    for engine in plan(experiment, seconds).engines:
        words = list(zip(engine.arguments[::2], engine.arguments[1::2], strict=True))
        settings = [value for flag, value in words if flag == "--set"]
        loaded = load(None, settings, {flag[2:]: value for flag, value in words if flag != "--set"})
        found.append({name: loaded.values[name] for name in loaded.by_hand})
    assert [each[option] for each in found] == list(values)
    limits = {option} if option in ("time", "visits") else {"visits" if seconds is None else "time"}
    assert all(each.keys() & {"time", "visits"} == limits for each in found)


def results(points: list[list[float]]) -> Results:
    """The results of engines with these points, without records."""
    array = np.array(points)
    won, lost = array.sum(axis=1), array.sum(axis=0)
    standings = [
        Standing(f"e{i}", Tally(int(won[i]), 0, int(lost[i])), 0, {"crash": 1} if i == 2 else {}, 10, 0.5)
        for i in range(len(points))
    ]
    return Results(standings, array, rate(array), [])


def test_the_tables_can_be_read() -> None:
    experiment = dataclasses.replace(EXPERIMENTS["exploration"], values=("0", "0.5", "1|2"), base="0.5")
    found = results([[0, 10, 0], [30, 0, 20], [0, 20, 0]])
    findings = findings_of(experiment, plan(experiment, None), found, "80 games")
    rows = list(csv.DictReader(io.StringIO(findings.as_csv())))
    assert tuple(rows[0]) == COLUMNS
    assert [row["value"] for row in rows] == ["0", "0.5", "1|2"]
    assert [float(row["elo"]) for row in rows] == [pytest.approx(-185, abs=8), 0, pytest.approx(0, abs=3)]
    assert all(float(row["elo_low"]) <= float(row["elo"]) <= float(row["elo_high"]) for row in rows)
    assert [row["games"] for row in rows] == ["40", "80", "40"]
    text = findings.as_markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace(r"\|", "").count("|") for line in lines} == {6}
    assert "| 0.5 | 80 | 50–0–30 | 0 | 0.050 |" in lines
    assert text.endswith("Faults: 1|2: 1 crash.\n".replace("|", r"\|"))


@needs_matplotlib
def test_the_picture_is_small_and_always_the_same(tmp_path: Path) -> None:
    experiment = dataclasses.replace(EXPERIMENTS["exploration"], values=("0", "$x_1$", "<b>"), axis="a & b")
    found = results([[0, 10, 10], [30, 0, 20], [30, 20, 0]])
    findings = findings_of(experiment, plan(experiment, None), found, "120 games")
    for name in ("a.svg", "b.svg"):
        findings.draw(tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert len(text) < 30_000
    words = ["".join(element.itertext()).strip() for element in ElementTree.fromstring(text).iter()]
    assert {"$x_1$", "<b>", "a & b", "120 games", experiment.question} <= set(words)


def test_an_experiment_is_played_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["simulations", "--values", "5,10", "--size", 5, "--games", 2, "--out", tmp_path]
    monkeypatch.setattr("gtp_engine.tournament.experiment.can_draw", lambda: False)
    code, out, err = run(capsys, *arguments)
    assert code in (0, 3)  # with so few visits the two may not agree on a score
    assert err.splitlines()[-1].startswith("experiment: no picture: pip install matplotlib")
    assert (tmp_path / "simulations.md").read_text(encoding="utf-8") == out
    rows = list(csv.DictReader((tmp_path / "simulations.csv").open()))
    assert [row["value"] for row in rows] == ["5", "10"]
    assert [int(row["games"]) + int(row["uncounted"]) for row in rows] == [2, 2]
    record = (tmp_path / "02-01" / "record.jsonl").read_text()
    again = run(capsys, *arguments)
    assert again[:2] == (code, out)
    # Only the first of the two may have compiled the rules, and said so.
    assert again[2].splitlines() == [line for line in err.splitlines() if not line.startswith("nobi: preparing")]
    assert (tmp_path / "02-01" / "record.jsonl").read_text() == record
    code, _, err = run(capsys, *arguments, "--komi", 3)
    assert (code, "holds another match (different komi)" in err) == (1, True)


def test_an_experiment_is_played_by_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with folder_for_one(tmp_path):
        code, out, err = run(capsys, "simulations", "--out", tmp_path)
    assert (code, out, err) == (1, "", f"nobi: {tmp_path}: another process is working in this folder\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["astrology"], 1, "unknown experiment astrology (known: simulations, exploration, "),
        (["rave", "--option", "nonsense"], 1, "rave nonsense=0: --set: unknown parameter: nonsense"),
        (["rave", "--values", "0,many"], 1, "rave rave_equivalence=many: --set: rave_equivalence must be a number"),
        (["rave", "--option", "maxTime", "--values", "1,soon"], 1, "rave time=soon: time must be a number"),
        (["rave", "--values", "1,1"], 1, "an experiment has 2 to 40 values, no two of them equal"),
        (["players", "--player", "uct,deep-blue"], 1, "deep-blue: unknown player deep-blue"),
        (["rave", "--picture", "x.gif"], 1, "x.gif: the picture must be a file .svg or .png"),
        (["rave", "--size", "1"], 2, "1 is no board size"),
        ([], 2, "Missing argument"),
    ],
)
def test_bad_input_gets_one_line(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    got, out, err = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
