"""What a match's score says about strength: Elo with a confidence interval, and a sequential test.

Method. A game counts 1, ½ or 0 for the first engine, and games are taken as independent. The 95 % confidence interval
of the expected score is Wilson's (1927), which stays sensible near 0 and 1 and for few games; Elo is the logistic
transform of the score, 400·log10(s / (1 − s)), of the interval's ends as well. Openings come in pairs with colours
exchanged, which makes the true interval, if anything, a little narrower than the one stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_95 = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Tally:
    """The score of a match from the first engine's side."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """How many games were played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """The share of the points, 0 to 1; ½ if no game was played."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5

    def __add__(self, other: Tally) -> Tally:
        """Return the score of both together."""
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)


def score_interval(tally: Tally) -> tuple[float, float]:
    """Compute Wilson's 95 % confidence interval of the expected score; 0 to 1 without games."""
    n, z = tally.games, Z_95
    if n == 0:
        return 0.0, 1.0
    s = tally.score
    centre = (s + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(s * (1 - s) / n + z * z / (4 * n * n))
    # At a score of 0 or 1 the bound is exactly 0 or 1; rounding would make it a finite Elo.
    return max(0.0, centre - half) if s > 0 else 0.0, min(1.0, centre + half) if s < 1 else 1.0


LARGEST = 1e5
"""A side that is weaker by more Elo has the same score, 0: ten to a higher power is no float."""


def elo(score: float) -> float:
    """Compute the rating difference in Elo at which this score is expected. It is infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score))


def expected_score(difference: float) -> float:
    """Compute the score, 0 to 1, that is expected at a rating difference in Elo."""
    return 1 / (1 + 10 ** (-max(difference, -LARGEST) / 400))


UNSEEN = 1e-3
"""How often wins, draws and losses count that never happened, so that no outcome is impossible."""
SURE = 1e-6
"""A score that is expected is no nearer to 0 and 1 than this, which is 2400 Elo."""
HALVINGS = 50


def log_likelihood(tally: Tally, score: float) -> float:
    """Compute how well an expected score explains a match: the logarithm of the likelihood.

    Of all shares of wins, draws and losses with this expected score, those count that explain the match best. They are
    c / (n (1 + t (a - score))) for c of n games of outcome a, where t is such that they have this score.
    """
    score = min(max(score, SURE), 1 - SURE)
    counts = [max(count, UNSEEN) for count in (tally.wins, tally.draws, tally.losses)]
    distances = (1 - score, 0.5 - score, -score)
    low, high = -1 / (1 - score), 1 / score  # between these all shares are positive, and the sum below falls
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(c * d / (1 + middle * d) for c, d in zip(counts, distances, strict=True)) > 0:
            low = middle
        else:
            high = middle
    return sum(c * math.log(c / (1 + middle * d) / sum(counts)) for c, d in zip(counts, distances, strict=True))


@dataclass(frozen=True)
class Sprt:
    """Wald's sequential test of "stronger by `elo1`" against "stronger by `elo0`", with 5 % errors of either kind.

    How often games are drawn is estimated from the games so far under each of the two (the generalised SPRT that engine
    test farms use).
    """

    elo0: float
    elo1: float
    error: float = 0.05

    @property
    def bound(self) -> float:
        """The test ends when the ratio leaves (-bound, +bound)."""
        return math.log((1 - self.error) / self.error)

    def log_likelihood_ratio(self, tally: Tally) -> float:
        """Compute the logarithm of the likelihood ratio: how much better `elo1` explains the score than `elo0` does."""
        s0, s1 = expected_score(self.elo0), expected_score(self.elo1)
        return log_likelihood(tally, s1) - log_likelihood(tally, s0) if tally.games else 0.0

    def decision(self, tally: Tally) -> int | None:
        """Return the hypothesis that the test accepts: 1 for `elo1`, 0 for `elo0`; None if more games are needed."""
        ratio = self.log_likelihood_ratio(tally)
        return 1 if ratio >= self.bound else 0 if ratio <= -self.bound else None


class SprtRun:
    """A sequential test of a match as its games end. Its first decision stands.

    Games count in the order of their numbers, up to the first that has not ended. At several tables they end in another
    order: short ones come first, which would favour one side, and those that still run when the test has decided could
    undo it.
    """

    def __init__(self, test: Sprt) -> None:
        self.test = test
        self.games = 0
        """How many games the test has looked at: all that it needed, once it has decided."""
        self.tally = Tally()
        """Their score."""
        self.decision: int | None = None
        """The hypothesis that is accepted, as `Sprt.decision` has it; None as long as more games are needed."""
        self._waiting: dict[int, Tally] = {}

    def add(self, number: int, score: Tally) -> None:
        """Add the score of the game with this number, from 0, which has ended; it is empty if it counts for nobody."""
        self._waiting[number] = score
        while self.decision is None and self.games in self._waiting:
            self.tally += self._waiting.pop(self.games)
            self.games += 1
            self.decision = self.test.decision(self.tally)
