"""One game between two engines, with a referee who passes the moves on and keeps the clocks.

The referee has its own board and judges every move by the rules of the match. An engine that plays an illegal move,
refuses a legal one, ends, hangs or writes what is not GTP loses the game, and the record says why.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, COLOUR_LETTERS, PASS, WHITE, VertexError, from_vertex, opponent, to_vertex
from go_rules.rules import SCORING_AREA, Rules
from gtp_engine.match import record
from gtp_engine.match.client import EngineDied, EngineError, EngineGarbled, EngineTimeout, GtpFailure
from gtp_engine.match.clock import SideClock
from gtp_engine.match.engines import Engine, Terms
from gtp_engine.match.openings import Opening
from gtp_engine.match.record import GameRecord

NO_REPLY = {EngineTimeout: record.HUNG, EngineDied: record.CRASHED, EngineGarbled: record.GARBLED}
UNUSABLE = (record.HUNG, record.CRASHED, record.GARBLED, record.OVERTIME)
"""After these the process is replaced: it has ended, or it may still send a reply that nobody waits for."""

HANG_WITHOUT_CLOCK = 600.0
LEAST_HANG = 60.0
HANG_FACTOR = 10.0


@dataclass(frozen=True)
class Conduct:
    """How strict the referee is."""

    enforce_clock: bool = False
    """Whether a move that is too late loses the game. Otherwise it is only counted."""
    lag: float = 0.5
    """Seconds by which a move may be late and is not counted: the system needs time to pass it on."""
    hang_seconds: float | None = None
    """Seconds after which a genmove without reply ends the game. None: as the clock says."""
    max_moves: int = 0
    """Moves after which the game is scored as it stands. 0 stands for three times the board's points."""
    count_board: bool = False
    """Whether the final position is scored with all stones alive, and the engines are not asked."""


@dataclass
class Outcome:
    """How a game ended."""

    result: str
    reason: str
    detail: str = ""
    scores: list[str | None] = field(default_factory=lambda: [None, None])
    agreed: bool | None = None


