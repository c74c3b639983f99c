"""Ratings, against cases with a closed form and against games whose ratings are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtp_engine.match.statistics import Z_95, elo, expected_score
from gtp_engine.tournament.results import ELO, rate

NEARLY_NONE = 1e-6
"""A prior that does not show."""


@pytest.mark.parametrize(("won", "lost"), [(15, 5), (10, 10), (1, 19), (7.5, 2.5)])
def test_two_engines_differ_as_their_score_says(won: float, lost: float) -> None:
    ratings = rate(np.array([[0, won], [lost, 0]]), NEARLY_NONE)
    games = won + lost
    score = won / games
    difference, margin = ratings.difference(0, 1)
    assert difference == pytest.approx(elo(score), abs=1e-3)
    assert margin == pytest.approx(Z_95 * ELO / np.sqrt(games * score * (1 - score)), abs=1e-2)
    assert ratings.margin(0) == pytest.approx(margin / 2, abs=1e-2)


def test_a_chain_of_engines_adds_up() -> None:
    """Without a circle among the pairs that played, each pair's score alone says how far apart they are."""
    points = np.zeros((3, 3))
    points[0, 1], points[1, 0], points[1, 2], points[2, 1] = 30, 10, 24, 16
    ratings = rate(points, NEARLY_NONE)
    assert ratings.difference(0, 1)[0] == pytest.approx(elo(0.75), abs=1e-3)
    assert ratings.difference(0, 2)[0] == pytest.approx(elo(0.75) + elo(0.6), abs=1e-3)
    variances = [ratings.difference(a, b)[1] ** 2 for a, b in ((0, 1), (1, 2), (0, 2))]
    assert variances[2] == pytest.approx(variances[0] + variances[1], rel=1e-4)


def test_the_prior_is_drawn_games_against_the_middle() -> None:
    """20 wins of 20: the gradient is 0 where 20·(1 - σ(2x)) = prior·(σ(x) - ½)."""
    x = rate(np.array([[0.0, 20.0], [0.0, 0.0]]), 1.0).elo[0] / ELO
    assert 20 * (1 - 1 / (1 + np.exp(-2 * x))) == pytest.approx(1 / (1 + np.exp(-x)) - 0.5, abs=1e-9)


def test_nobody_and_nothing_played() -> None:
    assert rate(np.zeros((0, 0))).elo.shape == (0,)
    ratings = rate(np.zeros((3, 3)))
    assert ratings.elo.tolist() == [0, 0, 0]
    assert ratings.margin(0) > 400


def test_a_walk_over_by_each_of_ten_has_finite_ratings_in_order() -> None:
    ratings = rate(np.triu(np.full((10, 10), 1000.0), 1))
    assert np.isfinite(ratings.elo).all()
    assert (np.diff(ratings.elo) < -200).all()
    assert all(np.isfinite(ratings.margin(engine)) for engine in range(10))


@settings(max_examples=50)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_the_maximum_is_one_and_order_does_not_matter(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.integers(0, 41, (count, count)) / 2 * random.integers(0, 2, (count, count))
    np.fill_diagonal(points, 0)
    ratings = rate(points)
    assert ratings.elo.mean() == pytest.approx(0, abs=1e-6)
    assert np.linalg.eigvalsh(ratings.covariance).min() > -1e-6 * ratings.covariance.max()
    places = random.permutation(count)
    again = rate(points[np.ix_(places, places)])
    assert again.elo == pytest.approx(ratings.elo[places], abs=1e-4)
    # Where the likelihood is highest, each engine has scored what its rating expects, but for the prior's drawn game.
    expected = np.array([[expected_score(a - b) for b in ratings.elo] for a in ratings.elo])
    surplus = points.sum(axis=1) - ((points + points.T) * expected).sum(axis=1)
    assert np.abs(surplus).max() <= 0.5


def test_simulated_games_give_the_ratings_back() -> None:
    """In about 95 % of simulated tournaments the true difference lies in the interval."""
    random = np.random.default_rng(17)
    true = np.array([-150.0, -40.0, 0.0, 60.0, 130.0])
    scores = np.array([[expected_score(a - b) for b in true] for a in true])
    inside = total = 0
    errors = []
    for _ in range(200):
        points = np.zeros((5, 5))
        for i in range(5):
            for j in range(i):
                draws = random.binomial(40, 0.05)
                points[i, j] = random.binomial(40 - draws, scores[i, j]) + draws / 2
                points[j, i] = 40 - points[i, j]
        ratings = rate(points)
        errors.append(ratings.elo - (true - true.mean()))
        for i in range(1, 5):
            difference, margin = ratings.difference(i, i - 1)
            inside += abs(difference - (true[i] - true[i - 1])) <= margin
            total += 1
    assert 0.92 <= inside / total <= 0.99
    assert np.abs(np.mean(errors, axis=0)).max() < 10
