"""The figures a match ends with, against known values."""

from __future__ import annotations

import math

import pytest

from gtp_engine.match.statistics import Sprt, Tally, elo, expected_score, score_interval


def test_tally() -> None:
    tally = Tally(wins=3, draws=2, losses=5)
    assert tally.games == 10
    assert tally.score == pytest.approx(0.4)
    assert Tally().score == 0.5


@pytest.mark.parametrize(("score", "difference"), [(0.5, 0.0), (0.75, 190.848), (10 / 11, 400.0), (0.25, -190.848)])
def test_elo(score: float, difference: float) -> None:
    assert elo(score) == pytest.approx(difference, abs=0.01)
    assert expected_score(difference) == pytest.approx(score, abs=1e-5)


def test_elo_without_limits() -> None:
    assert elo(0.0) == -math.inf
    assert elo(1.0) == math.inf


@pytest.mark.parametrize(
    ("tally", "low", "high"),
    [  # Wilson's interval as statsmodels' proportion_confint(method="wilson") gives it.
        (Tally(wins=8, losses=2), 0.490162, 0.943318),
        (Tally(wins=0, losses=10), 0.0, 0.277533),
        (Tally(wins=29, losses=1), 0.833296, 0.994091),
        (Tally(wins=50, losses=50), 0.403832, 0.596168),
    ],
)
def test_wilson_interval(tally: Tally, low: float, high: float) -> None:
    assert score_interval(tally) == pytest.approx((low, high), abs=1e-5)


def test_nothing_played_says_nothing() -> None:
    assert score_interval(Tally()) == (0.0, 1.0)


def test_sprt_accepts_what_is_plain() -> None:
    test = Sprt(0, 10)
    assert test.bound == pytest.approx(2.944, abs=1e-3)
    assert test.decision(Tally()) is None
    assert test.decision(Tally(wins=6, losses=4)) is None
    assert test.decision(Tally(wins=5600, draws=0, losses=4400)) == 1
    assert test.decision(Tally(wins=4700, draws=0, losses=5300)) == 0


def test_sprt_needs_more_games_for_closer_hypotheses() -> None:
    tally = Tally(wins=60, losses=40)
    assert Sprt(0, 50).log_likelihood_ratio(tally) > Sprt(0, 5).log_likelihood_ratio(tally) > 0
