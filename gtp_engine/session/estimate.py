"""Dead stones and the expected score, from the ownership that the network sees, or a short search without one.

The network is asked without a search, as each symmetry of the board shows the position, so there is no chance in what
it says, and the same position has the same score after every start.

Stones are dead if they are lost even with their owner to move. Both sides have passed: what could still be saved,
or killed only by a move that nobody made, stands. Where two chains that touch are both found dead, at least one of them
is not: somebody alive has to kill.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.agreement import agreed_owners, agreed_score, chains, has_no_dead, seki_stones
from go_rules.game import Game
from go_rules.points import BLACK, EMPTY, PASS, WHITE, board_points, neighbours
from go_rules.position import PHASE_MAIN
from go_rules.rules import SCORING_AREA
from go_rules.scoring import result_text
from nets.bare_evaluation import evaluate
from nets.evaluator import LEAD, Evaluator
from nets.features import AT_ROOT
from nets.symmetry import symmetry_count

SETTLED = 0.8
"""Where |ownership| of each point is at least this, the score is counted, not estimated."""


@dataclass(frozen=True)
class Estimate:
    """How a position will probably end."""

    game: Hashable
    """The identity of the position: `position_name`."""
    white_lead: float
    """White's lead in points, komi included."""
    dead: frozenset[int]
    """The points of all stones that are dead."""


class Judgement(NamedTuple):
    """What is expected of a position, in the view of the side to move."""

    lead: float
    """Points, komi included."""
    ownership: NDArray[np.float32]
    """[H*W], +1 for that side."""


def judged(evaluator: Evaluator, game: Game, colour: int, is_due: Callable[[], bool]) -> Judgement:
    """Judge a position with `colour` to move by its network alone: the average over the board's symmetries.

    One at a time is asked for, until `is_due`: the first one always. Raises EvaluatorError.
    """
    leads: list[float] = []
    owns: list[NDArray[np.float32]] = []
    for symmetry in range(symmetry_count(game.width, game.height)):
        if leads and is_due():
            break
        found = evaluate(evaluator, game, colour, (symmetry,), view=AT_ROOT)
        leads.append(float(found.score[0, LEAD]))
        owns.append(found.ownership[0])
    return Judgement(sum(leads) / len(leads), np.mean(owns, axis=0))


def position_name(game: Game) -> Hashable:
    """Return what tells the present position, with the way to it, from any other."""
    return game.identity(), len(game.moves), game.line_key()


def estimate(game: Game, judge: Callable[[Game, int], Judgement]) -> Estimate:
    """Estimate the end of the present position, without the passes that ended the game.

    `judge` judges a position with this side to move. It is called once for each side.
    """
    before, finished = game.copy(), is_finished(game)
    while finished and before.moves and before.moves[-1].point == PASS:
        before.undo()
    lost: dict[int, dict[int, float]] = {}
    white_lead = 0.0
    white_owns = []
    for colour in (BLACK, WHITE):
        lead, ownership = judge(before, colour)
        sign = 1.0 if colour == WHITE else -1.0
        lost[colour] = lost_chains(before, colour, ownership)
        white_owns.append(sign * ownership)
        if colour == before.to_play:
            white_lead = sign * lead
    dead = dead_stones(before, lost[BLACK], lost[WHITE])
    if _is_settled(before, dead, white_owns):
        white_lead = _counted(before, dead)
    return Estimate(position_name(game), white_lead, dead)


def score_text(game: Game, komi: float, estimate_end: Callable[[], Estimate]) -> str:
    """Write the result under the present rules, as `B+3.5`, `W+0.5` or `0`.

    After two passes it is exact, except that the engine decides which stones are dead. Before that it is the expected
    lead, rounded to a score that is possible with this komi. `komi` is that which was asked for, exactly.
    """
    if game.is_no_result:
        return "0"
    found = None if has_no_dead(game) else estimate_end()
    if found is None or is_finished(game):
        score = game.score() if found is None else agreed_score(game, found.dead)
        return result_text(round(score - float(game.record["komi"]) + komi, 3))
    # With a button every score differs from komi by half a point.
    half = 0.5 if game.rules.has_button else 0.0
    return result_text(round(round(found.white_lead - game.komi - half) + half + komi, 3))


def _is_settled(game: Game, dead: frozenset[int], white_owns: Sequence[NDArray[np.float32]]) -> bool:
    """Whether each point's owner is sure and the same whoever is to move, or not sure where it is to be neutral."""
    owners = agreed_owners(game, dead)
    if not owners:  # on an empty board nothing is neutral
        return False
    one, other = white_owns
    sure = (np.minimum(np.abs(one), np.abs(other)) >= SETTLED) & (one * other > 0)
    found = np.where(sure, np.where(one > 0, WHITE, BLACK), EMPTY)
    expected = [owners.get(point, EMPTY) for point in board_points(game.width, game.height)]
    return bool((found == expected).all())


def _counted(game: Game, dead: frozenset[int]) -> float:
    """Count white's points minus black's, komi included, once both have filled the neutral points in turn."""
    score = agreed_score(game, dead)
    if game.rules.scoring == SCORING_AREA and not seki_stones(game, dead):
        neutral = game.width * game.height - len(agreed_owners(game, dead))
        score += neutral % 2 * (1 if game.to_play == WHITE else -1)
    return score


def is_finished(game: Game) -> bool:
    """Return whether only dead stones are left to settle: both have passed, or the game is over or in its clean-up."""
    passed = len(game.moves) >= 2 and all(move.point == PASS for move in game.moves[-2:])
    # Where there is a button, the first pass takes it and ends nothing.
    return (passed and not game.rules.has_button) or game.is_over or int(game.position["phase"]) != PHASE_MAIN


def lost_chains(game: Game, colour: int, ownership: NDArray[np.float32]) -> dict[int, float]:
    """Find the chains of `colour` that the opponent owns on average: how sure that is, 0 to 1, by their first points.

    `ownership`: [H*W], +1 for `colour`.
    """
    own = dict(zip(board_points(game.width, game.height), ownership.tolist(), strict=True))
    means = {
        chain[0]: sum(own[point] for point in chain) / len(chain)
        for chain in chains(game)
        if game.position["board"][chain[0]] == colour
    }
    return {first: -mean for first, mean in means.items() if mean < 0}


def dead_stones(game: Game, black: Mapping[int, float], white: Mapping[int, float]) -> frozenset[int]:
    """Find the points of the chains that are dead, of those that `lost_chains` found for black and for white.

    Of two that touch only one can be dead: that which is SETTLED where the other is not. Else neither is, as in a seki.
    """
    lost = {**black, **white}
    points = {chain[0]: chain for chain in chains(game) if chain[0] in lost}
    first_of = {point: first for first, chain in points.items() for point in chain}
    alive = set()
    for first, chain in points.items():
        touched = {first_of[near] for point in chain for near in neighbours(point) if near in first_of} - {first}
        if touched and not (lost[first] >= SETTLED > max(lost[other] for other in touched)):
            alive.add(first)
    return frozenset(point for first, chain in points.items() if first not in alive for point in chain)
