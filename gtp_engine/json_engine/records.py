"""The game of a query as it waits, its setup and its moves, and the `Game` that they lead to."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, WHITE, board_points, neighbours, opponent
from go_rules.rules import Rules


class IllegalMoveError(Exception):
    """A move of the record cannot be played, whatever the rules."""

    def __init__(self, index: int, point: int) -> None:
        super().__init__(f"move {index}")
        self.index = index
        self.point = point


@dataclass(frozen=True)
class Record:
    """A game as a query tells it. It takes little memory, since thousands may wait."""

    width: int
    height: int
    rules: Rules
    komi: float
    stones: tuple[tuple[int, int], ...]
    """(colour, point) of the stones before the first move; each replaces what stood there."""
    first: int
    """Who is to move before the first move."""
    moves: array[int]
    """Each move's point, of white's moves its bitwise complement."""

    @property
    def setup(self) -> Hashable:
        """Everything but the moves, as one key."""
        return (self.width, self.height, self.rules, self.komi, self.stones, self.first)


class Replayer:
    """Plays records, and goes on from the game of the last one as far as the next is like it.

    Clients ask for one position of a game after the other, so this saves nearly all of the work.
    """

    def __init__(self) -> None:
        self._setup: Hashable = None
        self._game = Game()
        self._codes: array[int] = array("h")
        """The moves of that game, as in `Record.moves`."""

    def game(self, record: Record, turn: int | None = None) -> Game:
        """Play so many moves of a record, or all, each as `Game.play_lenient` takes it. Raises IllegalMoveError.

        The game that is returned may be used, and must not be changed, until the next call.
        """
        wanted = record.moves[:turn]
        common = self._common(wanted) if record.setup == self._setup else 0
        if common == 0:
            self._begin(record)
        game = self._game
        while len(game.moves) > common:
            game.undo()
        del self._codes[common:]
        for index in range(common, len(wanted)):
            code = wanted[index]
            colour, point = (BLACK, code) if code >= 0 else (WHITE, ~code)
            try:
                game.play_lenient(colour, point)
            except RuleViolation:
                raise IllegalMoveError(index, point) from None
            self._codes.append(code)
        return game

    def _common(self, wanted: array[int]) -> int:
        """With how many moves the game begins as wanted."""
        common = 0
        while common < min(len(wanted), len(self._codes)) and wanted[common] == self._codes[common]:
            common += 1
        return common

    def _begin(self, record: Record) -> None:
        """Begin the game of a record anew, with its setup alone."""
        game = Game(record.width, record.height, record.rules, record.komi)
        try:
            game.set_position(record.stones, record.first)
        except RuleViolation:
            game.set_position(resolved(record.stones, record.width, record.height), record.first)
        self._game, self._setup, self._codes = game, record.setup, array("h")


def move_codes(moves: Iterable[tuple[int, int]]) -> array[int]:
    """Code moves, (colour, point) each, as `Record.moves` keeps them."""
    return array("h", [point if colour == BLACK else ~point for colour, point in moves])


def resolved(stones: Iterable[tuple[int, int]], width: int, height: int) -> tuple[tuple[int, int], ...]:
    """Put stones, (colour, point) each, on an empty board in turn, and return those that remain. Each replaces what
    stood there, takes off the opponent's chains that lose their last liberty, and then its own chain if that has
    none."""
    standing: dict[int, int] = {}
    points = frozenset(board_points(width, height))
    for colour, point in stones:
        standing.pop(point, None)
        standing[point] = colour
        theirs = [neighbour for neighbour in neighbours(point) if standing.get(neighbour) == opponent(colour)]
        for start in (*theirs, point):
            for dead in _dead_chain(standing, start, points):
                del standing[dead]
    return tuple((colour, point) for point, colour in standing.items())


def _dead_chain(standing: Mapping[int, int], start: int, points: frozenset[int]) -> set[int]:
    """The chain at a point if it has no liberty; empty if it has one, or if no stone stands there."""
    colour = standing.get(start)
    if colour is None:
        return set()
    chain, open_ = {start}, [start]
    while open_:
        for neighbour in neighbours(open_.pop()):
            if neighbour in points and neighbour not in standing:
                return set()
            if standing.get(neighbour) == colour and neighbour not in chain:
                chain.add(neighbour)
                open_.append(neighbour)
    return chain
