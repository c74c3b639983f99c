"""A game: its rules, the position it starts from, its history and the moves that may be played now.

It checks what the kernels take for granted. Under simple ko, and in the clean-up phases, repetition ends a phase or the
game (https://lightvector.github.io/KataGo/rules.html); to look for one costs the same however long the game is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from go_rules import board, phases, superko
from go_rules.handicap import HandicapCount
from go_rules.points import BLACK, COLUMNS, EMPTY, MAX_SIZE, N_POINTS, PASS, WALL, WHITE, as_colour, point_at
from go_rules.position import PHASE_MAIN, PHASE_OVER, TO_PLAY_KEYS, new_stack
from go_rules.rule_names import DEFAULT_KOMI, DEFAULT_RULES
from go_rules.rules import KO_SIMPLE, SCORING_TERRITORY, Rules, clamped_komi
from go_rules.scoring import count_stones, final_score

FIRST_ROOM = 64
"""How many positions a new game has room for; the room doubles when it is used up."""

NO_PATH = np.zeros(1, np.uint64)

SYMBOLS = ".XO"
"""How a board as text shows EMPTY, BLACK and WHITE."""


class RuleViolation(Exception):
    """The rules do not allow this move or this setup.

    `reason` is "occupied", "off board", "ko", "superko", "suicide", "no liberties", "board not empty" or
    "nothing to undo".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Move:
    """One move of a game, or one stone of its setup."""

    colour: int
    """BLACK or WHITE."""
    point: int
    """A point of the board, or PASS."""


