"""The experiments: who plays whom, and what the command refuses."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from gtp_engine.configuration.sources import load
from gtp_engine.players import check
from gtp_engine.tournament.experiment import EXPERIMENTS, Pairing, plan
from tests.gtp_engine.match.conftest import nobi

run = nobi("experiment")


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


@pytest.mark.parametrize("seconds", [None, 0.25])
@pytest.mark.parametrize(
    ("option", "values"),
    [("workers", (1, 4)), ("time", (0.5, 2.0)), ("visits", (10, 20)), ("uct.rave_equivalence", (0, 9))],
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


def test_an_experiment_is_played_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["simulations", "--values", "5,10", "--size", 5, "--games", 2, "--out", tmp_path]
    monkeypatch.setattr("gtp_engine.tournament.experiment.can_draw", lambda: False)
    code, out, err = run(capsys, *arguments)
    assert code in (0, 3)  # with so few visits the two may not agree on a score
    assert err.splitlines()[-1].startswith("experiment: no picture: pip install matplotlib")
    assert out.startswith("2 engines, 2 games, 5x5, chinese rules, komi 7.5")
    found = json.loads((tmp_path / "results.json").read_text())
    assert sorted((engine["number"], engine["name"]) for engine in found["engines"]) == [(1, "uct 5"), (2, "uct 10")]
    record = (tmp_path / "02-01" / "record.jsonl").read_text()
    again = run(capsys, *arguments)
    assert again[:2] == (code, out)
    # Only the first of the two may have compiled the rules, and said so.
    assert again[2].splitlines() == [line for line in err.splitlines() if not line.startswith("nobi: preparing")]
    assert (tmp_path / "02-01" / "record.jsonl").read_text() == record
    code, _, err = run(capsys, *arguments, "--komi", 3)
    assert (code, "holds another match (different komi)" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["astrology"], 1, "unknown experiment astrology (known: simulations, exploration, "),
        (["rave", "--option", "nonsense"], 1, "rave nonsense=0: --set: unknown parameter: nonsense"),
        (["rave", "--values", "0,many"], 1, "rave rave_equivalence=many: --set: uct.rave_equivalence must be a number"),
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
