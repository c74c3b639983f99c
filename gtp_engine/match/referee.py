"""One game between two engines, with a referee who passes the moves on and keeps the clocks.

The referee has its own board and judges every move by the rules of the match. An engine that plays an illegal move,
refuses a legal one, ends, hangs or writes what is not GTP loses the game, and the record says why.

Who has won a game that ended by passes or at the limit of moves is found out although a loser may lie about it. A long
repetition under a simple ko ends a game without a result: a draw, as nobody has won. Where the rules count the board as
it stands, the referee counts and asks nobody. Otherwise stones may be dead, and the first of these decides:

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

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from go_rules.agreement import agreed_score
from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, COLOUR_LETTERS, PASS, WHITE, VertexError, from_vertex, opponent, to_vertex
from go_rules.rules import SCORING_AREA, TAX_NONE, Rules
from go_rules.scoring import final_owners, result_text
from go_rules.tactics.life import new_life_work, safe_area
from gtp_engine.match import record
from gtp_engine.match.client import EngineDied, EngineError, EngineGarbled, EngineTimeout, GtpFailure
from gtp_engine.match.clock import SideClock
from gtp_engine.match.engines import Engine, Terms, TermsRefused
from gtp_engine.match.openings import Opening
from gtp_engine.match.record import GameRecord

NO_REPLY = {EngineTimeout: record.HUNG, EngineDied: record.CRASHED, EngineGarbled: record.GARBLED}
UNUSABLE = (record.HUNG, record.CRASHED, record.GARBLED, record.OVERTIME)
"""After these the process is replaced: it has ended, or it may still send a reply that nobody waits for."""

HANG_WITHOUT_CLOCK = 600.0
LEAST_HANG = 60.0
HANG_FACTOR = 10.0

Range = tuple[float, float]
"""The least and the most that white's points minus black's may be."""
ROUNDING = 0.01
"""Engines write scores with one or two decimals."""


@dataclass(frozen=True)
class Conduct:
    """How strict the referee is."""

    enforce_clock: bool = False
    """Whether a move that is too late loses the game. Otherwise it is only counted."""
    lag: float = 0.5
    """Seconds that a clock may be below zero before a move is late (clock.py): the system needs time to pass it on."""
    hang_seconds: float | None = None
    """Seconds after which a genmove without reply ends the game. None: as the clock says."""
    max_moves: int = 0
    """Moves after which the game is scored as it stands. 0 stands for three times the board's points."""
    count_board: bool = False
    """Whether the final position is scored with all stones alive, and the engines are not asked."""

    def longest_turn(self, clock: SideClock | None) -> float:
        """Compute after how many seconds without an answer an engine counts as hanging: well beyond what its clock
        allows it."""
        if self.hang_seconds is not None:
            return self.hang_seconds
        return HANG_WITHOUT_CLOCK if clock is None else max(LEAST_HANG, HANG_FACTOR * clock.allowance())


@dataclass
class Outcome:
    """How a game ended: the entries of its record that say so."""

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