class Game:
    """One game from its setup to the present position, every position between included."""

    width: int
    height: int
    rules: Rules
    """The rules of the game. Change them with `set_rules`."""
    komi: float
    """Points for white, at most KOMI_LIMIT in either direction. Change it with `set_komi`."""
    record: np.void
    """The RULES record for the kernels: rules, komi and the handicap bonus, always up to date."""
    setup: tuple[Move, ...]
    """Stones on the board before the first move, handicap stones included."""
    handicap: tuple[int, ...]
    """Black's handicap points, empty unless `place_handicap` put them there."""
    moves: list[Move]
    """The moves since the setup, passes included; `moves[i]` led from `stack[i]` to `stack[i + 1]`."""
    stack: NDArray[np.void]
    """POSITION[room]: the first `length` are the positions since the setup. A longer game has a longer array."""
    length: int
    """len(moves) + 1."""

    _keys: NDArray[np.uint64]
    """[room]: superko.history_key of each position of `stack`."""
    _situations: NDArray[np.uint64]
    """[room]: superko.situation_key of each position of `stack`."""
    _seen: NDArray[np.uint64]
    """The hash set of `keys`."""
    _is_new: NDArray[np.bool_]
    """[room]: whether the key of a position was new in `_seen`."""
    _most_stones: NDArray[np.int16]
    """[room]: the most stones that were on the board up to each position of `stack`."""
    _lines: list[int]
    """`line_key` of each number of moves."""
    _repetition: Repetition
    _handicap_count: HandicapCount
    _no_results: list[int]
    """Each `length` at which a long cycle was completed."""
    _bonus_stones: int
    """`handicap_stones` when `record` was made."""

    def __init__(
        self, width: int = 19, height: int = 19, rules: Rules = DEFAULT_RULES, komi: float = DEFAULT_KOMI
    ) -> None:
        """Start a game on the empty board with black to play.

        Raises ValueError for a side outside 1..MAX_SIZE and for a komi that is not finite.
        """
        if not (1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE):
            raise ValueError(f"unacceptable size: {width}x{height} (1x1 to {MAX_SIZE}x{MAX_SIZE})")
        self.width = width
        self.height = height
        self.rules = rules
        self.komi = clamped_komi(komi)
        self.clear()

    def __str__(self) -> str:
        """The board as text, with coordinates. The last three moves are numbered, the newest with 1."""
        board, latest = self.position["board"], reversed(list(enumerate(self.moves[:-4:-1], start=1)))
        last = {move.point: str(number) for number, move in latest if move.point != PASS}
        lines = ["    " + " ".join(COLUMNS[: self.width])]
        for y in range(self.height):
            points = [point_at(x, y) for x in range(self.width)]
            cells = [SYMBOLS[int(board[p])] + (last.get(p, " ") if board[p] else " ") for p in points]
            lines.append(f" {self.height - y:2d} " + "".join(cells).rstrip())
        return "\n".join(lines)

    # --- What the game is -------------------------------------------------------------------------------------

    @property
    def position(self) -> np.void:
        """The present position: a view of `stack` that must not be written to."""
        return self.stack[self.length - 1]

    @property
    def to_play(self) -> int:
        """The colour whose turn it is."""
        return int(self.position["to_play"])

    @property
    def keys(self) -> NDArray[np.uint64]:
        """Superko keys of the positions since the setup, uint64[length]: NO_KEY where a position may come back."""
        return self._keys[: self.length]

    @property
    def turn(self) -> int:
        """The number of the next turn, from 0. Stones of the setup count as turns, as in KataGo."""
        return len(self.setup) + len(self.moves)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended: by passes (with clean-up, after both clean-up phases) or without a result."""
        return bool(self.position["phase"] == PHASE_OVER) or self.is_no_result

    @property
    def is_no_result(self) -> bool:
        """Whether the last move made a position that was there twice before, without a pass between.

        Under simple ko and in the clean-up phases this ends the game without a winner.
        """
        return bool(self._no_results) and self._no_results[-1] == self.length

    @property
    def passes(self) -> list[int]:
        """The indices into `moves` of the passes."""
        return self._repetition.passes

    @property
    def most_stones(self) -> int:
        """The most stones that were on the board at any time since the setup."""
        return int(self._most_stones[self.length - 1])

    def identity(self) -> Hashable:
        """Return size, rules, komi and setup as one key: games with equal keys differ in their moves only."""
        first, captured = int(self.stack[0]["to_play"]), captured_before(self.stack[0])
        return (self.width, self.height, self.rules, self.komi, self.handicap_stones, self.setup, first, captured)

    def line_key(self, moves: int | None = None) -> int:
        """Return a key of the first `moves` moves, or of all: games with equal keys have played the same moves.

        Both games must have the same `identity`. A 64-bit hash: different moves practically never have the same key.
        """
        return self._lines[-1 if moves is None else moves]

    def copy(self) -> Game:
        """Return a copy that shares nothing with this game."""
        other = Game.__new__(Game)
        other.__dict__.update(self.__dict__)
        other.record = self.record.copy()
        other.moves = list(self.moves)
        other._make_room(max(FIRST_ROOM, self.length))
        for name in ("_seen", "_lines", "_repetition", "_handicap_count", "_no_results"):
            setattr(other, name, getattr(self, name).copy())
        return other

    # --- Changing the terms -----------------------------------------------------------------------------------

    def set_komi(self, komi: float) -> None:
        """Change the points that white gets; the moves stay. Raises ValueError for a komi that is not finite."""
        self.komi = clamped_komi(komi)
        self.record = self.rules.record(self.komi, self.handicap_stones)

    def set_rules(self, rules: Rules) -> None:
        """Change the rules and replay the moves so far under them, with `play_lenient`.

        Only where clean-up phases come or go can a move be impossible; then raises RuleViolation and changes nothing.
        """
        other = Game(self.width, self.height, rules, self.komi)
        other._begin(self.setup, self.handicap, int(self.stack[0]["to_play"]), captured_before(self.stack[0]))
        for move in self.moves:
            other.play_lenient(move.colour, move.point)
        other.give_turn(self.to_play)
        self.__dict__.update(other.__dict__)

    def clear(self) -> None:
        """Start again on the empty board with black to play; size, rules and komi stay."""
        self._begin((), (), BLACK, (0, 0))

    def set_position(self, stones: Iterable[tuple[int, int]], to_play: int, captured: Captured = (0, 0)) -> None:
        """Start again from these stones, each (colour, point), and these captures, which count under territory scoring.
        Raises RuleViolation if the stones cannot stand like that, and then changes nothing."""
        setup = tuple(Move(as_colour(colour), int(point)) for colour, point in stones)
        self._begin(setup, (), as_colour(to_play), captured)

    def place_handicap(self, points: Sequence[int]) -> None:
        """Put black stones on an empty board before the first move; white plays first. Raises RuleViolation."""
        if self.moves or self.setup:
            raise RuleViolation("board not empty")
        self._begin(tuple(Move(BLACK, int(point)) for point in points), tuple(map(int, points)), WHITE, (0, 0))

    @property
    def handicap_stones(self) -> int:
        """The number of black's handicap stones, as HandicapCount counts them; never 1."""
        return self._handicap_count.stones

    # --- Moves ------------------------------------------------------------------------------------------------

    def play(self, colour: int, point: int) -> None:
        """Play a stone or PASS; either colour may play at any time. Raises RuleViolation and then changes nothing.

        As all methods with a colour, it raises ValueError where that is neither BLACK nor WHITE.
        """
        colour, point = as_colour(colour), int(point)
        reason = self.violation(colour, point)
        if reason is not None:
            raise RuleViolation(reason)
        self._append(colour, point)

    def play_lenient(self, colour: int, point: int) -> None:
        """Play what somebody says was played, whether or not the rules allow it: a controller, a file, another program.

        Servers and editors have other rules than ours, so this takes a ko retaken at once, a repetition under superko,
        and suicide, even of one stone, as OGS allows under Ing's rules. The networks do not see what led to such a
        move. Raises RuleViolation off the board and on stones, and then changes nothing.
        """
        colour, point = as_colour(colour), int(point)
        reason = self.violation(colour, point)
        if reason in ("off board", "occupied"):
            raise RuleViolation(reason)
        self._append(colour, point)
        if reason is not None:
            phases.forget_moves(self.position, 0)

    def give_turn(self, colour: int) -> None:
        """Let `colour` move next. After a move of its own the networks do not see what came before."""
        if not self.moves:
            self._begin(self.setup, self.handicap, as_colour(colour), captured_before(self.stack[0]))
        elif as_colour(colour) != self.to_play:
            phases.give_turn(self.position, as_colour(colour))
            self._lines[-1] = hash((self._lines[-1], int(colour)))

    def undo(self) -> None:
        """Take the last move back. Raises RuleViolation when only the setup is left."""
        if not self.moves:
            raise RuleViolation("nothing to undo")
        if self.is_no_result:
            self._no_results.pop()
        self.length -= 1
        move = self.moves.pop()
        if self._is_new[self.length]:
            superko.seen_remove_last(self._seen, self._keys[self.length])
        self._repetition.remove(move.colour, move.point, int(self._situations[self.length - 1]))
        self._handicap_count.remove()
        self._lines.pop()
        self._update_bonus()

    def is_legal(self, colour: int, point: int) -> bool:
        """Tell whether `colour` may play there now, with regard to superko."""
        return self.violation(colour, point) is None

    def legal_moves(self, colour: int) -> list[int]:
        """List every point where `colour` may play now, row by row and with regard to superko, and PASS last."""
        colour = as_colour(colour)
        out = np.zeros(N_POINTS, np.int16)
        n = board.legal_points(self.position, colour, self.record, out)
        n = superko.drop_superko_banned(self.position, colour, self.record, self._seen, out, n)
        return [*out[:n].tolist(), PASS]

    def violation(self, colour: int, point: int) -> str | None:
        """Return the reason why `colour` may not play there, as in RuleViolation, or None if it may."""
        colour, point = as_colour(colour), int(point)
        if point == PASS:
            return None
        if not 0 <= point < N_POINTS or self.position["board"][point] == WALL:
            return "off board"
        if not board.is_legal(self.position, point, colour, self.record):
            if self.position["board"][point] != EMPTY:
                return "occupied"
            return "ko" if point == self.position["ko"] and colour == self.to_play else "suicide"
        terms = (self.position, point, colour, self.record, self._seen, NO_PATH, 0)
        return "superko" if superko.is_superko_banned(*terms) else None

    def score(self, dead: Iterable[int] = ()) -> float:
        """Count white's points minus black's in the present position, after the chains at `dead` are taken off.

        Komi, handicap bonus, button, captures and taxes count as the rules say.
        """
        return final_score(self.position, self.record, dead)

    # --- Inside -----------------------------------------------------------------------------------------------

    def _begin(self, setup: tuple[Move, ...], handicap: tuple[int, ...], to_play: int, captured: Captured) -> None:
        """Start again from this setup."""
        stack = new_stack(FIRST_ROOM)
        start = stack[0]
        board.clear(start, self.width, self.height, int(self.rules.has_button))
        reason = set_up(start, [(stone.colour, stone.point) for stone in setup], self.rules, captured)
        if reason is not None:
            raise RuleViolation(reason)
        start["to_play"] = to_play
        self.stack = stack
        self.length = 1
        self.moves = []
        self.setup = setup
        self.handicap = handicap
        self._handicap_count = HandicapCount(stone.colour for stone in setup)
        self.record = self.rules.record(self.komi, self.handicap_stones)
        self._bonus_stones = self.handicap_stones
        self._no_results = []
        self._keys = np.zeros(FIRST_ROOM, np.uint64)
        self._situations = np.zeros(FIRST_ROOM, np.uint64)
        self._is_new = np.zeros(FIRST_ROOM, np.bool_)
        self._most_stones = np.zeros(FIRST_ROOM, np.int16)
        self._seen = superko.new_seen(FIRST_ROOM)
        self._keys[0] = superko.position_key(start, self.record)
        self._situations[0] = superko.situation_key(start, self.record)
        self._is_new[0] = superko.seen_add(self._seen, self._keys[0])
        self._most_stones[0] = count_stones(start)
        self._lines = [0]
        self._repetition = Repetition(int(self._situations[0]), to_play)

    def _append(self, colour: int, point: int) -> None:
        """Add a move that was checked."""
        self._grow()
        before, after = self.stack[self.length - 1], self.stack[self.length]
        board.copy_position(after, before)
        if colour != before["to_play"]:
            after["passed_here"] = self._has_passed_here(colour)
        board.play(after, point, colour, self.record)
        situation = superko.situation_key(after, self.record)
        self._keys[self.length] = superko.history_key(before, after, self.record)
        self._is_new[self.length] = superko.seen_add(self._seen, self._keys[self.length])
        self._most_stones[self.length] = max(self.most_stones, count_stones(after))
        previous = int(self._situations[self.length - 1])
        self._situations[self.length] = situation
        self._repetition.add(colour, point, previous, situation, 3 - colour)
        self._handicap_count.add((colour, point), (self.moves[-1].colour, self.moves[-1].point) if self.moves else None)
        self._lines.append(hash((self._lines[-1], colour, point)))
        self.length += 1
        self.moves.append(Move(colour, point))
        after["passed_here"] = self._has_passed_here(self.to_play)
        if point != PASS and self._has_long_cycles() and self._repetition.is_third_time():
            self._no_results.append(self.length)
            phases.forget_moves(after, 1)  # as after any other end of a game
        self._update_bonus()

    def _grow(self) -> None:
        if self.length == len(self.stack):
            self._make_room(2 * self.length)
            self._seen = superko.new_seen(len(self.stack))
            superko.seen_refill(self._seen, self.keys)

    def _make_room(self, room: int) -> None:
        """Replace the arrays by longer ones, `room` long, that hold the same."""
        for name in ("stack", "_keys", "_situations", "_is_new", "_most_stones"):
            array = np.zeros(room, getattr(self, name).dtype)
            array[: self.length] = getattr(self, name)[: self.length]
            setattr(self, name, array)

    def _update_bonus(self) -> None:
        stones = self.handicap_stones
        if stones != self._bonus_stones:
            self._bonus_stones = stones
            self.record = self.rules.record(self.komi, stones)

    def _has_long_cycles(self) -> bool:
        """Whether the rules of this phase let positions come back, so that repetition must end it."""
        return self.rules.ko == KO_SIMPLE or phases.live_phase(self.position, self.record) != PHASE_MAIN

    def _has_passed_here(self, colour: int) -> bool:
        """Whether `colour` passed in this very situation before, where such a pass ends the phase if repeated."""
        if not self._has_long_cycles() or self.position["button"] == 1:
            return False
        return self._repetition.has_passed(colour, int(self._situations[self.length - 1]))


