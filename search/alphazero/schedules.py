"""Which root moves the simulations of a search go to, and which of them is played in the end.

`value` tries each move once. `gumbel` divides its simulations among a few moves by sequential halving. `alphago` and
`puct` have no plan: there the formula that chooses below the root chooses at the root, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_MOVES
from search.alphazero.formulas import SMALLEST_PRIOR, improved_logits
from search.alphazero.tree import NONE, ROOT, Tree, edges_of

WAIT, DONE = -2, -3
"""In place of an edge: the leaves in flight have to come back first; there is nothing left to do."""

FLIGHT_SHARE = 8
"""No more than 1/8 of the root's visits are in flight at once, or a small search would go to moves that only virtual
losses make it try."""


class Schedule(Protocol):
    """The plan for the simulations of one search. Edges are numbered as in the tree, the root's first edge being 0."""

    may_stop_early: bool
    """Whether a search may end once the visits left cannot change the most visited move."""
    value_is_mean: bool
    """Whether the mean value of all visits is what the root is worth; else that is the value of its best move."""

    def next_edge(self, tree: Tree, in_flight: int) -> int:
        """Return the root's edge that the next simulation follows, NONE to choose by the formula, WAIT or DONE."""
        ...

    def begun(self, edge: int) -> None:
        """Take note that a simulation through this edge has begun."""
        ...

    def most_in_flight(self, visits: int) -> int:
        """Return how many leaves may be in flight where the root has so many visits."""
        ...

    def ranking(self, tree: Tree) -> NDArray[np.float64]:
        """Return a number for each of the root's edges: the higher, the rather is its move played."""
        ...

    def choice(self, tree: Tree) -> NDArray[np.float64]:
        """Return `MoveInfo.choice` of each of the root's edges: the odds of its move where moves are drawn."""
        ...


class _BestIsPlayed:
    """What schedules share after which the best move is played, and never drawn from several."""

    may_stop_early = False
    value_is_mean = False

    def ranking(self, tree: Tree) -> NDArray[np.float64]:
        """Rank the edges as the schedule does."""
        raise NotImplementedError

    def choice(self, tree: Tree) -> NDArray[np.float64]:
        """Choose the edge that is ranked first."""
        ranking = self.ranking(tree)
        return np.asarray(ranking == ranking.max(), np.float64)


class NoPlan:
    """The schedule of `puct` and `alphago`: the most visited move is played."""

    may_stop_early = True
    value_is_mean = True

    def next_edge(self, _tree: Tree, _in_flight: int) -> int:
        """Leave the choice to the formula."""
        return NONE

    def begun(self, edge: int) -> None:
        """Remember nothing: without a plan it makes no difference."""

    def most_in_flight(self, visits: int) -> int:
        """Return a share of the root's visits."""
        return 1 + visits // FLIGHT_SHARE

    def ranking(self, tree: Tree) -> NDArray[np.float64]:
        """Rank by visits, moves visited as often by their prior."""
        edges = edges_of(tree)
        return np.asarray(edges["visits"] + 0.5 * edges["prior"], np.float64)

    def choice(self, tree: Tree) -> NDArray[np.float64]:
        """Return the visits: moves are drawn by them."""
        return edges_of(tree)["visits"].astype(np.float64)


class EachMoveOnce(_BestIsPlayed):
    """The schedule of `value`: every move is tried once, and the one with the best value is played."""

    def __init__(self, tree: Tree) -> None:
        self._next = 0
        self._count = len(edges_of(tree))

    def next_edge(self, tree: Tree, _in_flight: int) -> int:
        """Return the likeliest move that was not tried yet."""
        edges = edges_of(tree)
        while self._next < self._count and edges["visits"][self._next] > 0:
            self._next += 1
        return self._next if self._next < self._count else DONE

    def begun(self, edge: int) -> None:
        """Go on to the next move."""
        self._next = edge + 1

    def most_in_flight(self, _visits: int) -> int:
        """Return the number of moves: they do not disturb each other."""
        return self._count

    def ranking(self, tree: Tree) -> NDArray[np.float64]:
        """Rank by value; moves that were not tried come last, by their prior."""
        edges = edges_of(tree)
        tried = edges["visits"] > 0
        return np.where(tried, 2.0 + edges["total"] / np.maximum(edges["visits"], 1), edges["prior"].astype(np.float64))


