"""One game between two engines, with a referee who passes the moves on and keeps the clocks.

The referee has its own board and judges every move by the rules of the match. An engine that plays an illegal move,
refuses a legal one, ends, hangs or writes what is not GTP loses the game, and the record says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, COLOUR_LETTERS, PASS, WHITE, VertexError, from_vertex, opponent, to_vertex
from gtp_engine.match import record
from gtp_engine.match.client import EngineDied, EngineError, EngineGarbled, EngineTimeout, GtpFailure
from gtp_engine.match.clock import SideClock
from gtp_engine.match.engines import Engine, Terms, TermsRefused
from gtp_engine.match.openings import Opening
from gtp_engine.match.record import GameRecord
from gtp_engine.match.verdict import Outcome, counted, final_range, judged, settle

NO_REPLY = {EngineTimeout: record.HUNG, EngineDied: record.CRASHED, EngineGarbled: record.GARBLED}
UNUSABLE = (record.HUNG, record.CRASHED, record.GARBLED, record.OVERTIME)
"""After these the process is replaced: it has ended, or it may still send a reply that nobody waits for."""

HANG_WITHOUT_CLOCK = 600.0
LEAST_HANG = 60.0
HANG_FACTOR = 10.0


Answer = TypeVar("Answer")


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


class Forfeit(Exception):
    """The engine `side` (0 or 1) loses for `reason`, one of record.FAULTS."""

    def __init__(self, side: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.side = side
        self.reason = reason
        self.detail = detail


class Referee:
    """One game, from the empty board to its record.

    It takes at most, in seconds: for each engine `start`, and `reply` for each move of the opening; for each other move
    the longest turn (Conduct); and twice `score` for each engine and for the judge, whose start counts too (Limits).
    """

    def __init__(
        self,
        number: int,
        engines: tuple[Engine, Engine],
        black: int,
        terms: Terms,
        conduct: Conduct,
        opening: Opening,
        judge: Engine | None = None,
    ) -> None:
        """`black` is the engine that plays black in this game, 0 or 1. `judge` is asked who won if that is disputed."""
        self.number = number
        self.engines = engines
        self.black = black
        self.terms = terms
        self.conduct = conduct
        self.opening = opening
        self.judge = judge
        self.game = Game(terms.width, terms.height, terms.rules, terms.komi)
        if terms.handicap:
            self.game.place_handicap(terms.handicap)
        self.clocks = [SideClock(terms.control, conduct.lag) if terms.control else None for _ in engines]
        self.seconds = [0.0, 0.0]
        self.longest = [0.0, 0.0]
        self.own_moves = [0, 0]
        self.late = [0, 0]
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
            result=outcome.result,
            reason=outcome.reason,
            detail=outcome.detail,
            scores=outcome.scores,
            agreed=outcome.agreed,
            settled_by=outcome.settled_by,
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
        engine, clock = self.engines[side], self.clocks[side]
        started = time.monotonic() - self._listened[side]
        hang = allowed = self.conduct.longest_turn(clock)
        try:
            if clock is not None:
                if self.conduct.enforce_clock:
                    allowed = min(allowed, clock.limit())
                engine.time_left(colour, *clock.time_left(engine.knows_periods), allowed - (time.monotonic() - started))
            answer = engine.genmove(colour, allowed - (time.monotonic() - started))
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

    def _charge(self, side: int, seconds: float) -> None:
        self.seconds[side] += seconds
        self.longest[side] = max(self.longest[side], seconds)
        self.own_moves[side] += 1
        clock = self.clocks[side]
        if clock is None:
            return
        if clock.spend(seconds) > 0:
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
            where = f"{to_vertex(point, self.terms.height)} at move {len(self.game.moves) + 1}"
            raise Forfeit(side, record.ILLEGAL, f"{where}: {violation.reason}") from violation
        return point

    def _tell(self, side: int, colour: int, point: int) -> None:
        seconds = self.conduct.longest_turn(self.clocks[side])
        try:
            self.engines[side].play(colour, point, self.terms.height, seconds)
        except EngineError as error:
            raise self._no_reply(side, error) from error
        except GtpFailure as error:
            vertex = to_vertex(point, self.terms.height)
            move = len(self.game.moves)
            raise Forfeit(side, record.REFUSED, f"{vertex} at move {move}: {error}") from error

    def _score(self, reason: str) -> Outcome:
        """Who won, without a question where counting the board is enough; verdict.py has the method."""
        if self.game.is_no_result:
            return Outcome("0", reason, settled_by=record.BY_BOARD)
        if self.conduct.count_board:
            return Outcome(counted(self.game), reason, settled_by=record.BY_BOARD)
        scores = [self._say(side, Engine.final_score) for side in (0, 1)]
        dead: list[frozenset[int] | None] = [None, None]
        possible = final_range(self.game)
        if None in scores or scores[0] != scores[1]:
            size = self.terms.width, self.terms.height
            dead = [self._say(side, lambda engine: engine.dead_stones(*size)) for side in (0, 1)]
        outcome = settle(self.game, reason, scores, dead, possible)
        if outcome.is_disputed and self.judge is not None:
            return judged(outcome, self.judge, self.terms, self.game, possible)
        return outcome

    def _say(self, side: int, question: Callable[[Engine], Answer]) -> Answer:
        """An engine's answer to a question after the game."""
        try:
            return question(self.engines[side])
        except EngineError as error:
            raise self._no_reply(side, error) from error

    def _no_reply(self, side: int, error: EngineError) -> Forfeit:
        return Forfeit(side, NO_REPLY.get(type(error), record.CRASHED), str(error))

    def _overtime(self, side: int, seconds: float) -> Forfeit:
        move = len(self.game.moves) + 1
        return Forfeit(side, record.OVERTIME, f"move {move} took {seconds:.2f} s or more")

    def _side(self, colour: int) -> int:
        return self.black if colour == BLACK else 1 - self.black

    def _colour(self, side: int) -> int:
        return BLACK if side == self.black else WHITE
