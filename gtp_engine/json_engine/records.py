"""The game of a query as it waits, its setup and its moves; the `Game` that they lead to; and KataGo's names for its
positions, which clients compare with their own.

Such a name, `thisHash` or `symHash`, is the exclusive or of random numbers of 128 bits (Zobrist 1970): for each stone,
the side to move, the point that a ko forbids, and the size of the board. KataGo draws them from a generator of its own,
seeded by texts: the sum of PCG32 (O'Neill 2014) and xorshift1024* (Vigna 2014).
"""

from __future__ import annotations

import functools
import hashlib
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from operator import eq
from typing import NamedTuple

from go_rules.game import Game, RuleViolation
from go_rules.points import (
    BLACK,
    EMPTY,
    MAX_SIZE,
    NO_POINT,
    WHITE,
    board_points,
    column_of,
    neighbours,
    opponent,
    row_of,
    to_vertex,
)
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


_BITS_32, _BITS_64 = (1 << 32) - 1, (1 << 64) - 1
_STATE_WORDS = 16


def drawn(seed: str) -> Iterator[int]:
    """Yield the numbers of 128 bits that KataGo's generator draws from a seed, without an end."""
    words = _words(seed)
    while True:
        low = next(words) | next(words) << 32
        yield low | (next(words) | next(words) << 32) << 64


def _words(seed: str) -> Iterator[int]:
    """Its numbers of 32 bits."""
    state = _first_state(seed)
    congruential = state.pop()
    place = 0
    while True:
        congruential = (congruential * 6364136223846793005 + 1442695040888963407) & _BITS_64
        shifted, turn = ((congruential >> 18 ^ congruential) >> 27) & _BITS_32, congruential >> 59
        first = (shifted >> turn | shifted << (32 - turn)) & _BITS_32
        old, place = state[place], (place + 1) % _STATE_WORDS
        new = state[place]
        new ^= new << 31 & _BITS_64
        state[place] = new ^ new >> 11 ^ old ^ old >> 30
        yield (first + ((state[place] * 1181783497276652981 & _BITS_64) >> 32)) & _BITS_32


def _first_state(seed: str) -> list[int]:
    """The words that the state begins with, the congruential generator's last."""
    checksum = struct.unpack("<I", hashlib.md5(seed.encode(), usedforsecurity=False).digest()[:4])[0]
    words: list[int] = []
    counter = 0
    while len(words) <= _STATE_WORDS:
        digest = hashlib.sha256(f"{counter}|{checksum}|{seed}".encode()).digest()
        words += [word for word in struct.unpack(">4Q", digest) if word]
        counter += 37
    return words[: _STATE_WORDS + 1]


class ZobristTable(NamedTuple):
    """The random numbers for all that makes up a position; its hash is the exclusive or of some of them."""

    players: list[int]
    """By colour."""
    stones: list[dict[int, int]]
    """By KataGo's place on the board and by colour."""
    kos: list[int]
    """By that place."""
    widths: list[int]
    heights: list[int]


@functools.cache
def table() -> ZobristTable:
    """Draw the numbers of all that makes up a position. This takes a moment, so they are kept."""
    numbers = drawn("Board::initHash()")
    players = [next(numbers) for _ in range(4)]
    for _phase in range(3):
        next(numbers)
    stones, kos = [], []
    for _place in range((MAX_SIZE + 1) * (MAX_SIZE + 2) + 1):
        here = {}
        for colour in (BLACK, WHITE):
            here[colour] = next(numbers)
            next(numbers)  # of a mark in the clean-up phases
        stones.append(here)
        kos.append(next(numbers))
    numbers = drawn("Board::initHash() for ZOBRIST_SIZE hashes")
    sizes = [next(numbers) for _ in range(2 * (MAX_SIZE + 1))]
    return ZobristTable(players, stones, kos, sizes[::2], sizes[1::2])


def position_hashes(game: Game) -> tuple[str, str]:
    """Compute `thisHash` of the present position, and `symHash`: the smallest of those of its eight symmetries."""
    position, numbers = game.position, table()
    contents = position["board"]
    points = board_points(game.width, game.height)
    stones = [(column_of(p), row_of(p), int(contents[p])) for p in points if contents[p] != EMPTY]
    ko = int(position["ko"])
    hashes = []
    for symmetry in range(8):
        width, height = (game.height, game.width) if symmetry & 4 else (game.width, game.height)
        code = numbers.players[game.to_play] ^ numbers.widths[width] ^ numbers.heights[height]
        for x, y, colour in stones:
            code ^= numbers.stones[_place(x, y, game, symmetry)][colour]
        if ko != NO_POINT:
            code ^= numbers.kos[_place(column_of(ko), row_of(ko), game, symmetry)]
        hashes.append(code)
    return f"{hashes[0]:032X}", f"{min(hashes):032X}"


def _place(x: int, y: int, game: Game, symmetry: int) -> int:
    """KataGo's number of a point on the board that a symmetry makes of this one."""
    x = game.width - 1 - x if symmetry & 1 else x
    y = game.height - 1 - y if symmetry & 2 else y
    width = game.width
    if symmetry & 4:
        x, y, width = y, x, game.height
    return x + 1 + (y + 1) * (width + 1)
