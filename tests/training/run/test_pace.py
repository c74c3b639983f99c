"""What the status line says of speeds and waits."""

# ruff: noqa: E402
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.clocks import Clock
from training.run import loop as module
from training.run.checkpoint import Progress
from training.run.loop import DEVICE, POSITIONS, LegClock, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_speeds_and_waits_are_those_since_the_last_line(clock: Clock) -> None:
    pace = Pace(learned=1000)
    with pace.waiting(POSITIONS):
        clock.now += 2.0
    clock.now += 8.0
    assert pace.speeds(made=50, learned=1200, copying=1.0) == (
        20.0,
        "5/s made  20/s learned  waits: positions 20%, copies 10%, device 0%",
    )
    with pace.waiting(DEVICE):
        clock.now += 5.0
    assert pace.speeds(made=100, learned=1200, copying=1.0) == (
        0.0,
        "10/s made  0/s learned  waits: positions 0%, copies 0%, device 100%",
    )


def test_a_legs_end_has_its_time(clock: Clock) -> None:
    progress = Progress(leg_budget=100.0, leg_spent=20.0)
    legs = LegClock(progress, began=-10.0)
    legs.tick()
    assert progress.leg_spent == 30.0  # what was before counts
    legs.longest_save = 2.0
    legs.reserve(unmeasured=10.0)
    assert progress.reserved == pytest.approx(1.0 + 2 * 2.0 + 10.0)
    legs.longest_measure = 4.0
    legs.reserve(unmeasured=10.0)
    assert progress.reserved == pytest.approx(1.0 + 2 * 2.0 + 4.0)
    assert progress.spent == pytest.approx(30.0 / 91.0)
    legs.longest_save = 1000.0
    legs.reserve(unmeasured=0.0)
    assert progress.reserved == 50.0