class SequentialHalving(_BestIsPlayed):
    """The schedule of `gumbel` (Danihelka et al. 2022, algorithm 2, after Karnin et al. 2013).

    The `considered` moves with the highest g + logits share the first phase's simulations. After each phase the better
    half by g + logits + sigma(Q) goes on. g is Gumbel noise, or 0.
    """

    def __init__(
        self,
        tree: Tree,
        simulations: int,
        considered: int,
        settings: NDArray[np.void],
        noise: NDArray[np.float64],
    ) -> None:
        """Plan so many `simulations`. `settings`: SETTINGS[1] of the search; `noise`: g of each of the root's edges."""
        self._settings = settings
        self._noise = noise
        logits = np.log(np.maximum(edges_of(tree)["prior"].astype(np.float64), SMALLEST_PRIOR)) + noise
        count = max(1, min(simulations, considered, len(logits)))
        self._remaining = np.argsort(-logits, kind="stable")[:count]
        """The edges that are still considered, the best first."""
        self._phases: Iterator[tuple[int, int]] = iter(phases(simulations, count))
        self._survived = np.zeros(len(logits), np.int64)
        """How many phases each edge has come to, and its visits in this search."""
        self._visits = np.zeros(len(logits), np.int64)
        self._left = 0
        self._ended = not self._begin_phase()

    def next_edge(self, tree: Tree, in_flight: int) -> int:
        """Return the remaining edge with the fewest visits in this search, or halve them after a phase."""
        if self._left == 0 and not self._ended:
            if in_flight > 0:
                return WAIT
            self._sort(tree)
            self._ended = not self._begin_phase()
        if self._ended:
            return DONE
        return int(self._remaining[np.argmin(self._visits[self._remaining])])

    def begun(self, edge: int) -> None:
        """Count a visit of the edge."""
        self._visits[edge] += 1
        self._left -= 1

    def most_in_flight(self, visits: int) -> int:
        """Return the number of moves considered now: their subtrees do not disturb each other."""
        return max(len(self._remaining), 1 + visits // FLIGHT_SHARE)

    def ranking(self, tree: Tree) -> NDArray[np.float64]:
        """Rank by phases survived, then by visits in this search, then by g + logits + sigma(Q)."""
        keys = (self._scores(tree), self._visits, self._survived)
        places = np.empty(len(self._survived))
        places[np.lexsort(keys)] = np.arange(1.0, len(places) + 1.0)
        return places

    def _begin_phase(self) -> bool:
        """Begin the next phase, if there is one."""
        count, visits = next(self._phases, (0, 0))
        self._remaining = self._remaining[:count] if count > 0 else self._remaining
        self._left = visits
        if count > 0:
            self._survived[self._remaining] += 1
        return count > 0

    def _sort(self, tree: Tree) -> None:
        scores = self._scores(tree)[self._remaining]
        self._remaining = self._remaining[np.argsort(-scores, kind="stable")]

    def _scores(self, tree: Tree) -> NDArray[np.float64]:
        """g + logits + sigma(completed Q) of each of the root's edges."""
        out = np.zeros(MAX_MOVES)
        improved_logits(tree, np.int64(ROOT), self._settings[0], out)
        return out[: len(self._noise)] + self._noise


def phases(simulations: int, considered: int) -> list[tuple[int, int]]:
    """Return sequential halving's phases: how many moves are considered, and how many simulations they get together.

    Each of the about log2(considered) phases gets as many simulations as any other, and at least one for each of its
    moves. The last phase, with two moves, goes on until all simulations are used.
    """
    rounds = max(1, math.ceil(math.log2(considered)))
    plan: list[tuple[int, int]] = []
    left = simulations
    while left > 0:
        visits = considered * max(1, simulations // (rounds * considered))
        plan.append((considered, min(visits, left)))
        left -= visits
        considered = max(min(2, considered), considered // 2)
    return plan
