"""What came about before in a game: the situations that positions and passes repeat.

Under simple ko, and in the clean-up phases, repetition ends a phase or the game (https://lightvector.github.io/KataGo/rules.html).
Every step costs the same however long the game is.
"""

from __future__ import annotations

from go_rules.points import PASS
from go_rules.zobrist import TO_PLAY_KEYS


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
