"""Games played by a network's policy alone, moved and encoded in the background while the networks compute."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from go_rules.points import BLACK, WHITE
from training.config import PlayConfig
from training.positions.batch import PendingPolicy, Positions, new_positions
from training.positions.canvas import sizes_on
from training.positions.game_conditions import GameConditions
from training.positions.policy_game_kernels import encode_games, new_games, play_moves, start_games
from training.positions.replay import UNKNOWN
from training.positions.workers import WorkerBuffers, WorkerPool

GROUPS = 4
"""How many groups of games take turns on each canvas. While one is with the networks the others are prepared, and
successive batches are not the same games one move later."""
FIRST_OPENING = 0.2
"""Random moves for each point of the canvas, on average, with which the very first games start, so that they do not all
end at the same time."""


class PolicyGames:
    """Games on the boards of one canvas, in GROUPS groups of `count` games."""

    def __init__(
        self,
        canvas: int,
        count: int,
        config: PlayConfig,
        conditions: GameConditions,
        seed: int,
        workers: WorkerPool,
        allocate: Callable[[int, int], Positions] = new_positions,
    ) -> None:
        """Begin the games in the background. `allocate(count, canvas)` returns the memory of a group's positions."""
        self.canvas, self.count = canvas, count
        temperature = config.temperature, config.early_temperature
        alike = round(config.own_size * GROUPS) * count  # whole groups need no masks, with which attention is slow
        self._games = new_games(
            GROUPS * count,
            sizes_on(canvas),
            seed,
            temperature,
            config.random_moves,
            config.opening,
            alike,
            config.handicap,
            (config.excursions, config.excursion_temperature),
        )
        self._conditions, self._workers = conditions, workers
        self._positions = [allocate(count, canvas) for _ in range(GROUPS)]
        self._background = ThreadPoolExecutor(1, thread_name_prefix="games")
        self._ready: list[Future[None]] = [self._background.submit(self._begin, group) for group in range(GROUPS)]
        self._next = 0
        self._config, self._moves = config, [0] * GROUPS

    @property
    def finished(self) -> int:
        """How many games were played to their end."""
        return int(self._games.finished.sum())

    def take(self) -> tuple[int, Positions]:
        """Wait for the next group; return its number and present positions, which stay the same until `play_on`."""
        group = self._next
        self._next = (group + 1) % GROUPS
        self._ready[group].result()
        return group, self._positions[group]

    def by_student(self, group: int) -> NDArray[np.bool_]:
        """Return [count]: in which of a group's present positions the student is to move. The student has the first
        games; in the first of these it plays one side, black and white in turns."""
        own = round(self.count * self._config.student)
        against = round(own * self._config.opponent)
        number = np.arange(self.count)
        first = group * self.count
        to_play = self._games.stack["to_play"][3 * first + 2 : 3 * (first + self.count) : 3]
        is_turn = to_play == np.where(number % 2 == 0, BLACK, WHITE)
        return (number < own) & ((number >= against) | is_turn)

    def is_due(self, group: int) -> bool:
        """Return whether a group's present positions are to be learned from; if not, the games only go on."""
        return self._moves[group] % self._config.every == 0

    def play_on(self, group: int, policy: PendingPolicy) -> None:
        """Make a move in every game of a group, in the background, by the logits that `policy()` returns there."""
        self._moves[group] += 1
        self._ready[group] = self._background.submit(self._advance, group, policy)

    def close(self) -> None:
        """End the background work."""
        self._background.shutdown(wait=True, cancel_futures=True)

    def _begin(self, group: int) -> None:
        opening = FIRST_OPENING * self.canvas**2
        first = group * self.count
        self._workers.map_parts(
            lambda begin, end, _: start_games(self._games, self._conditions, first + begin, first + end, opening),
            self.count,
        )
        self._encode(group)

    def _advance(self, group: int, policy: PendingPolicy) -> None:
        logits = policy()
        first = group * self.count

        def move(begin: int, end: int, _: WorkerBuffers) -> None:
            play_moves(self._games, self._conditions, first + begin, self.canvas, logits[begin:end])

        self._workers.map_parts(move, self.count)
        self._encode(group)

    def _encode(self, group: int) -> None:
        positions, first = self._positions[group], group * self.count
        positions.labels[:, :2] = UNKNOWN
        positions.labels[:, 2] = 0

        def encode(begin: int, end: int, buffers: WorkerBuffers) -> None:
            part = positions.part(begin, end)
            encode_games(self._games, self._conditions, first + begin, buffers, part.spatial, part.global_)

        self._workers.map_parts(encode, self.count)
