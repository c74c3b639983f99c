"""Generations: what wins its match is kept, what does not is not."""

# ruff: noqa: E402
from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.training.games import random_games, write_records
from tests.training.test_network import SHAPE, new_student
from training import learn as module
from training.config import (
    DataConfig,
    LearnConfig,
    OptimiserConfig,
    RecordsConfig,
    RunConfig,
    SelfplayConfig,
    TrainingConfig,
)
from training.errors import TrainingError
from training.export import to_model
from training.katago_file import write_katago
from training.learn import BEST, STATE, Verdict, learn, with_selfplay
from training.loop import STUDENT


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


@pytest.mark.slow
@pytest.mark.parametrize("is_stronger", [True, False])
def test_a_candidate_must_win_its_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stronger: bool) -> None:
    torch.set_num_threads(1)
    folder = tmp_path / "run"
    folder.mkdir()
    write_katago(to_model(new_student(), "first", has_optimistic=True), folder / STUDENT)
    first = (folder / STUDENT).read_bytes()
    monkeypatch.setattr(module, "play_match", lambda candidate, best, size, *rest: Verdict(size, 3, 0, 1, is_stronger))
    assert learn(folder, config(tmp_path), generations=1, budget=1.0, threads=1) == int(is_stronger)
    candidate = (folder / STUDENT).read_bytes()
    assert candidate != first
    assert (folder / BEST).read_bytes() == (candidate if is_stronger else first)
    history = json.loads((folder / STATE).read_text())
    assert [generation["kept"] for generation in history] == [is_stronger]


def test_learning_needs_a_network_to_begin_with(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no network to begin with"):
        learn(tmp_path / "run", config(tmp_path), 1, 1.0, 1)


def test_self_play_takes_its_share(tmp_path: Path) -> None:
    before = config(tmp_path)
    before = msgspec.structs.replace(
        before, data=msgspec.structs.replace(before.data, records_share=3.0, play_share=1.0)
    )
    data = with_selfplay(before, tmp_path / "selfplay").data
    assert (data.records_share, data.play_share, data.samples_share) == pytest.approx((0.375, 0.125, 0.5))
    assert data.samples == (str(tmp_path / "selfplay"),)
