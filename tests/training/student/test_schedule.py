"""The learning rate over a run."""

from __future__ import annotations

import pytest

from training.student.schedule import is_decaying, rate_share


@pytest.mark.parametrize(
    ("step", "spent", "expected"),
    [(0, 0.0, 1 / 11), (4, 0.1, 5 / 11), (10, 0.1, 1.0), (10_000, 0.8, 1.0), (10_000, 0.9, 0.5), (10_000, 1.0, 0.0)],
)
def test_warm_up_stable_decay(step: int, spent: float, expected: float) -> None:
    assert rate_share(step, 10, spent, 0.2) == pytest.approx(expected)


def test_without_a_decay_the_rate_stays() -> None:
    assert rate_share(10_000, 10, 1.0, 0.0) == 1.0
    assert not is_decaying(1.0, 0.0)


def test_the_decay_begins_where_it_should() -> None:
    assert not is_decaying(0.8, 0.2)
    assert is_decaying(0.81, 0.2)
