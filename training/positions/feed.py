"""The batches of a run: which source each step draws from, prepared ahead while the device computes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config import TrainingConfig
from training.errors import TrainingError
from training.positions.batch import Positions, batch_of, new_positions
from training.positions.games import BareGames
from training.positions.komi_balancing import Evening, draw_evening
from training.positions.records import RecordPositions
from training.positions.shares import canvas_shares, pick
from training.positions.terms import new_terms
from training.positions.workers import Workers
from training.samples.mix import SampleMix
from training.student.losses import Targets

RECORDS, PLAY, SAMPLES, FRESH = "records", "play", "samples", "fresh"
AHEAD = 3
"""Batches of records that are prepared before they are asked for."""
SAMPLES_AHEAD = 2
"""Steps whose samples are drawn before they are asked for."""
STEPS = 1 << 32
"""More than a run has: games that begin at different steps have different random numbers."""

Answer = Callable[[Callable[[], NDArray[np.float32]]], None]


@dataclass(frozen=True)
class Item:
    """One batch, in the CPU's memory. It must be copied before the next but one is asked for."""

    source: str
    spatial: Tensor
    """uint8 [N, 22, S, S]"""
    global_: Tensor
    """[N, 19]"""
    labels: Tensor
    """int16 [N, LABELS]"""
    targets: Targets | None
    """Labels that came with the positions, or None: they are to be asked of a teacher or taken from `labels`."""
    fills_canvas: bool
    evening: Evening | None = None
    """Which of the positions a teacher is to label once more, with even komi."""
    answer: Answer | None = None
    """Games: to be given a function that returns the policy to move by, float32[N, S*S + 1] logits."""

    @property
    def learned(self) -> int:
        """How many positions are learned from."""
        return len(self.global_) + (0 if self.evening is None else len(self.evening.index))


Player = Callable[[Item], Callable[[], NDArray[np.float32]]]
"""Says by which policies the games of an item go on."""


class Feed:
    """Items for steps 0, 1, ...; the sources' shares decide at random, the same way in every run."""

    def __init__(
        self,
        config: TrainingConfig,
        *,
        pass_alive_under_suicide: bool,
        has_teacher: bool,
        pinned: bool,
        player: Player,
        records_drawn: int = 0,
        first_step: int = 0,
    ) -> None:
        """`pinned`: memory from which a GPU copies faster. `player` moves in games between positions that are learned
        from. `records_drawn`: samples already seen by what is resumed at `first_step`; games begin anew there, others
        than before. Raises TrainingError."""
        data = config.data
        self._player, self._has_teacher = player, has_teacher
        self._config = config
        self._pinned = pinned
        self._workers = Workers(config.run.threads, pass_alive_under_suicide)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._shares = {
            RECORDS: data.records_share,
            PLAY: data.play_share,
            SAMPLES: data.samples_share,
            FRESH: data.fresh_share,
        }
        if not any(self._shares.values()):
            raise TrainingError("data: no source of positions has a share above 0")
        if data.play_share and not has_teacher:
            raise TrainingError("data.play_share: games without a teacher have no labels; set data.teacher, or 0")
        terms = new_terms(data.rules, data.own_komi, data.komi_deviation)
        self._canvas_shares = canvas_shares(data.canvas_shares)
        self.records_drawn = records_drawn
        self._records: RecordPositions | None = None
        self._record_batches: deque[Future[Positions]] = deque()
        if data.records_share:
            if not data.records.path:
                raise TrainingError("data.records.path: no game records are named; set it, or data.records_share to 0")
            self._records = RecordPositions(data.records, terms, config.run.seed, self._workers)
            self._record_next = records_drawn
            self._record_room = [self._new_room(config.run.batch, 19) for _ in range(AHEAD + 2)]
            self._record_count = 0
        self._games: dict[int, BareGames] = {}
        if data.play_share:
            for canvas in self._canvas_shares:
                count = batch_of(canvas, config.run.batch)
                seed = (config.run.seed * 31 + canvas) * STEPS + first_step
                self._games[canvas] = BareGames(canvas, count, data.play, terms, seed, self._workers, self._new_room)
        self._mixes: dict[str, SampleMix] = {}
        for source, folders in ((SAMPLES, data.samples), (FRESH, data.fresh)):
            if self._shares[source]:
                self._mixes[source] = SampleMix(source, folders)
        self._drawn: dict[int, Future[Item]] = {}

    def next(self, step: int) -> Item:
        """The batch of `step`. Raises TrainingError."""
        self._draw_samples(step)
        if step in self._drawn:
            return self._drawn.pop(step).result()
        source, generator = self._source(step)
        item = self._from_records() if source == RECORDS else self._from_games(pick(self._canvas_shares, generator))
        share = self._config.data.even_share if self._has_teacher else 0.0
        return replace(item, evening=draw_evening(len(item.global_), share, generator)) if share else item

    def finished_games(self) -> int:
        return sum(games.finished for games in self._games.values())

    def close(self) -> None:
        """End all background work."""
        for games in self._games.values():
            games.close()
        self._background.shutdown(wait=True, cancel_futures=True)
        self._workers.close()

    def _source(self, step: int) -> tuple[str, np.random.Generator]:
        """Where the batch of a step is from, and the random numbers for the rest of it."""
        generator = np.random.default_rng((self._config.run.seed, step))
        return pick(self._shares, generator), generator

    def _draw_samples(self, step: int) -> None:
        """Have the samples of this and the next steps drawn in the background."""
        for each in range(step, step + 1 + SAMPLES_AHEAD):
            if each in self._drawn:
                continue
            source, generator = self._source(each)
            if source in self._mixes:
                self._drawn[each] = self._background.submit(self._from_samples, source, generator)

    def _from_records(self) -> Item:
        assert self._records is not None
        while len(self._record_batches) <= AHEAD:
            room = self._record_room[self._record_count % len(self._record_room)]
            self._record_batches.append(self._background.submit(_fill, self._records, room, self._record_next))
            self._record_next += len(room.global_)
            self._record_count += 1
        positions = self._record_batches.popleft().result()
        self.records_drawn += len(positions.global_)
        return _item(RECORDS, positions)

    def _from_games(self, canvas: int) -> Item:
        games = self._games[canvas]
        while True:
            group, positions = games.take()
            item = _item(f"{PLAY}{canvas}", positions, partial(games.answer, group))
            if games.is_due(group):
                return item
            games.answer(group, self._player(item))

    def _from_samples(self, source: str, generator: np.random.Generator) -> Item:
        mix = self._mixes[source]
        available = {canvas: count * canvas**2 for canvas, count in mix.counts().items() if count}
        canvas = pick(available, generator)
        spatial, global_, targets = mix.draw(canvas, batch_of(canvas, self._config.run.batch), generator)
        return Item(
            f"{source}{canvas}",
            torch.from_numpy(spatial),
            torch.from_numpy(global_),
            torch.full((len(global_), 3), -1, dtype=torch.int16),
            targets,
            bool(spatial[:, 0, -1, -1].all()),
        )

    def _new_room(self, count: int, canvas: int) -> Positions:
        room = new_positions(count, canvas)
        if not self._pinned:
            return room
        return Positions(*(torch.from_numpy(array).pin_memory().numpy() for array in room))


def _fill(records: RecordPositions, room: Positions, first: int) -> Positions:
    records.fill(room, first)
    return room


def _item(source: str, positions: Positions, answer: Answer | None = None) -> Item:
    spatial, global_, labels = (torch.from_numpy(array) for array in positions)
    return Item(source, spatial, global_, labels, None, positions.fills_canvas, answer=answer)
