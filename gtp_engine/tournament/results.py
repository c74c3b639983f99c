"""What the matches of a tournament say about its engines: points, faults, ratings, and all that as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtp_engine.match.record import faults, has_faults, tally
from gtp_engine.match.statistics import Sprt, Tally
from gtp_engine.match.table import METHOD as METHOD_OF_A_MATCH
from gtp_engine.match.table import summary
from gtp_engine.tournament.ratings import Ratings, rate
from gtp_engine.tournament.series import Contest

METHOD = (
    "Elo: Bradley and Terry's model by maximum likelihood, with one drawn game against the middle of the field added "
    "for each engine; the mean is 0. A draw is half a win. Intervals are 95 %; games taken as independent."
)


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
    tallies = [tally(contest.record.games, side) for contest, side in own]
    games = [(game, side) for contest, side in own for game in contest.record.games]
    lost = sum((faults(contest.record.games, side) for contest, side in own), Counter[str]())
    return Standing(
        name,
        Tally(sum(t.wins for t in tallies), sum(t.draws for t in tallies), sum(t.losses for t in tallies)),
        sum(not game.counts for game, _ in games),
        dict(lost),
        sum(game.own_moves[side] for game, side in games),
        sum(game.seconds[side] for game, side in games),
    )
