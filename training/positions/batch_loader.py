"""The batches of a run, prepared ahead while the device computes: each comes from one of four sources of positions.

records   game records                         training/positions/records.py
play      games by the networks' policies      training/positions/policy_games.py
samples   sample files                         training/samples/shuffle_buffer.py
fresh     other sample files, with a share of their own
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from training.config import TrainingConfig
from training.errors import TrainingError
from training.positions.batch import Batch, PendingPolicy, Positions, new_positions
from training.positions.canvas import batch_size_on, read_canvas_shares
from training.positions.game_conditions import choose_by_share, new_game_conditions
from training.positions.komi_balancing import draw_komi_balancing
from training.positions.policy_games import PolicyGames
from training.positions.records import RecordPositions
from training.positions.replay import unlabelled
from training.positions.workers import WorkerPool
from training.samples.shuffle_buffer import ShuffleBuffer

RECORDS, PLAY, SAMPLES, FRESH = "records", "play", "samples", "fresh"
AHEAD = 3
"""Batches of records that are prepared before they are asked for."""
SAMPLES_AHEAD = 2
"""Steps whose samples are drawn before they are asked for."""
STEPS = 1 << 32
"""More steps than any run has: games that begin at different steps get different random numbers."""


class BatchLoader:
    """Makes the batches of steps 0, 1, ... The shares of the sources decide at random, the same way in every run."""

    def __init__(
        self,
        config: TrainingConfig,
        *,
        pass_alive_under_suicide: bool,
        has_teacher: bool,
        pinned: bool,
        policy_for: Callable[[Batch], PendingPolicy],
        records_drawn: int = 0,
        first_step: int = 0,
    ) -> None:
        """Open the sources that have a share. Raises TrainingError.

        `pass_alive_under_suicide` is a property of the teacher's network. `pinned` asks for memory from which a GPU
        copies faster. `policy_for` returns the policy by which games go on from positions that are not learned from. A
        run that is resumed at `first_step` has seen `records_drawn` samples of records; its games begin anew.
        """
        data = config.data
        self._policy_for, self._has_teacher = policy_for, has_teacher
        self._config = config
        self._pinned = pinned
        self._workers = WorkerPool(config.run.threads, pass_alive_under_suicide)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="batches")
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
        conditions = new_game_conditions(data.rules, data.own_komi, data.komi_deviation, data.forgotten)
        self._canvas_shares = read_canvas_shares(data.canvas_shares)
        self.records_drawn = records_drawn
        self.made = 0
        """How many positions came from all sources so far, those that only went on included."""
        self._records: RecordPositions | None = None
        self._record_batches: deque[Future[Positions]] = deque()
        if data.records_share:
            self._records = RecordPositions(data.records, conditions, config.run.seed, self._workers)
            self._record_next = records_drawn
            self._record_buffers = [self._allocate(config.run.batch, 19) for _ in range(AHEAD + 2)]
            self._record_count = 0
        self._games: dict[int, PolicyGames] = {}
        if data.play_share:
            for canvas in self._canvas_shares:
                count = batch_size_on(canvas, config.run.batch)
                seed = (config.run.seed * 31 + canvas) * STEPS + first_step
                games = PolicyGames(canvas, count, data.play, conditions, seed, self._workers, self._allocate)
                self._games[canvas] = games
        self._samples: dict[str, ShuffleBuffer] = {}
        for source, folders in ((SAMPLES, data.samples), (FRESH, data.fresh)):
            if self._shares[source]:
                self._samples[source] = ShuffleBuffer(source, folders)
        self._drawn: dict[int, Future[Batch]] = {}
        if self._records is not None:
            self._prepare_records(self._records)

    def next(self, step: int) -> Batch:
        """Return the batch of `step`. Raises TrainingError."""
        self._draw_samples(step)
        if step in self._drawn:
            drawn = self._drawn.pop(step).result()
            self.made += len(drawn.global_)
            return drawn
        source, generator = self._source(step)
        if source == RECORDS:
            batch = self._from_records()
        else:
            batch = self._from_games(choose_by_share(self._canvas_shares, generator))
        data = self._config.data
        if not self._has_teacher or not data.balanced_share:
            return batch
        count = len(batch.global_)
        balancing = draw_komi_balancing(count, generator, data.doublings_share)
        return replace(batch, komi_balancing=balancing, balanced=round(data.balanced_share * count))

    def finished_games(self) -> int:
        """Count the games by policy that were played to their end."""
        return sum(games.finished for games in self._games.values())

    def close(self) -> None:
        """End all background work."""
        for games in self._games.values():
            games.close()
        self._background.shutdown(wait=True, cancel_futures=True)
        self._workers.close()

    def _source(self, step: int) -> tuple[str, np.random.Generator]:
        """Return the source of a step's batch, and the random numbers for the rest of it."""
        generator = np.random.default_rng((self._config.run.seed, step))
        return choose_by_share(self._shares, generator), generator

    def _draw_samples(self, step: int) -> None:
        """Draw the samples of this step and the next ones in the background."""
        for each in range(step, step + 1 + SAMPLES_AHEAD):
            if each in self._drawn:
                continue
            source, generator = self._source(each)
            if source in self._samples:
                self._drawn[each] = self._background.submit(self._from_samples, source, generator)

    def _prepare_records(self, records: RecordPositions) -> None:
        """Have batches of records made in the background."""
        while len(self._record_batches) <= AHEAD:
            positions = self._record_buffers[self._record_count % len(self._record_buffers)]
            self._record_batches.append(self._background.submit(records.fill, positions, self._record_next))
            self._record_next += len(positions.global_)
            self._record_count += 1

    def _from_records(self) -> Batch:
        assert self._records is not None
        self._prepare_records(self._records)
        positions = self._record_batches.popleft().result()
        self.records_drawn += len(positions.global_)
        self.made += len(positions.global_)
        return _batch(RECORDS, positions)

    def _from_games(self, canvas: int) -> Batch:
        games = self._games[canvas]
        while True:
            group, positions = games.take()
            self.made += len(positions.global_)
            batch = replace(
                _batch(f"{PLAY}{canvas}", positions),
                play_on=partial(games.play_on, group),
                by_student=torch.from_numpy(games.by_student(group)),
            )
            if games.is_due(group):
                return batch
            games.play_on(group, self._policy_for(batch))

    def _from_samples(self, source: str, generator: np.random.Generator) -> Batch:
        samples = self._samples[source]
        available = {canvas: count * canvas**2 for canvas, count in samples.counts().items() if count}
        canvas = choose_by_share(available, generator)
        spatial, global_, targets = samples.draw(canvas, batch_size_on(canvas, self._config.run.batch), generator)
        return Batch(
            f"{source}{canvas}",
            torch.from_numpy(spatial),
            torch.from_numpy(global_),
            torch.from_numpy(unlabelled(len(global_))),
            targets,
            bool(spatial[:, 0, -1, -1].all()),
        )

    def _allocate(self, count: int, canvas: int) -> Positions:
        positions = new_positions(count, canvas)
        if not self._pinned:
            return positions
        return Positions(*(torch.from_numpy(array).pin_memory().numpy() for array in positions))


def _batch(source: str, positions: Positions) -> Batch:
    spatial, global_, labels = (torch.from_numpy(array) for array in positions)
    return Batch(source, spatial, global_, labels, None, positions.fills_canvas)
