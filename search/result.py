"""What a search found out, and why it ended.

All values are from the view of the side to move at the root, unless a field says otherwise. What the searches of a game
found is kept: by it lost games are resigned, and handicaps judged.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.game import Game
from go_rules.points import WHITE
from nets import evaluator as net
from nets.evaluator import Evaluation


class Found(NamedTuple):
    """What a search found."""

    moves: int
    """How many were played before."""
    line: int
    """The key of these moves (`Game.line_key`)."""
    colour: int
    """The side to move."""
    win_loss: float
    """Win minus loss, -1..1, as that side sees it."""


class Winrates:
    """Remembers the winrates of one game. Another game begins anew, and moves that were taken back are forgotten."""

    def __init__(self) -> None:
        self._game: Hashable = None
        self._found: list[Found] = []

    def add(self, game: Game, result: SearchResult) -> list[float]:
        """Add a search of the game's present position. Return this side's win minus loss (-1..1, as it sees them) at
        its searches of the game so far, the latest last."""
        found = Found(len(game.moves), game.line_key(), result.colour, 2.0 * result.winrate - 1.0)
        self._game, self._found = game.identity(), [*self._before(game), found]
        return [each.win_loss for each in self._found if each.colour == result.colour]

    def of_white(self, game: Game) -> list[float]:
        """Return white's win minus loss (-1..1) at both sides' searches before the game's present position."""
        return [each.win_loss if each.colour == WHITE else -each.win_loss for each in self._before(game)]

    def clear(self) -> None:
        """Forget all of them."""
        self._found = []

    def _before(self, game: Game) -> list[Found]:
        if self._game != game.identity():
            return []
        now = len(game.moves)
        return [each for each in self._found if each.moves < now and each.line == game.line_key(each.moves)]


RESIGN = -2
"""The "point" that a player returns to give up the game."""
LOWEST_UTILITY = -10.0
"""What reports show for the utility bound of a move about which nothing is known."""

CONFIDENCE = 1.96
"""Standard errors to either side of a mean within which it lies with a probability of 95 %."""


def winrate_radius(winrate: float, count: int) -> float:
    """Return half the width of the confidence interval of a winrate, 0..1, over `count` results; 1 without any."""
    return CONFIDENCE * math.sqrt(max(0.0, winrate * (1.0 - winrate)) / count) if count else 1.0


class StopReason(enum.Enum):
    """Why a search ended."""

    VISITS = "visits"
    TIME = "time"
    DECIDED = "decided"
    """The rest of the budget could not have changed the move."""
    MEMORY = "memory"
    """The tree has reached the size that the user allows. The result is what the tree knows."""
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class MoveInfo:
    """One root move, as `kata-analyze` reports it. Nobody changes one. Frozen, they would make a report, which has one
    for every legal move, take half as long again."""

    point: int
    visits: int
    edge_visits: int
    """Visits that came through this move; fewer than `visits` only where positions are shared between move orders."""
    winrate: float
    """0..1, no-result games counted as half."""
    utility: float
    """What the search maximises: for the player `nobi` winning chance and score together, -1.4..1.4; for all others
    2 * winrate - 1."""
    score_mean: float
    """Expected final score in points."""
    score_stdev: float
    """Points. In the searches of textbook/ that of the root, by the network or by playouts: the same for every move."""
    lead: float
    """Points by which komi would have to change to make the game even. The searches of textbook/ know no lead:
    they give `score_mean`."""
    prior: float
    """0..1, the policy's share, root noise included."""
    lcb: float
    """Lower confidence bound of `winrate`."""
    utility_lcb: float
    """The same of `utility`."""
    weight: float
    """Sum of the weights of the evaluations behind the averages; the number of visits where evaluations have none."""
    order: int
    """0 for the move that would be played, and so on."""
    pv: tuple[int, ...]
    """Principal variation, this move first."""
    pv_visits: tuple[int, ...] = ()
    """Visits of the positions along it."""
    pv_edge_visits: tuple[int, ...] = ()
    """Visits that came there by these very moves; fewer only where positions are shared between move orders."""
    ownership: NDArray[np.float32] | None = None
    """[H*W], +1 the root mover's; only where asked for."""
    ownership_stdev: NDArray[np.float32] | None = None
    """[H*W] of it over the tree below the move; only where asked for."""
    symmetry_of: int | None = None
    """The point that was searched in place of this one, which the board's symmetry makes equal to it."""
    no_result: float = 0.0
    """0..1: how likely the game ends without a result."""
    choice: float = 0.0
    """How much the search would like to play it: relative odds at temperature 1, 0 for never."""


@dataclass(frozen=True)
class RawEvaluation:
    """What the network itself says of the root, before any search."""

    winrate: float
    """0..1, no-result games counted as half."""
    no_result: float
    """0..1: how likely the game ends without a result."""
    lead: float
    score_mean: float
    score_stdev: float
    var_time_left: float
    """Moves: see `Evaluation.score`; -1 where the network has no such output."""
    shortterm_winloss_error: float
    """-1 where the network has no such output, as the next one."""
    shortterm_score_error: float
    policy: NDArray[np.float64]
    """[H*W + 1] shares of all legal moves, the pass last; -1 where a move is illegal."""

    @classmethod
    def of(cls, evaluation: Evaluation, policy: NDArray[np.float64]) -> RawEvaluation:
        """Read the first position of `evaluation`; `policy` is what the search makes of its policy."""
        value, score = evaluation.value[0].tolist(), evaluation.score[0].tolist()
        return cls(
            winrate=0.5 + 0.5 * (value[net.WIN] - value[net.LOSS]),
            no_result=value[net.NO_RESULT],
            lead=score[net.LEAD],
            score_mean=score[net.SCORE_MEAN],
            score_stdev=score[net.SCORE_STDEV],
            var_time_left=score[net.VAR_TIME_LEFT],
            shortterm_winloss_error=score[net.SHORTTERM_WINLOSS_ERROR],
            shortterm_score_error=score[net.SHORTTERM_SCORE_ERROR],
            policy=policy,
        )


@dataclass(frozen=True)
class SearchResult:
    """A snapshot of a search, taken while it runs or at its end."""

    colour: int
    """The side to move at the root."""
    visits: int
    """Visits of the root, those of a reused tree included. The averages that follow are over them, as in `MoveInfo`."""
    winrate: float
    utility: float
    score_mean: float
    score_stdev: float
    lead: float
    weight: float
    moves: tuple[MoveInfo, ...]
    """Best first (`order`). Moves without visits are included after the others, by prior."""
    ownership: NDArray[np.float32] | None = None
    """[H*W] in [-1, 1], averaged over the tree, +1 the side to move's; only where asked for."""
    ownership_stdev: NDArray[np.float32] | None = None
    seconds: float = 0.0
    new_visits: int = 0
    """Visits added by this search, without those of a reused tree."""
    evaluations: int = 0
    """Network evaluations (or playouts) computed, without cache hits."""
    batches: Mapping[int, int] = field(default_factory=dict)
    """How often so many positions were evaluated together, where that is counted."""
    reason: StopReason = StopReason.VISITS
    doublings: float = 0.0
    """By how many playout doublings the network was told that the side to move is stronger. All values hold between
    such players; between equals where it is 0."""
    raw: RawEvaluation | None = None
    """The network's own evaluation of the root; None without a network."""
    likelihoods: NDArray[np.float64] | None = None
    """[H*W + 1] how likely people play each move, the pass last; None where they were not asked."""
