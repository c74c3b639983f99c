"""What the matches of a tournament say about its engines: points, faults, ratings, and all that as JSON.

Elo ratings are estimated from all games by maximum likelihood. The model is Bradley and Terry's (1952): an engine whose
rating is d points higher scores 1 / (1 + 10^(-d/400)) on average. A draw counts as half a win and half a loss. To each
engine's games PRIOR_DRAWS drawn games are added, against an opponent in the middle of the field: without them an engine
that lost all its games would have no finite rating, and two engines without a common opponent would have no difference.
The likelihood is concave in the ratings, and Newton's method finds its maximum. The intervals are those of the normal
distribution whose covariance is the inverse of the second derivatives there. Games are taken as independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_engine.match.play import Contest
from gtp_engine.match.record import faults, has_faults, tally
from gtp_engine.match.statistics import Z_95, Sprt, Tally
from gtp_engine.match.table import METHOD as METHOD_OF_A_MATCH
from gtp_engine.match.table import summary

METHOD = (
    "Elo: Bradley and Terry's model by maximum likelihood, with one drawn game against the middle of the field added "
    "for each engine; the mean is 0. A draw is half a win. Intervals are 95 %; games taken as independent."
)

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


@dataclass(frozen=True)
class Standing:
    """How one engine did in all its matches."""

    name: str
    tally: Tally
    uncounted: int
    """Games that count for nobody, because the engines did not agree on a winner."""
    faults: dict[str, int]
    """How many games it lost by each kind of fault (record.FAULTS)."""
    moves: int
    seconds: float
    """Of all its moves together."""

    @property
    def seconds_per_move(self) -> float:
        """The average; 0 for an engine that played no move."""
        return self.seconds / self.moves if self.moves else 0.0


@dataclass(frozen=True)
class Results:
    """The state of a tournament. Engines have numbers from 0, in the order of the command line."""

    standings: list[Standing]
    points: NDArray[np.float64]
    """float64[n, n]: the points of the row's engine against the column's."""
    ratings: Ratings
    contests: Sequence[Contest]
    sprt: Sprt | None = None
    """The sequential test that each match ends with."""

    @property
    def ranking(self) -> list[int]:
        """The engines from the best to the worst rating."""
        return [int(engine) for engine in np.argsort(-self.ratings.elo, kind="stable")]

    @property
    def games(self) -> int:
        """How many games were played, with those that count for nobody."""
        return sum(len(contest.record.games) for contest in self.contests)

    @property
    def has_faults(self) -> bool:
        """Whether an engine misbehaved in a game, or the engines' scores differed."""
        return any(has_faults(contest.record.games) for contest in self.contests)

    def lead(self, rank: int) -> tuple[float, float] | None:
        """Compute how far the engine at a rank, from 0, is above the next one, and the margin of that in Elo. The last
        has None."""
        ranking = self.ranking
        return self.ratings.difference(ranking[rank], ranking[rank + 1]) if rank + 1 < len(ranking) else None


def results(names: Sequence[str], contests: Sequence[Contest], sprt: Sprt | None = None) -> Results:
    """Work out the results from the records of all matches, each of which ends with the test `sprt`."""
    points = np.zeros((len(names), len(names)))
    for contest in contests:
        for side in (0, 1):
            own, other = contest.sides[side], contest.sides[1 - side]
            score = tally(contest.record.games, side)
            points[own, other] += score.wins + score.draws / 2
    standings = [_standing(name, engine, contests) for engine, name in enumerate(names)]
    return Results(standings, points, rate(points), contests, sprt)


def as_json(found: Results) -> dict[str, Any]:
    """Collect the results for JSON: the engines, the best first, and each match as `nobi match` sums it up."""
    return {
        "engines": [_engine_as_json(found, rank) for rank in range(len(found.standings))],
        "games": found.games,
        "method": METHOD,
        "method_of_a_match": METHOD_OF_A_MATCH,
        "matches": [summary(contest.record.terms, contest.record.games, found.sprt) for contest in found.contests],
    }


def _engine_as_json(found: Results, rank: int) -> dict[str, Any]:
    engine = found.ranking[rank]
    standing, elo, margin = found.standings[engine], float(found.ratings.elo[engine]), found.ratings.margin(engine)
    lead = found.lead(rank)
    return {
        "name": standing.name,
        "number": engine + 1,
        "elo": round(elo, 1),
        "elo_interval": [round(elo - margin, 1), round(elo + margin, 1)],
        "above_next": round(lead[0], 1) if lead else None,
        "above_next_interval": [round(lead[0] - lead[1], 1), round(lead[0] + lead[1], 1)] if lead else None,
        "wins": standing.tally.wins,
        "draws": standing.tally.draws,
        "losses": standing.tally.losses,
        "uncounted": standing.uncounted,
        "score": round(standing.tally.score, 4) if standing.tally.games else None,
        "faults": standing.faults,
        "seconds_per_move": round(standing.seconds_per_move, 3),
    }


def _standing(name: str, engine: int, contests: Sequence[Contest]) -> Standing:
    own = [(contest, contest.sides.index(engine)) for contest in contests if engine in contest.sides]
    games = [(game, side) for contest, side in own for game in contest.record.games]
    lost = sum((faults(contest.record.games, side) for contest, side in own), Counter[str]())
    return Standing(
        name,
        sum((tally(contest.record.games, side) for contest, side in own), Tally()),
        sum(not game.counts for game, _ in games),
        dict(lost),
        sum(game.own_moves[side] for game, side in games),
        sum(game.seconds[side] for game, side in games),
    )
