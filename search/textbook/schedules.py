"""How the visits of a search are divided among the root's moves, and which of these is played in the end.

| schedule | players | divides | plays |
| --- | --- | --- | --- |
| `ByRule` | `uct`, `rave`, `alphago`, `puct` | as the rule of selection says | the most visited move |
| `BestMean` | `mc` | as the rule says | the move with the best mean |
| `EachMoveOnce` | `value` | one visit for each move | the move with the best value |
| `SequentialHalving` | `gumbel` | among a few moves, then among the better half of these, and so on | the winner |

A child of the root is named here by its place among them, the first being 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.points import MAX_MOVES
from search.textbook.rules import SMALLEST_PRIOR, improved_logits
from search.textbook.tree import NONE, ROOT, children_of

WAIT, DONE = -2, -3
"""In place of a child: the leaves in flight have to come back first; there is nothing left to do."""

FLIGHT_SHARE = 8
"""No more than 1/8 of the root's visits are in flight at once, or a small search would go to moves that only virtual
losses make it try."""

PRIOR_PLAYOUTS = 20.0
"""How many playouts of the mean move are counted with those of the best one, to say what a position is worth."""


class Worth(NamedTuple):
    """What a position is worth."""

    value: float
    """The winning chance of the side to move, 0..1."""
    score: float
    """White's points minus black's."""


class ByRule:
    """The rule of selection chooses at the root as below it, and the most visited move is played."""

    may_stop_early = True
    """Whether a search may end once the visits left cannot change the move."""

    def next_child(self, _nodes: NDArray[np.void], _in_flight: int) -> int:
        """Return the child that the next iteration goes to, NONE to choose by the rule, WAIT or DONE."""
        return NONE

    def begun(self, child: int) -> None:
        """Take note that an iteration through this child has begun."""

    def most_in_flight(self, visits: int) -> int:
        """Return how many leaves may be in flight where the root has so many visits."""
        return 1 + visits // FLIGHT_SHARE

    def ranking(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """Return a number for each child: the higher, the rather is its move played; equals are played by prior."""
        return children_of(nodes)["visits"].astype(np.float64)

    def choice(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """Return `MoveInfo.choice` of each child: the odds of its move where moves are drawn."""
        return children_of(nodes)["visits"].astype(np.float64)

    def lead(self, nodes: NDArray[np.void]) -> int:
        """Count by how many visits the first move is ahead of the second; a single move by all it has."""
        visits = np.sort(children_of(nodes)["visits"])
        return int(visits[-1] - visits[-2]) if len(visits) > 1 else int(visits.sum())

    def worth(self, nodes: NDArray[np.void]) -> Worth:
        """Say what the root is worth: the mean of all its visits."""
        root = nodes[ROOT]
        visits = max(1, int(root["visits"]))
        return Worth(1.0 - float(root["wins"]) / visits, float(root["score"]) / visits)


class BestMean(ByRule):
    """The move with the best mean is played, and never another drawn."""

    prior_playouts = PRIOR_PLAYOUTS

    def ranking(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """Rank by the mean; moves without visits come last."""
        children = children_of(nodes)
        visits = children["visits"]
        return np.where(visits > 0, children["wins"] / np.maximum(visits, 1), -1.0)

    def choice(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """Choose what is ranked first."""
        ranking = self.ranking(nodes)
        return np.asarray(ranking == ranking.max(), np.float64)

    def lead(self, nodes: NDArray[np.void]) -> int:
        """Count how many playouts, shared equally, the second best move needs at least to overtake the best."""
        children = children_of(nodes)
        visits = children["visits"].astype(np.int64)
        if len(visits) < 2:
            return int(visits.sum())
        # Moves differ by a few visits at most; what is missing may all be won or lost.
        uneven = int(visits.max() - visits.min())
        second, first = np.partition(children["wins"], -2)[-2:]
        return int((first - second - uneven) * len(visits))

    def worth(self, nodes: NDArray[np.void]) -> Worth:
        """Say what the root is worth: what its best move promises.

        The mean of all moves says more of the bad ones. But of moves with few playouts the best is the luckiest one: so
        much of the mean is mixed in.
        """
        children = children_of(nodes)
        best = children[int(np.argmax(self.ranking(nodes)))] if len(children) else None
        if best is None or best["visits"] == 0:
            return super().worth(nodes)
        mixed = self.prior_playouts / int(children["visits"].sum())
        weight = float(best["visits"]) + self.prior_playouts
        return Worth(
            (float(best["wins"]) + mixed * float(children["wins"].sum())) / weight,
            (float(best["score"]) + mixed * float(children["score"].sum())) / weight,
        )


class EachMoveOnce(BestMean):
    """Every move is tried once, the likeliest first."""

    may_stop_early = False
    prior_playouts = 0.0

    def __init__(self, nodes: NDArray[np.void]) -> None:
        self._next = 0
        self._count = len(children_of(nodes))

    def next_child(self, nodes: NDArray[np.void], _in_flight: int) -> int:
        """Return the likeliest move that was not tried yet."""
        visits = children_of(nodes)["visits"]
        while self._next < self._count and visits[self._next] > 0:
            self._next += 1
        return self._next if self._next < self._count else DONE

    def begun(self, child: int) -> None:
        """Go on to the next move."""
        self._next = child + 1

    def most_in_flight(self, _visits: int) -> int:
        """Return the number of moves: they do not disturb each other."""
        return self._count


class SequentialHalving(BestMean):
    """Danihelka et al. 2022, algorithm 2, after Karnin et al. 2013.

    The `considered` moves with the highest g + logits share the first phase's visits. After each phase the better half
    by g + logits + sigma(Q) goes on. g is Gumbel noise, or 0.
    """

    may_stop_early = False
    prior_playouts = 0.0

    def __init__(
        self,
        nodes: NDArray[np.void],
        visits: int,
        considered: int,
        settings: NDArray[np.void],
        noise: NDArray[np.float64],
    ) -> None:
        """Plan so many `visits`. `settings`: SETTINGS[1] of the search; `noise`: g of each child."""
        self._settings = settings
        self._noise = noise
        logits = np.log(np.maximum(children_of(nodes)["prior"].astype(np.float64), SMALLEST_PRIOR)) + noise
        count = max(1, min(visits, considered, len(logits)))
        self._remaining = np.argsort(-logits, kind="stable")[:count]
        """The children that are still considered, the best first."""
        self._phases = iter(phases(visits, count))
        self._survived = np.zeros(len(logits), np.int64)
        """How many phases each child has come to, and its visits in this search."""
        self._visits = np.zeros(len(logits), np.int64)
        self._left = 0
        self._ended = not self._begin_phase()

    def next_child(self, nodes: NDArray[np.void], in_flight: int) -> int:
        """Return the remaining child with the fewest visits in this search, or halve them after a phase."""
        if self._left == 0 and not self._ended:
            if in_flight > 0:
                return WAIT
            scores = self._scores(nodes)[self._remaining]
            self._remaining = self._remaining[np.argsort(-scores, kind="stable")]
            self._ended = not self._begin_phase()
        if self._ended:
            return DONE
        return int(self._remaining[np.argmin(self._visits[self._remaining])])

    def begun(self, child: int) -> None:
        """Count a visit of the child."""
        self._visits[child] += 1
        self._left -= 1

    def most_in_flight(self, visits: int) -> int:
        """Return the number of moves considered now: their subtrees do not disturb each other."""
        return max(len(self._remaining), super().most_in_flight(visits))

    def ranking(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """Rank by phases survived, then by visits in this search, then by g + logits + sigma(Q)."""
        keys = (self._scores(nodes), self._visits, self._survived)
        places = np.empty(len(self._survived))
        places[np.lexsort(keys)] = np.arange(1.0, len(places) + 1.0)
        return places

    def _begin_phase(self) -> bool:
        """Begin the next phase, if there is one."""
        count, self._left = next(self._phases, (0, 0))
        if count > 0:
            self._remaining = self._remaining[:count]
            self._survived[self._remaining] += 1
        return count > 0

    def _scores(self, nodes: NDArray[np.void]) -> NDArray[np.float64]:
        """g + logits + sigma(completed Q) of each child."""
        out = np.zeros(MAX_MOVES)
        improved_logits(nodes, np.int64(ROOT), self._settings[0], out)
        return out[: len(self._noise)] + self._noise


def phases(visits: int, considered: int) -> list[tuple[int, int]]:
    """Return sequential halving's phases: how many moves are considered, and how many visits they get together.

    Each of the about log2(considered) phases gets as many visits as any other, and at least one for each of its moves.
    The last phase, with two moves, goes on until all visits are used.
    """
    rounds = max(1, math.ceil(math.log2(considered)))
    plan: list[tuple[int, int]] = []
    left = visits
    while left > 0:
        together = considered * max(1, visits // (rounds * considered))
        plan.append((considered, min(together, left)))
        left -= together
        considered = max(min(2, considered), considered // 2)
    return plan