def warm_up() -> None:
    """Load or compile every kernel that a game under any rules calls, before a clock runs."""
    game = Game(2, 2, Rules(ko=KO_SIMPLE, scoring=SCORING_TERRITORY))
    for x in (0, 1, 0):
        game.legal_moves(game.to_play)
        game.play(game.to_play, PASS if x == 0 and game.moves else point_at(x, x))
    game.undo()
    game.score(dead=[point_at(0, 0)])
    phases.end_phase(game.copy().position, game.record)
    phases.forget_moves(game.copy().position, 0)
    phases.give_turn(game.copy().position, 3 - game.to_play)


class Repetition:
    """The situations of one game, the present one last: a stack that grows and shrinks with the moves."""

    passes: list[int]
    """The indices of the moves that were passes."""

    def __init__(self, situation: int, to_play: int) -> None:
        """Start with the position before the first move: its superko.situation_key and the side to move."""
        self.passes = []
        self._keys = [_key(situation, to_play)]
        self._latest = {self._keys[0]: 0}  # the last index at which each situation was there
        self._before = [-1]  # for each index, the one before it with the same situation
        self._passed: dict[int, int] = {}  # how often somebody passed in each situation

    def copy(self) -> Repetition:
        """Return a copy that shares nothing with this one."""
        other = Repetition.__new__(Repetition)
        other.passes, other._keys, other._before = self.passes.copy(), self._keys.copy(), self._before.copy()
        other._latest, other._passed = self._latest.copy(), self._passed.copy()
        return other

    def add(self, colour: int, point: int, before: int, situation: int, to_play: int) -> None:
        """Add the move of `colour` at `point`, from the situation `before` to `situation` with `to_play` to move."""
        now = len(self._keys)
        if point == PASS:
            self.passes.append(now - 1)
            key = _key(before, colour)
            self._passed[key] = self._passed.get(key, 0) + 1
        key = _key(situation, to_play)
        self._before.append(self._latest.get(key, -1))
        self._latest[key] = now
        self._keys.append(key)

    def remove(self, colour: int, point: int, before: int) -> None:
        """Remove the last move, which `add` was told of."""
        key, earlier = self._keys.pop(), self._before.pop()
        if earlier < 0:
            del self._latest[key]
        else:
            self._latest[key] = earlier
        if point == PASS:
            self.passes.pop()
            key = _key(before, colour)
            self._passed[key] -= 1
            if not self._passed[key]:
                del self._passed[key]

    def has_passed(self, colour: int, situation: int) -> bool:
        """Tell whether `colour` has passed in this situation."""
        return _key(situation, colour) in self._passed

    def is_third_time(self) -> bool:
        """Tell whether the present situation is there for the third time, with no pass since the first."""
        second = self._before[-1]
        first = self._before[second] if second >= 0 else -1
        return first >= 0 and (not self.passes or self.passes[-1] < first)


def _key(situation: int, to_play: int) -> int:
    return situation ^ int(TO_PLAY_KEYS[to_play])


Captured = tuple[int, int]
"""How many black and how many white stones were taken off the board."""


def set_up(start: np.void, stones: Iterable[tuple[int, int]], rules: Rules, captured: Captured) -> str | None:
    """Put stones, (colour, point) each, on the empty board `start`.

    Returns None, or why they cannot stand like that: a `reason` of RuleViolation.
    """
    played = {BLACK: captured[0], WHITE: captured[1]}
    for colour, point in stones:
        if not 0 < point < N_POINTS or start["board"][point] == WALL:
            return "off board"
        if start["board"][point] != EMPTY:
            return "occupied"
        taken, removed, _ = board.place_stone(start, point, colour)
        if taken or removed:
            return "no liberties"
        played[colour] += 1
    start["captured"][BLACK], start["captured"][WHITE] = captured
    if rules.scoring == SCORING_TERRITORY:
        start["white_bonus"] = played[BLACK] - played[WHITE]
    return None


def captured_before(start: np.void) -> Captured:
    """Return what was captured before a position."""
    return int(start["captured"][BLACK]), int(start["captured"][WHITE])
