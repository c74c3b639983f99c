"""Who has won a game that ended by passes or at the limit of moves, although a loser may lie about it.

A long repetition under a simple ko ends a game without a result: a draw, as nobody has won. Where the rules count the
board as it stands, the referee counts and asks nobody. Otherwise stones may be dead, and the
first of these decides:

1. Both engines give the same score.
2. Both name the same dead stones: the referee takes them off and counts.
3. Both scores name the same winner, who wins by an unknown margin.
4. Stones and territory that are unconditionally alive (Benson) are enough for one side, whatever becomes of the rest.
5. The judge, a third engine, if there is one.
6. The score of the only engine that gave one.

Otherwise the game counts for nobody. A score that cannot be, because unconditional life leaves no room for it, is none,
and so is a list of dead stones with a point that is empty or unconditionally alive.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from go_rules.agreement import agreed_score
from go_rules.game import Game
from go_rules.points import BLACK, PASS, WHITE
from go_rules.rules import SCORING_AREA, TAX_NONE, Rules
from go_rules.scoring import final_owners, result_text
from go_rules.tactics.life import new_life_work, safe_area
from gtp_engine.match import record
from gtp_engine.match.client import EngineError, GtpFailure
from gtp_engine.match.engines import Engine, Terms, TermsRefused

Range = tuple[float, float]
"""The least and the most that white's points minus black's may be."""
ROUNDING = 0.01
"""Engines write scores with one or two decimals."""


@dataclass
class Outcome:
    """How a game ended."""

    result: str
    reason: str
    detail: str = ""
    scores: list[str | None] = field(default_factory=lambda: [None, None])
    agreed: bool | None = None
    settled_by: str = ""
    """One of record.SETTLEMENTS; empty for a game that was not scored."""

    @property
    def is_disputed(self) -> bool:
        """Whether nothing but one engine's word, or nothing at all, says who has won."""
        return self.settled_by in (record.BY_ONE_SCORE, "")


def scores_on_board(rules: Rules) -> bool:
    """Return whether these rules score the board as it stands, with no dead stones taken off."""
    return rules.scoring == SCORING_AREA and not rules.friendly_pass


def counted(game: Game, dead: frozenset[int] = frozenset()) -> str:
    """Count the position, after the chains at `dead` are taken off, and return the result as text."""
    return result_text(agreed_score(game, dead))


def safe_owners(game: Game) -> NDArray[np.int8]:
    """Find who owns each point for certain: int8[N_POINTS] of BLACK, WHITE, or EMPTY where it may be disputed."""
    work = new_life_work()[0]
    safe_area(game.position, bool(game.rules.suicide), work)
    owners: NDArray[np.int8] = work["area"]
    return owners


def final_range(game: Game) -> Range:
    """Compute the range of the scores, white's points minus black's, that this final position can have, whichever of
    its stones are dead."""
    safe = safe_owners(game)
    disputable = game.width * game.height - int(np.count_nonzero(safe))
    if disputable == 0:
        return game.score(), game.score()
    if game.rules.scoring != SCORING_AREA or game.rules.tax != TAX_NONE:
        return -math.inf, math.inf
    off_board = game.score() - _difference(final_owners(game.position, game.record))
    certain = off_board + _difference(safe)
    return certain - disputable, certain + disputable


def settle(
    game: Game,
    reason: str,
    scores: Sequence[str | None],
    dead: Sequence[frozenset[int] | None],
    possible: Range,
) -> Outcome:
    """Decide how a game ended by what its engines say.

    `scores` and `dead` have an entry for each engine: its score and its dead stones, None where it says nothing.
    `possible` is the game's final_range. The result is `?` where all this shows no winner.
    """
    outcome = Outcome("?", reason, scores=list(scores))
    believed = [score if score is not None and is_within(score, possible) else None for score in scores]
    known = [score for score in believed if score is not None]
    if None not in scores:
        outcome.agreed = scores[0] == scores[1]
        outcome.detail = "" if outcome.agreed else "scores differ" if same_winner(*scores) else "winners differ"
    if len(known) == 2 and outcome.agreed:
        return dataclasses.replace(outcome, result=known[0], settled_by=record.BY_SCORES)
    if dead[0] is not None and dead[0] == dead[1] and may_be_dead(game, dead[0]):
        return dataclasses.replace(outcome, result=counted(game, dead[0]), settled_by=record.BY_DEAD_STONES)
    if len(known) == 2 and same_winner(*known):
        return dataclasses.replace(outcome, result=known[0][:2], settled_by=record.BY_SCORES)
    low, high = possible
    if low == high or low > 0 or high < 0:
        result = result_text(low) if low == high else "W+" if low > 0 else "B+"
        return dataclasses.replace(outcome, result=result, settled_by=record.BY_PROOF)
    if len(known) == 1:
        return dataclasses.replace(outcome, result=known[0], settled_by=record.BY_ONE_SCORE)
    if known or outcome.detail:
        return outcome
    why = "no engine gave a possible score" if any(scores) else "neither engine gave a score"
    return dataclasses.replace(outcome, detail=why)


def judged(outcome: Outcome, judge: Engine, terms: Terms, game: Game, possible: Range) -> Outcome:
    """Ask a third engine about a disputed game. If that fails, the outcome stays, and its detail says why."""
    try:
        judge.prepare(dataclasses.replace(terms, control=None, visits=None))
        for move in game.moves:
            judge.play(move.colour, move.point, terms.height, judge.limits.reply)
        score = judge.final_score()
        if score is not None and is_within(score, possible):
            return dataclasses.replace(outcome, result=score, settled_by=record.BY_JUDGE)
        why = "it gave no possible score"
    except EngineError as error:
        judge.discard()
        why = str(error)
    except (GtpFailure, TermsRefused) as error:
        why = str(error)
    return dataclasses.replace(outcome, detail=f"{outcome.detail}; judge: {why}".lstrip("; "))


def is_within(score: str, possible: Range) -> bool:
    """Return whether a score, as engines.parse_score returns it, is possible. It may be rounded."""
    margin = 0.0 if score == "0" else float(score[2:]) if score[0] == "W" else -float(score[2:])
    return possible[0] - ROUNDING <= margin <= possible[1] + ROUNDING


def same_winner(first: str | None, second: str | None) -> bool:
    """Return whether two scores name the same winner, or both a draw; False if one is missing."""
    return first is not None and second is not None and first[:2] == second[:2]


def may_be_dead(game: Game, dead: frozenset[int]) -> bool:
    """Return whether all these points have stones, and none of them is unconditionally alive."""
    safe, stones = safe_owners(game), game.position["board"]
    return all(point != PASS and stones[point] in (BLACK, WHITE) and safe[point] != stones[point] for point in dead)


def _difference(owners: NDArray[np.int8]) -> int:
    """White's points minus black's."""
    return int(np.count_nonzero(owners == WHITE)) - int(np.count_nonzero(owners == BLACK))
