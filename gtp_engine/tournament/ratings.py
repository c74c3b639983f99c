"""Elo ratings of several engines from all their games, by maximum likelihood.

The model is Bradley and Terry's (1952): an engine whose rating is d points higher scores 1 / (1 + 10^(-d/400)) on
average. A draw counts as half a win and half a loss. To each engine's games PRIOR_DRAWS drawn games are added, against
an opponent in the middle of the field: without them an engine that lost all its games would have no finite rating, and
two engines without a common opponent would have no difference. The likelihood is concave in the ratings, and Newton's
method finds its maximum. The intervals are those of the normal distribution whose covariance is the inverse of the
second derivatives there. Games are taken as independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_engine.match.statistics import Z_95

PRIOR_DRAWS = 1.0
"""Drawn games added for each engine, against an opponent in the middle of the field."""
ELO = 400 / math.log(10)
"""Elo points in one unit of a logarithm of odds."""
MOST_STEPS = 100
SMALL_STEP = 1e-9
"""A step of Newton's method that changes nothing any more."""


@dataclass(frozen=True)
class Ratings:
    """What the games say about the strength of n engines."""

    elo: NDArray[np.float64]
    """Ratings, float64[n] in Elo; their mean is 0."""
    covariance: NDArray[np.float64]
    """The covariance of their errors, float64[n, n] in Elo squared."""

    def margin(self, engine: int) -> float:
        """Compute half the width of the 95 % interval of an engine's rating, in Elo."""
        return Z_95 * math.sqrt(max(0.0, float(self.covariance[engine, engine])))

    def difference(self, first: int, second: int) -> tuple[float, float]:
        """Compute how much higher the first engine's rating is, and half of the 95 % interval of that difference, in
        Elo."""
        c = self.covariance
        variance = c[first, first] + c[second, second] - 2 * c[first, second]
        return float(self.elo[first] - self.elo[second]), Z_95 * math.sqrt(max(0.0, float(variance)))


def rate(points: NDArray[np.float64], prior_draws: float = PRIOR_DRAWS) -> Ratings:
    """Estimate the ratings of n engines from all their games.

    `points` is float64[n, n]: the points that the engine of the row scored against that of the column, where a draw is
    half a point for both. `prior_draws` must be above 0. Without engines there are no ratings.
    """
    count = len(points)
    games = points + points.T
    won = points.sum(axis=1)
    ratings = np.zeros(count)
    height = _log_likelihood(points, ratings, prior_draws)
    for _ in range(MOST_STEPS):
        gradient, curvature = _derivatives(games, won, ratings, prior_draws)
        step = np.linalg.solve(curvature, gradient)
        while (higher := _log_likelihood(points, ratings + step, prior_draws)) < height and _size(step) > SMALL_STEP:
            step /= 2
        ratings, height = ratings + step, higher
        if _size(step) <= SMALL_STEP:
            break
    covariance = np.linalg.inv(_derivatives(games, won, ratings, prior_draws)[1])
    centring = np.eye(count) - 1 / max(1, count)
    return Ratings(ELO * (centring @ ratings), ELO**2 * (centring @ covariance @ centring))


def _log_likelihood(points: NDArray[np.float64], ratings: NDArray[np.float64], prior_draws: float) -> float:
    differences = ratings[:, None] - ratings[None, :]
    of_games = -(points * np.logaddexp(0, -differences)).sum()
    of_prior = -prior_draws / 2 * (np.logaddexp(0, -ratings) + np.logaddexp(0, ratings)).sum()
    return float(of_games + of_prior)


def _derivatives(
    games: NDArray[np.float64], won: NDArray[np.float64], ratings: NDArray[np.float64], prior_draws: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The gradient of the log-likelihood, float64[n], and the negative of its second derivatives, float64[n, n]."""
    scores = _logistic(ratings[:, None] - ratings[None, :])
    against_prior = _logistic(ratings)
    gradient = won - (games * scores).sum(axis=1) + prior_draws * (0.5 - against_prior)
    weights = games * scores * (1 - scores)
    curvature = np.diag(weights.sum(axis=1) + prior_draws * against_prior * (1 - against_prior)) - weights
    return gradient, curvature


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-np.logaddexp(0, -x))


def _size(step: NDArray[np.floating[Any]]) -> float:
    return float(np.abs(step).max(initial=0.0))
