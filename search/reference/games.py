"""Tic-tac-toe and connect four: so many stones in a row win, on a board in which they may fall to the ground."""

from __future__ import annotations

from typing import NamedTuple

from search.reference.mcts import FIRST


class Board(NamedTuple):
    """A position of one of the games."""

    stones: tuple[int, int]  # the first and the second player's, as bits
    player: int  # who is to move


class InARow:
    """A game for the reference search. A place is a bit; one bit above each column stays 0, so that rows end there."""

    def __init__(self, width: int, height: int, length: int, falls: bool) -> None:
        """`falls`: whether stones fall to the ground. Moves are then columns (1, 2, ...), else points (A1, A2, ...)."""
        self.height, self.length = height, length
        self._columns = [[1 << x * (height + 1) + y for y in range(height)] for x in range(width)]
        self._places = {str(x + 1): column for x, column in enumerate(self._columns)}
        if not falls:
            self._places = {f"{'ABC'[x]}{y + 1}": [self._columns[x][y]] for x in range(width) for y in range(height)}
        self._full = sum(map(sum, self._columns))

    def start(self) -> Board:
        return Board((0, 0), FIRST)

    def player(self, state: Board) -> int:
        return state.player

    def moves(self, state: Board) -> list[str]:
        return [move for move, places in self._places.items() if not sum(state.stones) & places[-1]]

    def play(self, state: Board, move: str) -> Board:
        stone = next(place for place in self._places[move] if not sum(state.stones) & place)
        first, second = state.stones
        stones = (first | stone, second) if state.player == FIRST else (first, second | stone)
        return Board(stones, 1 - state.player)

    def result(self, state: Board) -> float | None:
        if self._has_row(state.stones[1 - state.player]):
            return 0.0 if state.player == FIRST else 1.0
        return 0.5 if sum(state.stones) == self._full else None

    def _has_row(self, stones: int) -> bool:
        for step in (1, self.height, self.height + 1, self.height + 2):
            row = stones
            for _ in range(self.length - 1):
                row &= row >> step
            if row:
                return True
        return False

    def show(self, state: Board) -> str:
        """Draw the board as text: X for the first player, O for the second."""
        first, second = state.stones
        text = [[".XO"[bool(first & p) + 2 * bool(second & p)] for p in column] for column in self._columns]
        return "\n".join(" ".join(row) for row in reversed(list(zip(*text, strict=True))))


TIC_TAC_TOE = InARow(width=3, height=3, length=3, falls=False)
CONNECT_FOUR = InARow(width=7, height=6, length=4, falls=True)
