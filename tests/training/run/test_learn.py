"""Generations: what wins its match is kept, what does not is not."""

# ruff: noqa: E402
from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from gtp_engine import cli
from gtp_engine.match.record import BY_BOARD
from nets.katago.writer import encode_model
from tests.training.games import random_games, read_samples, write_records
from tests.training.networks import SHAPE, new_student
from training.config import (
    DataConfig,
    LearnConfig,
    OptimiserConfig,
    RecordsConfig,
    RunConfig,
    SelfplayConfig,
    TrainingConfig,
    describe,
)
from training.errors import TrainingError
from training.files import STUDENT
from training.labels.samples import sample_files
from training.run import learn as module
from training.run.learn import (
    BEST,
    CANDIDATE,
    GENERATIONS,
    MATCHES,
    SELFPLAY,
    MatchResult,
    chain_ratings,
    learn,
    with_selfplay,
)


def config(tmp_path: Path) -> TrainingConfig:
    records = write_records(tmp_path / "games.npz", random_games(count=2, length=20, seed=1))
    return TrainingConfig(
        network=SHAPE,
        run=RunConfig(batch=4, threads=1, save_every=1e6, measure_every=1e6, device="cpu"),
        data=DataConfig(
            records=RecordsConfig(path=str(records), skip=0),
            records_share=1.0,
            play_share=0.0,
            canvas_shares={"9": 1.0},
            selfplay=SelfplayConfig(visits=4, quick_visits=2, full_share=0.5),
        ),
        optimiser=OptimiserConfig(warm_up=2),
        learn=LearnConfig(games=1, match_sizes=(9,)),
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / STUDENT).write_bytes(encode_model(new_student().to_model("first", has_optimistic=True)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("is_stronger", [True, False])
def test_a_candidate_must_win_its_match(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch, is_stronger: bool
) -> None:
    first = (run / STUDENT).read_bytes()
    monkeypatch.setattr(
        module, "play_match", lambda candidate, best, size, *rest: MatchResult(size, 3, 0, 1, 0.0, 1.0, is_stronger)
    )
    assert learn(run, config(tmp_path), generations=1, budget=0.5, threads=1) == int(is_stronger)
    candidate = (run / CANDIDATE).read_bytes()
    assert candidate != first
    for name in (BEST, STUDENT):  # what `make weights` would ship
        assert (run / name).read_bytes() == (candidate if is_stronger else first)
    history = json.loads((run / GENERATIONS).read_text())
    assert [generation["kept"] for generation in history] == [is_stronger]


@pytest.mark.slow
def test_an_interrupted_match_goes_on_with_its_candidate(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def match(candidate: Path, best: Path, size: int, settings: LearnConfig, out: Path, threads: int) -> MatchResult:
        judged.append((candidate.read_bytes(), out.name))
        if len(judged) == 1:
            raise KeyboardInterrupt
        return MatchResult(size, 1, 0, 0, 0.0, 1.0, True)

    monkeypatch.setattr(module, "play_match", match)
    with pytest.raises(KeyboardInterrupt):
        learn(run, config(tmp_path), generations=1, budget=0.5, threads=1)
    games = sample_files(run / SELFPLAY / "1")
    assert learn(run, config(tmp_path), generations=1, budget=0.5, threads=1) == 1
    assert judged[0] == judged[1]
    assert sample_files(run / SELFPLAY / "1") == games
    assert learn(run, config(tmp_path), generations=1, budget=0.5, threads=1) == 1  # and the next is another one
    assert judged[2][0] != judged[1][0]
    assert [name for _, name in judged] == ["1-9", "1-9", "2-9"]
    files = [path for number in "12" for path in sample_files(run / SELFPLAY / number)]
    planes = [read_samples(path).planes[-1].tobytes() for path in files]
    assert len(set(planes)) == len(planes) == 2


@pytest.mark.slow
def test_a_whole_generation_from_the_command_line(tmp_path: Path, run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "learn.toml"
    whole = config(tmp_path)
    learning = dataclasses.replace(whole.learn, match_games=2, match_visits=2)
    settings.write_text(describe(dataclasses.replace(whole, learn=learning)))
    command = ["learn", str(run), "--config", str(settings), "--budget", "1s", "--threads", "2"]
    assert cli.run(command) == 0
    (generation,) = json.loads((run / GENERATIONS).read_text())
    (result,) = generation["match"]
    assert generation["kept"] == result["is_stronger"]
    games = [json.loads(line) for line in next((run / MATCHES).glob("1-9-*/record.jsonl")).read_text().splitlines()[1:]]
    assert len(games) == 2
    assert {game["settled_by"] for game in games} == {BY_BOARD}  # random networks do not know which stones are dead
    assert "generation 1: match" in capfd.readouterr().err


@pytest.mark.slow
def test_learning_begins_with_random_weights_and_is_measured_against_an_anchor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run, firsts, anchored = tmp_path / "run", [], []

    def match(candidate: Path, best: Path, size: int, *rest: object) -> MatchResult:
        firsts.append(best.read_bytes())
        return MatchResult(size, 0, 0, 1, 0.0, 1.0, False)

    def anchor(best: Path, size: int, settings: LearnConfig, out: Path, threads: int) -> MatchResult:
        anchored.append(out.name)
        return MatchResult(size, 3, 0, 1, 0.0, 1.0, True)

    monkeypatch.setattr(module, "play_match", match)
    monkeypatch.setattr(module, "play_anchor", anchor)
    settings = config(tmp_path)
    settings = dataclasses.replace(
        settings,
        data=dataclasses.replace(settings.data, records_share=0.0),
        learn=dataclasses.replace(settings.learn, samples_share=1.0, window=1, anchor="nobi", anchor_every=2),
    )
    assert learn(run, settings, generations=2, budget=0.3, threads=1) == 0
    assert "begins with random weights" in capfd.readouterr().err
    assert firsts[0] == firsts[1] == (run / BEST).read_bytes()
    assert anchored == ["2-9-anchor"]
    first, second = json.loads((run / GENERATIONS).read_text())
    assert first["anchor"] == []
    assert second["anchor"][0]["wins"] == 3
    assert (run / "plots" / "generations.png").stat().st_size > 1000


@pytest.mark.parametrize("content", ["[1, 2]", "[{}]", "{}", "nonsense"])
def test_a_damaged_history_is_told_and_stays(tmp_path: Path, run: Path, content: str) -> None:
    (run / GENERATIONS).write_text(content)
    with pytest.raises(TrainingError, match=r"learn\.json: damaged; remove it"):
        learn(run, config(tmp_path), generations=1, budget=0.5, threads=1)
    assert (run / GENERATIONS).read_text() == content


@pytest.mark.parametrize(
    ("anchor", "complaint"),
    [("nosuchengine --fast", "no program nosuchengine"), ('gnugo "', "No closing quotation"), (" ", "is empty")],
)
def test_an_anchor_that_cannot_be_started_is_told_first(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch, anchor: str, complaint: str
) -> None:
    monkeypatch.setattr(module, "selfplay", lambda *rest: pytest.fail("games were played"))
    settings = config(tmp_path)
    settings = dataclasses.replace(settings, learn=dataclasses.replace(settings.learn, anchor=anchor))
    with pytest.raises(TrainingError, match=f"learn.anchor: .*{complaint}"):
        learn(run, settings, generations=1, budget=0.5, threads=1)
    assert not (run / BEST).exists()


def test_ratings_of_boards_that_were_not_played_on_by_all() -> None:
    won = {"size": 9, "wins": 23, "draws": 0, "losses": 7}
    history = [{"kept": True, "match": [{**won, "size": 19}, won]}, {"kept": True, "match": [won]}]
    gain = 400 * math.log10(23.5 / 7.5)
    assert chain_ratings(history, 9) == pytest.approx([0.0, gain, 2 * gain])
    assert chain_ratings(history, 19) == pytest.approx([0.0, gain, gain])


def test_self_play_takes_its_share(tmp_path: Path) -> None:
    before = config(tmp_path)
    before = dataclasses.replace(before, data=dataclasses.replace(before.data, records_share=3.0, play_share=1.0))
    data = with_selfplay(before, [tmp_path]).data
    assert (data.records_share, data.play_share, data.samples_share) == pytest.approx((0.375, 0.125, 0.5))
    assert data.samples == (str(tmp_path),)
