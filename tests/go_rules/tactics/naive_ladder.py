"""Ladders read in plain Python, without any of the short cuts: the truth for go_rules.tactics.ladder.

Positions are NaiveGame stones: {(x, y): colour}.
"""

from __future__ import annotations

from tests.go_rules.naive import NaiveGame, Point, Stones

Ko = Point | None


class TooLong(Exception):
    """The search takes more moves than a test has time for."""


class NaiveLadder:
    """Reads the ladders of one position."""

    def __init__(self, board: NaiveGame, stones: Stones, ko: Ko, patience: int) -> None:
        self.board = board
        self.stones = stones
        self.ko = ko
        self.patience = patience
        self.longest = board.width * board.height * 3 // 2

    def catching_moves(self, target: Point) -> set[Point]:
        """The attacker's first moves that catch a chain of two liberties."""
        return {move for move in self.board.liberties(self.stones, target) if self._catches(target, move)}

    def is_caught(self, target: Point) -> bool:
        """Whether a chain in atari is caught though its owner is to move."""
        return self._defend(self.stones, None, target, 0)

    def _catches(self, target: Point, move: Point) -> bool:
        played = self._play(self.stones, 3 - self.stones[target], move, self.ko)
        return played is not None and self._defend(played[0], None, target, 0)

    def _defend(self, stones: Stones, ko: Ko, target: Point, depth: int) -> bool:
        if depth >= self.longest:
            return True
        liberties = self.board.liberties(stones, target)
        if len(liberties) >= 2 or ko is not None:
            return False
        defender = stones[target]
        takes = set()
        for q in self.board.chain(stones, target)[1]:
            if stones.get(q) == 3 - defender:
                open_points = self.board.liberties(stones, q)
                if len(open_points) == 1:
                    takes |= open_points
        for move in takes | liberties:
            played = self._play(stones, defender, move, ko)
            if played is not None and not self._attack(*played, target, depth + 1):
                return False
        return True

    def _attack(self, stones: Stones, ko: Ko, target: Point, depth: int) -> bool:
        if depth >= self.longest:
            return True
        liberties = self.board.liberties(stones, target)
        if len(liberties) != 2:
            return len(liberties) < 2
        if self._is_double_ko(stones, target, liberties):
            return True
        for move in liberties:
            played = self._play(stones, 3 - stones[target], move, ko)
            if played is not None and self._defend(*played, target, depth + 1):
                return True
        return False

    def _is_double_ko(self, stones: Stones, target: Point, liberties: set[Point]) -> bool:
        """Each liberty is a ko that the attacker may take, filling it gains nothing, and he is nowhere in atari."""
        defender = stones[target]
        for liberty in liberties:
            around = [q for q in self.board.neighbours[liberty] if stones.get(q) != defender]
            in_atari = [q for q in self.board.neighbours[liberty] if len(self.board.liberties(stones, q)) == 1]
            if around or len(in_atari) != 1 or len(self.board.chain(stones, in_atari[0])[0]) != 1:
                return False
            if len(self.board.liberties({**stones, liberty: defender}, target)) > 2:
                return False
        return not any(
            stones.get(q) == 3 - defender and len(self.board.liberties(stones, q)) == 1
            for q in self.board.chain(stones, target)[1]
        )

    def _play(self, stones: Stones, colour: int, point: Point, ko: Ko) -> tuple[Stones, Ko] | None:
        """The stones and the ko point after a move; None if it is illegal, suicide always being so."""
        self.patience -= 1
        if self.patience < 0:
            raise TooLong
        if point == ko:
            return None
        after = {**stones, point: colour}
        taken: set[Point] = set()
        for q in self.board.neighbours[point]:
            if after.get(q) == 3 - colour and not self.board.has_liberty(after, q):
                taken |= self.board.chain(after, q)[0]
        for q in taken:
            del after[q]
        liberties = self.board.liberties(after, point)
        if not liberties:
            return None
        starts_ko = len(taken) == 1 and self.board.chain(after, point)[0] == {point} and liberties == taken
        return after, (next(iter(taken)) if starts_ko else None)
