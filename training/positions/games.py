"""Batches of games played by bare policies, moved and encoded in the background while the networks compute."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from training.config import PlayConfig
from training.positions.bare_play import encode_games, new_games, play_moves, start_games
from training.positions.batch import Positions, new_positions, sizes_on
from training.positions.replay import UNKNOWN
from training.positions.terms import Terms
from training.positions.work import Work
from training.positions.workers import Workers

GROUPS = 4
"""Batches of games on each canvas that take turns: while one is with the networks, the others are being prepared, and
successive batches are not the same games one move later."""
FIRST_OPENING = 0.2
"""Random moves a point of the board, on average, with which the very first games start: they shall not run in step."""


class BareGames:
    """Games on the boards of one canvas, in GROUPS groups of `count`."""

    def __init__(
        self,
        canvas: int,
        count: int,
        config: PlayConfig,
        terms: Terms,
        seed: int,
        workers: Workers,
        new_room: Callable[[int, int], Positions] = new_positions,
    ) -> None:
        """`new_room(count, canvas)` provides the batches' memory."""
        self.canvas, self.count = canvas, count
        self._games = new_games(
            GROUPS * count, sizes_on(canvas), seed, config.temperature, config.random_moves, config.opening
        )
        self._terms, self._workers = terms, workers
        self._room = [new_room(count, canvas) for _ in range(GROUPS)]
        self._background = ThreadPoolExecutor(1, thread_name_prefix="games")
        self._ready: list[Future[None]] = [self._background.submit(self._begin, group) for group in range(GROUPS)]
        self._next = 0
        self._every, self._moves = config.every, [0] * GROUPS

    @property
    def finished(self) -> int:
        """Games that were played to their end."""
        return int(self._games.finished.sum())

    def take(self) -> tuple[int, Positions]:
        """The next group's number and present positions. They stay untouched until `answer`."""
        group = self._next
        self._next = (group + 1) % GROUPS
        self._ready[group].result()
        return group, self._room[group]

    def is_due(self, group: int) -> bool:
        """Whether a group's present positions are to be learned from; others are only played on."""
        return self._moves[group] % self._every == 0

    def answer(self, group: int, logits: Callable[[], NDArray[np.float32]]) -> None:
        """Move every game of a group by the policy `logits()` float32[count, S*S + 1]. It is called in the background,
        and may wait for the device there."""
        self._moves[group] += 1
        self._ready[group] = self._background.submit(self._advance, group, logits)

    def close(self) -> None:
        self._background.shutdown(wait=True, cancel_futures=True)

    def _begin(self, group: int) -> None:
        opening = FIRST_OPENING * self.canvas**2
        first = group * self.count
        self._workers.map_parts(
            lambda begin, end, work: start_games(self._games, self._terms, first + begin, first + end, opening),
            self.count,
        )
        self._encode(group)

    def _advance(self, group: int, logits: Callable[[], NDArray[np.float32]]) -> None:
        policy = logits()
        first = group * self.count

        def move(begin: int, end: int, work: Work) -> None:
            play_moves(self._games, self._terms, first + begin, self.canvas, policy[begin:end])

        self._workers.map_parts(move, self.count)
        self._encode(group)

    def _encode(self, group: int) -> None:
        positions, first = self._room[group], group * self.count
        positions.labels[:, :2] = UNKNOWN
        positions.labels[:, 2] = 0

        def encode(begin: int, end: int, work: Work) -> None:
            part = positions.part(begin, end)
            encode_games(self._games, first + begin, work, part.spatial, part.global_)

        self._workers.map_parts(encode, self.count)
