"""The rules of Go in plain Python, slow and obvious: sets, flood fill and the whole history. The truth for the tests.

Points are (x, y) with (0, 0) top left; a pass is None. Nothing here comes from the kernels but the constants.
Rules as KataGo states them (https://lightvector.github.io/KataGo/rules.html).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

from go_rules.points import BLACK, WHITE
from go_rules.rules import KO_POSITIONAL, KO_SIMPLE, KO_SITUATIONAL, SCORING_TERRITORY, Rules

Point = tuple[int, int]
Stones = dict[Point, int]
MAIN, CLEANUP_1, CLEANUP_2, OVER = range(4)


@dataclass
class Moment:
    """What the rules remember of one position."""

    stones: Stones
    to_play: int
    phase: int
    button: bool
    blocked: frozenset[Point]
    move: tuple[int, Point | None] | None = None
    """The (colour, point) that led here."""
    took_ko: bool = False
    """That move took a ko in a clean-up phase."""


@dataclass
class NaiveGame:
    width: int
    height: int
    rules: Rules
    history: list[Moment] = field(default_factory=list)
    passes: int = 0
    white_bonus: float = 0.0
    captured: dict[int, int] = field(default_factory=lambda: {BLACK: 0, WHITE: 0})

    def __post_init__(self) -> None:
        self.history = [Moment({}, BLACK, MAIN, self.rules.has_button, frozenset())]
        self.neighbours = {point: self._neighbours(point) for point in self.points()}

    @property
    def now(self) -> Moment:
        return self.history[-1]

    def after_move(self, colour: int, point: Point | None) -> NaiveGame:
        """Another game, in which this legal move was played too."""
        other = copy.copy(self)
        other.history, other.captured = list(self.history), dict(self.captured)
        other.play(colour, point)
        return other

    def moves(self) -> list[Point | None]:
        """The legal moves of the side to move, the pass last."""
        return [*(p for p in self.points() if self.violation(self.now.to_play, p) is None), None]

    @property
    def phase(self) -> int:
        """The phase of the next move."""
        return self.live_phase(self.now)

    @property
    def has_cleanup(self) -> bool:
        return self.rules.scoring == SCORING_TERRITORY and self.rules.cleanup

    def live_phase(self, moment: Moment) -> int:
        """Whoever plays on after the end resumes the last phase."""
        if moment.phase != OVER:
            return moment.phase
        return CLEANUP_2 if self.has_cleanup else MAIN

    def points(self) -> Iterator[Point]:
        return ((x, y) for y in range(self.height) for x in range(self.width))

    def _neighbours(self, point: Point) -> list[Point]:
        x, y = point
        around = [(x, y - 1), (x - 1, y), (x + 1, y), (x, y + 1)]
        return [(a, b) for a, b in around if 0 <= a < self.width and 0 <= b < self.height]

    def chain(self, stones: Stones, point: Point) -> tuple[set[Point], set[Point]]:
        """The chain (or, from an empty point, the region) at `point`, and the other points it touches."""
        found, border, waiting = {point}, set(), [point]
        while waiting:
            for q in self.neighbours[waiting.pop()]:
                if stones.get(q) != stones.get(point):
                    border.add(q)
                elif q not in found:
                    found.add(q)
                    waiting.append(q)
        return found, border

    def liberties(self, stones: Stones, point: Point) -> set[Point]:
        return {q for q in self.chain(stones, point)[1] if q not in stones}

    def has_liberty(self, stones: Stones, point: Point) -> bool:
        found, waiting = {point}, [point]
        while waiting:
            for q in self.neighbours[waiting.pop()]:
                if q not in stones:
                    return True
                if stones[q] == stones[point] and q not in found:
                    found.add(q)
                    waiting.append(q)
        return False

    def after(self, colour: int, point: Point) -> tuple[Stones, set[Point], set[Point]]:
        """The stones after a move, the opponent's stones it takes and the own ones it takes: opponent's first."""
        stones = {**self.now.stones, point: colour}
        taken: set[Point] = set()
        for q in self.neighbours[point]:
            if stones.get(q) == 3 - colour and not self.has_liberty(stones, q):
                taken |= self.chain(stones, q)[0]
        stones = {p: c for p, c in stones.items() if p not in taken}
        suicide = set() if self.has_liberty(stones, point) else self.chain(stones, point)[0]
        return {p: c for p, c in stones.items() if p not in suicide}, taken, suicide

    def lifts_block(self, colour: int, point: Point) -> bool:
        """Clean-up phases: whether this is a move on a blocked stone of the opponent's that could be taken."""
        stones = self.now.stones
        return (
            self.phase != MAIN
            and point in self.now.blocked
            and stones.get(point) == 3 - colour
            and self.chain(stones, point)[0] == {point}
            and len(self.liberties(stones, point)) == 1
        )

    def takes_ko(self, colour: int, point: Point) -> Point | None:
        """The single stone a lone stone at `point` would take and be open to retaking."""
        stones, taken, _ = self.after(colour, point)
        if len(taken) == 1 and self.chain(stones, point)[0] == {point} and self.liberties(stones, point) == taken:
            return next(iter(taken))
        return None

    def violation(self, colour: int, point: Point | None) -> str | None:
        """Why the move is illegal, or None."""
        if point is None or self.lifts_block(colour, point):
            return None
        if point in self.now.stones:
            return "occupied"
        stones, _, suicide = self.after(colour, point)
        if suicide and (len(suicide) == 1 or not self.rules.suicide):
            return "suicide"
        if self.phase != MAIN:
            return "superko" if self._ko_taken_before(colour, point) else None
        last = self.now.move
        if last is not None and last[0] != colour and last[1] is not None and stones == self.history[-2].stones:
            return "ko"
        return "superko" if self._repeats(stones, 3 - colour) else None

    def _repeats(self, stones: Stones, to_play: int) -> bool:
        if self.rules.ko == KO_SIMPLE:
            return False
        assert self.rules.ko in (KO_POSITIONAL, KO_SITUATIONAL)
        return any(
            moment.stones == stones
            and moment.button == self.now.button
            and (self.rules.ko == KO_POSITIONAL or moment.to_play == to_play)
            for moment in self.history
        )

    def _ko_taken_before(self, colour: int, point: Point) -> bool:
        """Clean-up phases: a player takes a ko only once in one position."""
        ko = self.takes_ko(colour, point)
        if ko is None or ko in self.now.blocked:
            return False
        return any(
            moment.took_ko and moment.move == (colour, point) and before.stones == self.now.stones
            for before, moment in self._this_phase()
        )

    def _this_phase(self) -> Iterator[tuple[Moment, Moment]]:
        """(before, after) of this phase's moves, newest first."""
        for before, after in zip(self.history[-2::-1], self.history[:0:-1], strict=True):
            if self.live_phase(before) != self.phase:
                return
            yield before, after

    def play(self, colour: int, point: Point | None) -> None:
        """A legal move."""
        now = self.now
        after = Moment(now.stones, 3 - colour, self.phase, now.button, now.blocked, (colour, point))
        if point is None:
            self._pass(now, after, colour)
            self.history.append(after)
            return
        self.passes = 0
        if self.lifts_block(colour, point):
            after.blocked = now.blocked - {point}
            self.history.append(after)
            return
        ko = self.takes_ko(colour, point) if after.phase != MAIN else None
        stones, taken, suicide = self.after(colour, point)
        self.history.append(after)
        if after.phase != MAIN and ko is not None and ko in now.blocked:
            after.blocked = now.blocked - {ko}
            return
        after.stones = stones
        self.captured[3 - colour] += len(taken)
        self.captured[colour] += len(suicide)
        after.blocked = now.blocked - taken - suicide
        if after.phase != MAIN and ko is not None:
            after.blocked |= {point}
            after.took_ko = True
        if self.rules.scoring == SCORING_TERRITORY and after.phase != CLEANUP_2:
            self.white_bonus += 1 if colour == BLACK else -1

    def _pass(self, now: Moment, after: Moment, colour: int) -> None:
        if now.button:
            after.button = False
            self.passes = 0
            self.white_bonus += 0.5 if colour == WHITE else -0.5
            return
        self.passes += 1
        if self.passes < 2 and not self._passed_here_before(now, colour):
            return
        if not self.has_cleanup or after.phase == CLEANUP_2:
            after.phase = OVER
        else:
            after.phase += 1
            self.passes = 0
            after.blocked = frozenset()

    def _passed_here_before(self, now: Moment, colour: int) -> bool:
        """Without superko, and in the clean-up phases, a pass where the same player passed before ends the phase."""
        if self.rules.ko != KO_SIMPLE and self.phase == MAIN:
            return False
        return any(
            after.move == (colour, None)
            and before.stones == now.stones
            and before.blocked == now.blocked
            and (self.live_phase(before), before.button) == (self.phase, now.button)
            for before, after in zip(self.history, self.history[1:], strict=False)
        )

    @property
    def no_result(self) -> bool:
        """Whether the last move made a position for the third time, side to move included, and nobody passed since."""
        if self.rules.ko != KO_SIMPLE and self.phase == MAIN:
            return False
        times = 0
        for moment in reversed(self.history):
            now = self.now
            times += (moment.stones, moment.blocked, moment.to_play) == (now.stones, now.blocked, now.to_play)
            if moment.move is None or moment.move[1] is None:
                break
        return times >= 3 and self.now.move is not None and self.now.move[1] is not None

    def area(self, stones: Stones | None = None) -> dict[Point, int]:
        """Whose each point is by Tromp and Taylor's definition; points of neither are missing."""
        stones = self.now.stones if stones is None else stones
        owner = dict(stones)
        for point in self.points():
            if point not in stones:
                colours = {stones[q] for q in self.chain(stones, point)[1]}
                if len(colours) == 1:
                    owner[point] = colours.pop()
        return owner
