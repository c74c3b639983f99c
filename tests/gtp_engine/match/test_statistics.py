"""The figures a match ends with, against known values."""

from __future__ import annotations

import math
import random
from functools import cache
from itertools import count

import pytest

from gtp_engine.match.statistics import Sprt, SprtRun, Tally, elo, expected_score, score_interval


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


@pytest.mark.parametrize(("wins", "losses"), [(4, 0), (0, 3), (60, 40), (700, 1)])
def test_without_draws_the_ratio_is_that_of_coins(wins: int, losses: int) -> None:
    s0, s1 = expected_score(-20), expected_score(190)
    expected = wins * math.log(s1 / s0) + losses * math.log((1 - s1) / (1 - s0))
    assert Sprt(-20, 190).log_likelihood_ratio(Tally(wins, 0, losses)) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("tally", [Tally(wins=1), Tally(losses=1), Tally(10**6, 3, 10**6)])
def test_hypotheses_beyond_measure_are_decided_too(tally: Tally) -> None:
    assert math.isfinite(Sprt(-1e12, 1e12).log_likelihood_ratio(tally))
    assert math.isfinite(Sprt(5000, 1e300).log_likelihood_ratio(tally))


def test_the_ratio_is_the_best_shares_of_draws_to_the_best() -> None:
    tally = Tally(12, 5, 4)

    def best(score: float) -> float:
        """Of all shares of draws, by trying them."""
        draws = [i / 10000 for i in range(1, 10000) if i / 20000 < min(score, 1 - score)]
        return max(12 * math.log(score - d / 2) + 5 * math.log(d) + 4 * math.log(1 - score - d / 2) for d in draws)

    ratio = best(expected_score(100)) - best(expected_score(0))
    assert Sprt(0, 100).log_likelihood_ratio(tally) == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("draws", [0.0, 0.3])
def test_sprt_errs_as_rarely_as_it_says(draws: float) -> None:
    decide, coin, matches = cache(Sprt(0, 190).decision), random.Random(5), 400

    def accepted(score: float) -> int:
        tally = Tally()
        for _ in count():
            drawn = coin.random()
            won = drawn >= draws and coin.random() < (score - draws / 2) / (1 - draws)
            tally = Tally(tally.wins + won, tally.draws + (drawn < draws), tally.losses + (drawn >= draws and not won))
            decision = decide(tally)
            if decision is not None:
                return decision
        raise AssertionError

    for truth, elo_difference in ((0, 0), (1, 190)):
        errors = sum(accepted(expected_score(elo_difference)) != truth for _ in range(matches))
        assert errors / matches < 0.075  # 5 %, and twice what 400 matches vary by


WON, LOST, UNCOUNTED = Tally(wins=1), Tally(losses=1), Tally()


def test_a_test_takes_games_in_the_order_of_their_numbers() -> None:
    """The short games, all won, end first. They count once the long ones before them have ended."""
    test = Sprt(0, 200)
    needed = next(count for count in range(100) if test.decision(Tally(wins=count)) is not None)
    run = SprtRun(test)
    for number in range(3, 3 + 2 * needed):
        run.add(number, WON)
    assert (run.decision, run.games) == (None, 0)
    run.add(1, UNCOUNTED)
    assert (run.decision, run.games) == (None, 0)
    run.add(0, WON)
    assert (run.decision, run.games, run.tally) == (None, 2, WON)
    run.add(2, WON)
    assert (run.decision, run.games, run.tally) == (1, needed + 1, Tally(wins=needed))


def test_the_first_decision_of_a_test_stands() -> None:
    test = Sprt(0, 200)
    run = SprtRun(test)
    for number in range(100):
        run.add(number, WON)
    needed = run.games
    for number in range(100, 1000):
        run.add(number, LOST)
    assert test.decision(Tally(wins=100, losses=900)) == 0
    assert (run.decision, run.games, run.tally) == (1, needed, Tally(wins=needed))
    assert needed < 20
