"""The referee's clock."""

from __future__ import annotations

import pytest

from gtp_engine.match.clock import ClockError, SideClock, announcements, parse_control
from gtp_engine.thinking.clock import TimeControl


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("60", TimeControl.absolute(60)),
        ("10000000", TimeControl.absolute(1e7)),
        ("0:1:10000000", TimeControl.canadian(0, 1, 10_000_000)),
        ("0:30:1", TimeControl.canadian(0, 30, 1)),
        (" 60 ", TimeControl.absolute(60)),
        ("0:1.5:1", TimeControl.canadian(0, 1.5, 1)),
        ("canadian:300:30:5", TimeControl.canadian(300, 30, 5)),
        ("byoyomi:60:10:3", TimeControl.byoyomi(60, 10, 3)),
        ("Fischer:60:2", TimeControl.fischer(60, 2)),
        ("fischer:0.5:2", TimeControl.fischer(0.5, 2)),
        ("fischer-capped:60:0:90:15", TimeControl.fischer_capped(60, 0, 90, 15)),
        ("fischer-capped:60:2:90:15", TimeControl.fischer_capped(60, 2, 90, 15)),
        ("fischer-capped:60:2:-1:-1", TimeControl.fischer_capped(60, 2, -1, -1)),
    ],
)
def test_parse(text: str, control: TimeControl) -> None:
    assert parse_control(text) == control


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "0",
        "60:30",
        "60:30:0",
        "60:0:5",
        "-1",
        "10000001",
        "fischer:10000001:0",
        "fischer-capped:60:2:10000001:-1",
        "nan",
        "inf",
        "0:0:0",
        "1:2:3:4",
        "byoyomi:1",
        "fischer:0:0",
        "fischer:0:5",
        "fischer-capped:0:5:-1:-1",
        "fischer:-1:2",
        "byoyomi:1:1:-1",
        "byoyomi:0:30:2.5",
        "0:30:1.9",
        "fischer-capped:60:2",
        "fischer-capped:60:2:0:1",
        "fischer-capped:60:-1:5:5",
        "fischer-capped:60:2:-2:5",
        "a:1",
    ],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(ClockError):
        parse_control(text)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("60", ["time_settings 60 0 0"]),
        ("0:1:1", ["time_settings 0 1 1"]),
        ("0:0.5:1", ["time_settings 0 0.5 1", "time_settings 0 1 1"]),
        ("byoyomi:60:10:3", ["kgs-time_settings byoyomi 60 10 3", "time_settings 80 10 1"]),
        ("byoyomi:2000000:10:3", ["kgs-time_settings byoyomi 2000000 10 3", "time_settings 2000020 10 1"]),
        (
            "fischer:1234567.5:1",
            ["kata-time_settings fischer 1234567.5 1", "time_settings 1234567.5 0 0", "time_settings 1234568 0 0"],
        ),
        ("600.5:30:5", ["time_settings 600.5 30 5", "time_settings 601 30 5"]),
        ("600:0.5:5", ["time_settings 600 0.5 5", "time_settings 600 1 5"]),
        ("fischer-capped:60:0:90:15", ["kata-time_settings fischer-capped 60 0 90 15", "time_settings 60 0 0"]),
        ("fischer:60:2.5", ["kata-time_settings fischer 60 2.5", "time_settings 60 0 0"]),
        ("fischer-capped:60:2:90:-1", ["kata-time_settings fischer-capped 60 2 90 -1", "time_settings 60 0 0"]),
    ],
)
def test_announcements(text: str, commands: list[str]) -> None:
    assert announcements(parse_control(text)) == commands


def test_absolute_time() -> None:
    clock = SideClock(TimeControl.absolute(10))
    assert clock.spend(9) == 0
    assert clock.time_left() == (1, 0)
    assert clock.allowance() == 1
    assert clock.spend(1.5) == pytest.approx(0.5)
    assert clock.time_left() == (0, 0)


def test_main_time_is_not_counted_in_stones() -> None:
    for control in (TimeControl.canadian(10, 5, 2), TimeControl.byoyomi(10, 5, 2), TimeControl.fischer(10, 5)):
        clock = SideClock(control)
        assert clock.time_left() == (10, 0)
        assert clock.spend(4) == 0
        assert clock.time_left() == (11 if control.increment else 6, 0)


def test_main_time_that_is_used_up_to_its_end_is_over() -> None:
    clock = SideClock(TimeControl.canadian(10, 5, 2))
    assert clock.spend(10) == 0
    assert clock.time_left() == (5, 1)


def test_a_capped_clock_has_a_cap_and_a_most_for_a_move() -> None:
    clock = SideClock(TimeControl.fischer_capped(10, 2, 11, 4))
    assert clock.allowance() == 4
    assert clock.spend(0.5) == 0
    assert clock.time_left() == (11, 0)
    assert clock.spend(5) == pytest.approx(1)
    assert clock.time_left() == (9, 0)


def test_main_time_runs_into_the_first_period() -> None:
    clock = SideClock(TimeControl.canadian(10, 5, 2))
    assert clock.allowance() == 15
    assert clock.spend(12) == 0
    assert clock.time_left() == (3, 1)
    assert clock.spend(3) == 0
    assert clock.time_left() == (5, 2), "the stones were played: a new period"


def test_a_period_for_every_move() -> None:
    clock = SideClock(TimeControl.canadian(0, 1, 1))
    for _ in range(3):
        assert clock.time_left() == (1, 1)
        assert clock.spend(0.9) == 0
    assert clock.spend(1.25) == pytest.approx(0.25)
    assert clock.time_left() == (1, 1), "what is only counted does not follow the engine into the next period"


def test_byoyomi_uses_periods_up() -> None:
    clock = SideClock(TimeControl.byoyomi(0, 10, 3))
    assert clock.allowance() == 30
    assert clock.spend(15) == 0
    assert clock.time_left() == (10, 2)
    assert clock.spend(21) == pytest.approx(1)


def test_fischer_adds_the_increment() -> None:
    clock = SideClock(TimeControl.fischer(10, 3))
    assert clock.spend(4) == 0
    assert clock.time_left() == (9, 0)
    assert clock.spend(10) == pytest.approx(1)
