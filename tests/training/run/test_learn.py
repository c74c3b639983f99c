"""Generations: what wins its match is kept, what does not is not. Matches end with the command that started them, and
go on in their folders."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gtp_engine import command_line
from gtp_engine.match.record import BY_BOARD
from nets.katago.writer import encode_model
from tests.gtp_engine.match.conftest import stub_command
from tests.gtp_engine.match.zoo import processes_with
from tests.training.games import read_samples
from tests.training.networks import new_student
from tests.training.run.short_runs import config
from training.config import LearnConfig, SelfplayConfig, TrainingConfig, describe
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
    play_match,
    with_selfplay,
)


@pytest.fixture
def settings(records: Path) -> TrainingConfig:
    searches = SelfplayConfig(visits=4, quick_visits=2, full_share=0.5)
    short = config(records, canvas_shares={"9": 1.0}, selfplay=searches)
    return replace(short, learn=LearnConfig(games=1, match_sizes=(9,)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / STUDENT).write_bytes(encode_model(new_student().to_model("first", has_optimistic=True)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("is_stronger", [True, False])
def test_a_candidate_must_win_its_match(
    run: Path, settings: TrainingConfig, monkeypatch: pytest.MonkeyPatch, is_stronger: bool
) -> None:
    first = (run / STUDENT).read_bytes()
    monkeypatch.setattr(
        module, "play_match", lambda candidate, best, size, *rest: MatchResult(size, 3, 0, 1, 0.0, 1.0, is_stronger)
    )
    assert learn(run, settings, generations=1, budget=0.5, threads=1) == int(is_stronger)
    candidate = (run / CANDIDATE).read_bytes()
    assert candidate != first
    for name in (BEST, STUDENT):  # what `make weights` would ship
        assert (run / name).read_bytes() == (candidate if is_stronger else first)
    history = json.loads((run / GENERATIONS).read_text())
    assert [generation["kept"] for generation in history] == [is_stronger]


@pytest.mark.slow
def test_an_interrupted_match_goes_on_with_its_candidate(
    run: Path, settings: TrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = []

    def match(candidate: Path, best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
        judged.append((candidate.read_bytes(), out.name))
        if len(judged) == 1:
            raise KeyboardInterrupt
        return MatchResult(size, 1, 0, 0, 0.0, 1.0, True)

    monkeypatch.setattr(module, "play_match", match)
    with pytest.raises(KeyboardInterrupt):
        learn(run, settings, generations=1, budget=0.5, threads=1)
    games = sample_files(run / SELFPLAY / "1")
    assert learn(run, settings, generations=1, budget=0.5, threads=1) == 1
    assert judged[0] == judged[1]
    assert sample_files(run / SELFPLAY / "1") == games
    assert learn(run, settings, generations=1, budget=0.5, threads=1) == 1  # and the next is another one
    assert judged[2][0] != judged[1][0]
    assert [name for _, name in judged] == ["1-9", "1-9", "2-9"]
    files = [path for number in "12" for path in sample_files(run / SELFPLAY / number)]
    planes = [read_samples(path).planes[-1].tobytes() for path in files]
    assert len(set(planes)) == len(planes) == 2


@pytest.mark.slow
def test_a_whole_generation_from_the_command_line(
    tmp_path: Path, run: Path, settings: TrainingConfig, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "learn.toml"
    file.write_text(describe(replace(settings, learn=replace(settings.learn, match_games=2, match_visits=2))))
    command = ["learn", str(run), "--config", str(file), "--budget", "1s", "--threads", "2"]
    assert command_line.run(command) == 0
    (generation,) = json.loads((run / GENERATIONS).read_text())
    (result,) = generation["match"]
    assert generation["kept"] == result["is_stronger"]
    games = [json.loads(line) for line in next((run / MATCHES).glob("1-9-*/record.jsonl")).read_text().splitlines()[1:]]
    assert len(games) == 2
    assert {game["settled_by"] for game in games} == {BY_BOARD}  # random networks do not know which stones are dead
    assert "generation 1: match" in capfd.readouterr().err


@pytest.mark.slow
def test_learning_begins_with_random_weights_and_is_measured_against_an_anchor(
    tmp_path: Path, settings: TrainingConfig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run, firsts, anchored = tmp_path / "run", [], []

    def match(candidate: Path, best: Path, size: int, *rest: object) -> MatchResult:
        firsts.append(best.read_bytes())
        return MatchResult(size, 0, 0, 1, 0.0, 1.0, False)

    def anchor(best: Path, size: int, config: LearnConfig, out: Path, threads: int) -> MatchResult:
        anchored.append(out.name)
        return MatchResult(size, 3, 0, 1, 0.0, 1.0, True)

    monkeypatch.setattr(module, "play_match", match)
    monkeypatch.setattr(module, "play_anchor", anchor)
    settings = replace(
        settings,
        data=replace(settings.data, records_share=0.0),
        learn=replace(settings.learn, samples_share=1.0, window=1, anchor="nobi", anchor_every=2),
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
def test_a_damaged_history_is_told_and_stays(run: Path, settings: TrainingConfig, content: str) -> None:
    (run / GENERATIONS).write_text(content)
    with pytest.raises(TrainingError, match=r"learn\.json: damaged; remove it"):
        learn(run, settings, generations=1, budget=0.5, threads=1)
    assert (run / GENERATIONS).read_text() == content


@pytest.mark.parametrize(
    ("anchor", "complaint"),
    [("nosuchengine --fast", "no program nosuchengine"), ('gnugo "', "No closing quotation"), (" ", "is empty")],
)
def test_an_anchor_that_cannot_be_started_is_told_first(
    run: Path, settings: TrainingConfig, monkeypatch: pytest.MonkeyPatch, anchor: str, complaint: str
) -> None:
    monkeypatch.setattr(module, "selfplay", lambda *rest: pytest.fail("games were played"))
    settings = replace(settings, learn=replace(settings.learn, anchor=anchor))
    with pytest.raises(TrainingError, match=f"learn.anchor: .*{complaint}"):
        learn(run, settings, generations=1, budget=0.5, threads=1)
    assert not (run / BEST).exists()


def test_ratings_of_boards_that_were_not_played_on_by_all() -> None:
    won = {"size": 9, "wins": 23, "draws": 0, "losses": 7}
    history = [{"kept": True, "match": [{**won, "size": 19}, won]}, {"kept": True, "match": [won]}]
    gain = 400 * math.log10(23.5 / 7.5)
    assert chain_ratings(history, 9) == pytest.approx([0.0, gain, 2 * gain])
    assert chain_ratings(history, 19) == pytest.approx([0.0, gain, gain])


def test_self_play_takes_its_share(tmp_path: Path, settings: TrainingConfig) -> None:
    before = replace(settings, data=replace(settings.data, records_share=3.0, play_share=1.0))
    data = with_selfplay(before, [tmp_path]).data
    assert (data.records_share, data.play_share, data.samples_share) == pytest.approx((0.375, 0.125, 0.5))
    assert data.samples == (str(tmp_path),)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    mark = f"mark-{os.getpid()}-learn-{number}"
    hangs = stub_command("--name", mark, "--bad", "hang@1")
    monkeypatch.setattr(module, "engine_command", lambda _text: hangs)

    def interrupt() -> None:
        while not list(tmp_path.glob("match-*/stderr/*-1.txt")):
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a failure is one, and no end of pytest
    try:
        with pytest.raises(KeyboardInterrupt):
            play_match(tmp_path / "a", tmp_path / "b", 9, LearnConfig(), tmp_path / "match", threads=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert processes_with(mark) == []


def test_a_match_with_changed_settings_begins_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def resigner(command: str) -> list[str]:
        return stub_command("--moves", "resign", "--name", command.split()[-1])

    monkeypatch.setattr(module, "engine_command", resigner)

    def games(config: LearnConfig) -> list[int]:
        result = play_match(tmp_path / "a", tmp_path / "b", 9, config, tmp_path / "matches" / "1-9", threads=1)
        assert result.wins + result.losses == config.match_games
        assert not result.is_stronger, "white has won all games"
        records = sorted((tmp_path / "matches").glob("1-9-*/record.jsonl"), key=os.path.getctime)
        return [len(path.read_text().splitlines()) - 1 for path in records]

    first, changed = (replace(LearnConfig(), match_games=2, match_visits=visits) for visits in (1, 3))
    assert games(first) == [2]
    assert games(replace(first, match_games=4)) == [4]  # more games belong to the same match
    assert sorted(games(changed)) == [2, 4]
    assert sorted(games(replace(changed, match_games=3))) == [3, 4]