class Forfeit(Exception):
    """The engine `side` (0 or 1) loses for `reason`, one of record.FAULTS."""

    def __init__(self, side: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.side = side
        self.reason = reason
        self.detail = detail


class Referee:
    """One game, from the empty board to its record."""

    def __init__(
        self, number: int, engines: tuple[Engine, Engine], black: int, terms: Terms, conduct: Conduct, opening: Opening
    ) -> None:
        """`black` is the engine that plays black in this game, 0 or 1."""
        self.number = number
        self.engines = engines
        self.black = black
        self.terms = terms
        self.conduct = conduct
        self.opening = opening
        self.game = Game(terms.width, terms.height, terms.rules, terms.komi)
        self.clocks = [SideClock(terms.control) if terms.control else None for _ in engines]
        self.seconds = [0.0, 0.0]
        self.longest = [0.0, 0.0]
        self.own_moves = [0, 0]
        self.late = [0, 0]

    def play(self) -> GameRecord:
        """Play the game and return its record, which also says what went wrong.

        Raises UserError if an engine refuses the terms.
        """
        noise = [(engine.stderr_lines(), engine.stray_lines()) for engine in self.engines]
        unusable: int | None = None
        try:
            self._prepare()
            outcome = self._play_moves()
        except Forfeit as forfeit:
            letter = COLOUR_LETTERS[opponent(self._colour(forfeit.side))]
            result = f"{letter}+T" if forfeit.reason == record.OVERTIME else f"{letter}+F"
            outcome = Outcome(result, forfeit.reason, f"{record.SIDES[forfeit.side]}: {forfeit.detail}")
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
            result=outcome.result,
            reason=outcome.reason,
            detail=outcome.detail,
            scores=outcome.scores,
            agreed=outcome.agreed,
            seconds=[round(s, 3) for s in self.seconds],
            longest=[round(s, 3) for s in self.longest],
            own_moves=self.own_moves,
            late=self.late,
            stderr_lines=[now[0] - before[0] for before, now in zip(noise, after, strict=True)],
            stray_lines=[now[1] - before[1] for before, now in zip(noise, after, strict=True)],
        )

    def _prepare(self) -> None:
        for side, engine in enumerate(self.engines):
            try:
                engine.prepare(self.terms)
            except EngineError as error:
                raise self._no_reply(side, error) from error
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
            self._tell(1 - side, colour, point)
        return self._score(record.WON_BY_SCORE)

    def _is_over(self) -> bool:
        """Two passes in a row end the game for GTP engines under any rules, unless the first took the button."""
        passes = self.game.moves[-2:]
        both = len(passes) == 2 and all(move.point == PASS for move in passes)
        return self.game.is_over or (both and not self.terms.rules.has_button)

    def _ask(self, side: int, colour: int) -> str:
        """The answer to genmove, with the clock running."""
        engine, clock = self.engines[side], self.clocks[side]
        hang = allowed = self._patience(clock)
        try:
            if clock is not None:
                engine.time_left(colour, *clock.time_left())
                if self.conduct.enforce_clock:
                    allowed = min(allowed, clock.allowance() + self.conduct.lag)
            started = time.monotonic()
            answer = engine.genmove(colour, allowed)
        except EngineTimeout as error:
            if allowed < hang:
                raise self._overtime(side, allowed) from error
            raise self._no_reply(side, error) from error
        except EngineError as error:
            raise self._no_reply(side, error) from error
        except GtpFailure as error:
            raise Forfeit(side, record.GARBLED, f"genmove failed: {error}") from error
        self._charge(side, time.monotonic() - started)
        return answer

    def _patience(self, clock: SideClock | None) -> float:
        """Seconds without an answer that show an engine to hang: well beyond what its clock allows it."""
        if self.conduct.hang_seconds is not None:
            return self.conduct.hang_seconds
        return HANG_WITHOUT_CLOCK if clock is None else max(LEAST_HANG, HANG_FACTOR * clock.allowance())

    def _charge(self, side: int, seconds: float) -> None:
        self.seconds[side] += seconds
        self.longest[side] = max(self.longest[side], seconds)
        self.own_moves[side] += 1
        clock = self.clocks[side]
        if clock is None:
            return
        overstepped = clock.spend(max(0.0, seconds - self.conduct.lag))
        if overstepped > 0:
            self.late[side] += 1
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
            move = len(self.game.moves) + 1
            raise Forfeit(side, record.ILLEGAL, f"{answer} at move {move}: {violation.reason}") from violation
        return point

    def _tell(self, side: int, colour: int, point: int) -> None:
        try:
            self.engines[side].play(colour, point, self.terms.height)
        except EngineError as error:
            raise self._no_reply(side, error) from error
        except GtpFailure as error:
            vertex = to_vertex(point, self.terms.height)
            move = len(self.game.moves)
            raise Forfeit(side, record.REFUSED, f"{vertex} at move {move}: {error}") from error

    def _score(self, reason: str) -> Outcome:
        if self.conduct.count_board:
            return Outcome(score_text(self.game.score()), reason)
        scores: list[str | None] = []
        for side, engine in enumerate(self.engines):
            try:
                scores.append(engine.final_score())
            except EngineError as error:
                raise self._no_reply(side, error) from error
        return judge_scores(scores, reason)

    def _no_reply(self, side: int, error: EngineError) -> Forfeit:
        return Forfeit(side, NO_REPLY.get(type(error), record.CRASHED), str(error))

    def _overtime(self, side: int, seconds: float) -> Forfeit:
        move = len(self.game.moves) + 1
        return Forfeit(side, record.OVERTIME, f"move {move} took {seconds:.2f} s or more")

    def _side(self, colour: int) -> int:
        return self.black if colour == BLACK else 1 - self.black

    def _colour(self, side: int) -> int:
        return BLACK if side == self.black else WHITE


def judge_scores(scores: list[str | None], reason: str) -> Outcome:
    """The outcome of a game by the scores of two engines.

    If the scores differ but name the same winner, it has won by an unknown margin. If they name different winners, the
    game counts for nobody. If only one engine has a score, that counts.
    """
    known = [score for score in scores if score is not None]
    if not known:
        return Outcome("?", reason, "neither engine gave a score", scores)
    if len(known) == 1:
        return Outcome(known[0], reason, "", scores)
    if known[0] == known[1]:
        return Outcome(known[0], reason, "", scores, True)
    if known[0][:2] == known[1][:2]:
        return Outcome(known[0][:2], reason, "scores differ", scores, False)
    return Outcome("?", reason, "winners differ", scores, False)


def score_text(white_minus_black: float) -> str:
    """A score as text: `B+3.5`, `W+0.5` or `0`."""
    if white_minus_black == 0 or math.isnan(white_minus_black):
        return "0"
    return f"{'W' if white_minus_black > 0 else 'B'}+{abs(white_minus_black):g}"


def scores_on_board(rules: Rules) -> bool:
    """Whether these rules score the board as it stands, with no dead stones taken off."""
    return rules.scoring == SCORING_AREA and not rules.friendly_pass
