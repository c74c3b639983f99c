"""The game of a query as it waits, its setup and its moves; the `Game` that they lead to; and hashes of positions."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping
from itertools import takewhile
from operator import eq
from typing import NamedTuple

import numpy as np

from go_rules.game import Game, RuleViolation
from go_rules.points import BLACK, NO_POINT, WHITE, board_points, neighbours, opponent, to_vertex
from go_rules.rules import Rules


class IllegalMoveError(Exception):
    """A move of the record cannot be played, whatever the rules. The text names it, in KataGo's words."""


class QueriedGame(NamedTuple):
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


class Replayer:
    """Plays records, and goes on from the game of the last one as far as the next is like it.

    Clients ask for one position of a game after the other, so this saves nearly all of the work.
    """

    def __init__(self) -> None:
        self._setup: tuple[object, ...] = ()
        """All but the moves of the last record."""
        self._game = Game()
        self._codes: array[int] = array("h")
        """The moves of that game, as in `QueriedGame.moves`."""

    def game(self, record: QueriedGame, turn: int | None = None) -> Game:
        """Play so many moves of a record, or all, each as `Game.play_lenient` takes it. Raises IllegalMoveError.

        The game that is returned may be used, and must not be changed, until the next call.
        """
        wanted = record.moves[:turn]
        common = sum(takewhile(bool, map(eq, wanted, self._codes))) if record[:-1] == self._setup else 0
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
                raise IllegalMoveError(f"Illegal move {index}: {to_vertex(point, record.height)}") from None
            self._codes.append(code)
        return game

    def _begin(self, record: QueriedGame) -> None:
        """Begin the game of a record anew, with its setup alone."""
        game = Game(record.width, record.height, record.rules, record.komi)
        try:
            game.set_position(record.stones, record.first)
        except RuleViolation:
            game.set_position(resolved(record.stones, record.width, record.height), record.first)
        self._game, self._setup, self._codes = game, record[:-1], array("h")


def move_codes(moves: Iterable[tuple[int, int]]) -> array[int]:
    """Code moves, (colour, point) each, as `QueriedGame.moves` keeps them."""
    return array("h", [point if colour == BLACK else ~point for colour, point in moves])


def resolved(stones: Iterable[tuple[int, int]], width: int, height: int) -> tuple[tuple[int, int], ...]:
    """Put stones, (colour, point) each, on an empty board in turn, and return those that remain. Each replaces what
    stood there, takes off the opponent's chains that lose their last liberty, then its own if that has none."""
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


FORBIDDEN = 3
"""The content, in a hash, of a point that a ko forbids."""


def position_hashes(game: Game) -> tuple[str, str]:
    """Compute `thisHash` of the present position, the side to move and the point that a ko forbids being parts of it,
    and `symHash`, which the eight symmetries of a position share."""
    position, size = game.position, (game.height, game.width)
    contents = position["board"].copy()
    if position["ko"] != NO_POINT:
        contents[position["ko"]] = FORBIDDEN
    board = contents[board_points(game.width, game.height)].reshape(size)
    turned = [np.rot90(each, turns) for each in (board, board.T) for turns in range(4)]
    hashes = [
        hashlib.blake2b(bytes([game.to_play, *each.shape]) + each.tobytes(), digest_size=16).hexdigest().upper()
        for each in turned
    ]
    return hashes[0], min(hashes)
