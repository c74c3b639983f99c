"""Runs of a few steps, for the tests of runs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.training.networks import SHAPE
from training.config import DataConfig, OptimiserConfig, RecordsConfig, RunConfig, TrainingConfig
from training.run import loop as module
from training.run.checkpoint import Progress
from training.run.loop import open_run


class Clock:
    """In place of the module `time`: each look at it takes a tenth of a second, so that a leg has so many steps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.1
        return self.now

    def time(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return self.now


def set_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def config(records: Path, **data: object) -> TrainingConfig:
    settings = {"records_share": 1.0, "play_share": 0.0, **data}
    return TrainingConfig(
        network=SHAPE,
        run=RunConfig(batch=4, threads=1, save_every=1e6, measure_every=1e6, device="cpu"),
        data=DataConfig(
            records=RecordsConfig(path=str(records), skip=0),
            **settings,  # type: ignore[arg-type]
        ),
        optimiser=OptimiserConfig(warm_up=2),
    )


def train_steps(
    folder: Path,
    settings: TrainingConfig,
    steps: int,
    monkeypatch: pytest.MonkeyPatch,
) -> Progress:
    """Train so many steps and save, as an interruption does."""
    run = open_run(folder, settings)
    goal = run.progress.step + steps
    original = run.learner.step

    def counted(batch: object, share: float) -> None:
        if run.progress.step + 1 >= goal:
            signal.raise_signal(signal.SIGTERM)
        original(batch, share)  # type: ignore[arg-type]

    monkeypatch.setattr(run.learner, "step", counted)
    return run.train(budget=1e5)