class Forfeit(Exception):
    """The engine `side` (0 or 1) loses for `reason`, one of record.FAULTS."""

    def __init__(self, side: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.side = side
        self.reason = reason
        self.detail = detail


@dataclass
class Referee:
    """One game, from the empty board to its record.

    It takes at most, in seconds: for each engine `start`, and `reply` for each move of the opening; for each other move
    the longest turn (Conduct); and twice `score` for each engine and for the judge, whose start counts too
    (EngineLimits).
    """

    number: int
    engines: tuple[Engine, Engine]
    black: int
    """The engine that plays black in this game, 0 or 1."""
    terms: Terms
    conduct: Conduct
    opening: Opening
    judge: Engine | None = None
    """Who is asked who won if that is disputed."""

    def __post_init__(self) -> None:
        """Set up the board and the clocks."""
        terms = self.terms
        self.game = Game(terms.width, terms.height, terms.rules, terms.komi)
        if terms.handicap:
            self.game.place_handicap(terms.handicap)
        self._clocks = [SideClock(terms.control, self.conduct.lag) if terms.control else None for _ in self.engines]
        self._seconds, self._longest = [0.0, 0.0], [0.0, 0.0]
        self._own_moves, self._late = [0, 0], [0, 0]
        self._listened = [0.0, 0.0]
        """Seconds that each engine took to hear of its opponent's last move: its clock runs from that move on."""

    def play(self) -> GameRecord:
        """Play the game and return its record, which also says what went wrong."""
        noise = [(engine.stderr_lines(), engine.stray_lines()) for engine in self.engines]
        unusable: int | None = None
        try:
            self._prepare()
            outcome = self._play_moves()
        except Forfeit as forfeit:
            letter = COLOUR_LETTERS[opponent(self._colour(forfeit.side))]
            result = f"{letter}+T" if forfeit.reason == record.OVERTIME else f"{letter}+F"
            outcome = Outcome(result, forfeit.reason, f"engine {record.SIDES[forfeit.side]}: {forfeit.detail}")
            if forfeit.reason in UNUSABLE:
                unusable = forfeit.side
        after = [(engine.stderr_lines(), engine.stray_lines()) for engine in self.engines]
        if unusable is not None:
            self.engines[unusable].discard()
        return GameRecord(
            game=self.number,
            black=self.black,
            opening=[to_vertex(point, self.terms.height) for point in self.opening],
            moves=len(self.game.moves),
            **vars(outcome),
            seconds=[round(s, 3) for s in self._seconds],
            longest=[round(s, 3) for s in self._longest],
            own_moves=self._own_moves,
            late=self._late,
            stderr_lines=[now[0] - before[0] for before, now in zip(noise, after, strict=True)],
            stray_lines=[now[1] - before[1] for before, now in zip(noise, after, strict=True)],
        )

    def _prepare(self) -> None:
        for side, engine in enumerate(self.engines):
            try:
                with self._listening_to(side):
                    engine.prepare(self.terms)
            except TermsRefused as error:
                raise Forfeit(side, record.TERMS_REFUSED, str(error).removeprefix(f"{engine.label} ")) from error
        for i, point in enumerate(self.opening):
            colour = BLACK if i % 2 == 0 else WHITE
            self.game.play(colour, point)
            for side in (0, 1):
                self._tell(side, colour, point)

    def _play_moves(self) -> Outcome:
        limit = self.conduct.max_moves or 3 * self.terms.width * self.terms.height
        while not self._is_over():
            if len(self.game.moves) >= limit:
                return self._score(record.MOVE_LIMIT)
            colour = self.game.to_play
            side = self._side(colour)
            answer = self._ask(side, colour)
            if answer == "resign":
                return Outcome(f"{COLOUR_LETTERS[opponent(colour)]}+R", record.RESIGNED)
            point = self._judge(side, colour, answer)
            started = time.monotonic()
            self._tell(1 - side, colour, point)
            self._listened[1 - side] = time.monotonic() - started
        return self._score(record.WON_BY_SCORE)

    def _is_over(self) -> bool:
        """Two passes in a row end the game for GTP engines under any rules, unless the first took the button."""
        passes = self.game.moves[-2:]
        both = len(passes) == 2 and all(move.point == PASS for move in passes)
        return self.game.is_over or (both and not self.terms.rules.has_button)

    def _ask(self, side: int, colour: int) -> str:
        """The answer to genmove, with the clock running since the opponent's move."""
        engine, clock = self.engines[side], self._clocks[side]
        started = time.monotonic() - self._listened[side]
        hang = allowed = self.conduct.longest_turn(clock)
        with self._listening_to(side):
            try:
                if clock is not None:
                    if self.conduct.enforce_clock:
                        allowed = min(allowed, clock.limit())
                    left = clock.time_left(engine.knows_periods)
                    engine.time_left(colour, *left, allowed - (time.monotonic() - started))
                answer = engine.genmove(colour, allowed - (time.monotonic() - started))
            except EngineTimeout as error:
                if allowed < hang:
                    raise self._overtime(side, allowed) from error
                raise
            except GtpFailure as error:
                raise Forfeit(side, record.GARBLED, f"genmove failed: {error}") from error
        self._charge(side, time.monotonic() - started)
        return answer

    def _charge(self, side: int, seconds: float) -> None:
        self._seconds[side] += seconds
        self._longest[side] = max(self._longest[side], seconds)
        self._own_moves[side] += 1
        clock = self._clocks[side]
        if clock is None:
            return
        if clock.spend(seconds) > 0:
            self._late[side] += 1
            if self.conduct.enforce_clock:
                raise self._overtime(side, seconds)

    def _judge(self, side: int, colour: int, answer: str) -> int:
        """The point of a legal move, played on the referee's board."""
        try:
            point = from_vertex(answer, self.terms.width, self.terms.height)
        except VertexError:
            raise Forfeit(side, record.ILLEGAL, f"genmove answered {answer[:40]!r}") from None
        try:
            self.game.play(colour, point)
        except RuleViolation as violation:
            where = f"{to_vertex(point, self.terms.height)} at move {len(self.game.moves) + 1}"
            raise Forfeit(side, record.ILLEGAL, f"{where}: {violation.reason}") from violation
        return point

    def _tell(self, side: int, colour: int, point: int) -> None:
        seconds = self.conduct.longest_turn(self._clocks[side])
        try:
            with self._listening_to(side):
                self.engines[side].play(colour, point, self.terms.height, seconds)
        except GtpFailure as error:
            vertex = to_vertex(point, self.terms.height)
            move = len(self.game.moves)
            raise Forfeit(side, record.REFUSED, f"{vertex} at move {move}: {error}") from error

    def _score(self, reason: str) -> Outcome:
        """Who won, without a question where counting the board is enough."""
        if self.game.is_no_result:
            return Outcome("0", reason, settled_by=record.BY_BOARD)
        if self.conduct.count_board:
            return Outcome(counted(self.game), reason, settled_by=record.BY_BOARD)
        scores: list[str | None] = [None, None]
        dead: list[frozenset[int] | None] = [None, None]
        for side, engine in enumerate(self.engines):
            with self._listening_to(side):
                scores[side] = engine.final_score()
        if None in scores or scores[0] != scores[1]:
            for side, engine in enumerate(self.engines):
                with self._listening_to(side):
                    dead[side] = engine.dead_stones(self.terms.width, self.terms.height)
        possible = final_range(self.game)
        outcome = settle(self.game, reason, scores, dead, possible)
        if outcome.is_disputed and self.judge is not None:
            return judged(outcome, self.judge, self.terms, self.game, possible)
        return outcome

    @contextlib.contextmanager
    def _listening_to(self, side: int) -> Iterator[None]:
        """Have an engine lose that cannot be used any more after what is asked of it here."""
        try:
            yield
        except EngineError as error:
            raise Forfeit(side, NO_REPLY.get(type(error), record.CRASHED), str(error)) from error

    def _overtime(self, side: int, seconds: float) -> Forfeit:
        move = len(self.game.moves) + 1
        return Forfeit(side, record.OVERTIME, f"move {move} took {seconds:.2f} s or more")

    def _side(self, colour: int) -> int:
        return self.black if colour == BLACK else 1 - self.black

    def _colour(self, side: int) -> int:
        return BLACK if side == self.black else WHITE


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
    game: Game, reason: str, scores: Sequence[str | None], dead: Sequence[frozenset[int] | None], possible: Range
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
