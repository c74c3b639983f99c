"""The batches of a run, prepared ahead while the device computes: each comes from one of three sources of positions.

records   game records                         training/positions/records.py
play      games by the networks' policies      training/positions/policy_games.py
samples   sample files                         training/labels/samples.py
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nets.symmetry import SYMMETRIES
from nobi_machine.progress import StatusLine
from training.config import TrainingConfig
from training.errors import TrainingError
from training.labels.komi_balancing import KomiBalancing, draw_komi_balancing
from training.labels.samples import SUFFIX, Chunk, Samples, SampleSources, concatenate, read_chunk, unpack_planes
from training.labels.targets import Targets, targets_from_samples, turned
from training.positions.canvas import (
    CANVASES,
    PendingPolicy,
    Positions,
    batch_size_on,
    new_positions,
    read_canvas_shares,
    unlabelled,
)
from training.positions.game_conditions import choose_by_share, new_game_conditions
from training.positions.policy_games import PolicyGames
from training.positions.records import RecordPositions
from training.positions.workers import WorkerPool

RECORDS, PLAY, SAMPLES = "records", "play", "samples"
AHEAD = 3
"""Batches of records that are prepared before they are asked for."""
SAMPLES_AHEAD = 2
"""Steps whose samples are drawn before they are asked for."""
STEPS = 1 << 32
"""More steps than any run has: games that begin at different steps get different random numbers."""
FIRST_READ = 8
"""How many files of a canvas are read before the first batch."""
SAMPLES_HELD = 3 << 16
"""How many samples of each canvas are in memory at once; on 19×19 they take 450 MB."""
PASSES = 2.0
"""How often a sample is drawn, on average, before another file takes its file's place, if there are more."""


@dataclass(frozen=True)
class Batch:
    """A batch of N positions as tensors in the CPU's memory. The next batch but one may overwrite them."""

    source: str
    """Where the positions come from: a key of progress.jsonl, like `records` or `play9`."""
    spatial: Tensor
    """uint8 [N, 22, S, S]"""
    global_: Tensor
    """[N, 19]"""
    labels: Tensor
    """int16 [N, LABELS]"""
    targets: Targets | None
    """What to learn, where it came with the positions. None: a teacher is to be asked, or `labels` say it."""
    fills_canvas: bool
    """Whether every board is as large as the canvas."""
    komi_balancing: KomiBalancing | None = None
    """With what balanced komi positions can be learned from once more, in the order in which they are chosen."""
    balanced: int = 0
    """How many of them are."""
    play_on: Callable[[PendingPolicy], None] | None = None
    """For positions of games in progress: tells the games by which policy their next moves are drawn."""
    by_student: Tensor | None = None
    """bool [N], for such positions: where the student's policy is to move; elsewhere it is the teacher's."""

    @property
    def learned(self) -> int:
        """How many positions are learned from, those with balanced komi included."""
        return len(self.global_) + self.balanced


class ShuffleBuffer:
    """Draws batches from sample files and folders of them. It notices new files."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        """Look for the files of the setting data.samples.

        A folder that is missing may come later, and is noted. Raises TrainingError where a file is missing, or where
        there are no samples.
        """
        self._sources = SampleSources(sources)
        self._held: dict[int, list[tuple[Chunk, Samples]]] = {canvas: [] for canvas in CANVASES}
        self._drawn = dict.fromkeys(CANVASES, 0)
        for source in sources:
            if not Path(source).exists():
                if source.endswith(SUFFIX):
                    raise TrainingError(f"{source}: there is no such file, which data.samples names")
                StatusLine().note(f"{source}: there is no such folder yet, which data.samples names")
        if not self._sources.chunks():
            raise TrainingError(f"no sample files in {', '.join(sources) or 'data.samples'}")

    def counts(self) -> dict[int, int]:
        """Count the samples of each canvas."""
        counts = dict.fromkeys(CANVASES, 0)
        for chunk in self._sources.chunks():
            counts[chunk.canvas] += chunk.length
        return counts

    def draw(self, canvas: int, count: int, generator: np.random.Generator) -> Batch:
        """Return a batch of `count` samples, each turned at random. Raises TrainingError where a file is damaged."""
        self._refresh(canvas, generator)
        held = self._held[canvas]
        if not held:
            raise TrainingError(f"no sample files for boards of {canvas} lines")
        ends = np.cumsum([samples.length for _, samples in held])
        places = generator.integers(0, ends[-1], count)
        owners = np.searchsorted(ends, places, side="right")
        # Below zero: counted from the end of a file's samples.
        parts = [held[number][1].chosen(places[owners == number] - ends[number]) for number in np.unique(owners)]
        # In any order: parts of a batch, each with gradients of its own, should know as much as the others.
        joined = concatenate(parts).chosen(generator.permutation(count))
        self._drawn[canvas] += count
        planes = torch.from_numpy(unpack_planes(joined.planes, canvas))
        symmetries = torch.from_numpy(generator.integers(0, SYMMETRIES, count))
        spatial, targets = turned(planes, targets_from_samples(joined), symmetries)
        labels = torch.from_numpy(unlabelled(count))
        global_, fills_canvas = torch.from_numpy(joined.global_), bool(planes[:, 0].all())
        return Batch(f"{SAMPLES}{canvas}", spatial, global_, labels, targets, fills_canvas)

    def _refresh(self, canvas: int, generator: np.random.Generator) -> None:
        """Read the first files; later one more whenever as many samples were drawn as the oldest has PASSES times."""
        held = self._held[canvas]
        if held and self._drawn[canvas] < PASSES * held[0][1].length:
            return
        self._drawn[canvas] = 0
        known = {chunk for chunk, _ in held}
        waiting = [chunk for chunk in self._sources.chunks(canvas) if chunk not in known]
        generator.shuffle(waiting)
        for chunk in waiting[: 1 if held else FIRST_READ]:
            while len(held) > 1 and sum(samples.length for _, samples in held) + chunk.length > SAMPLES_HELD:
                held.pop(0)
            held.append((chunk, read_chunk(chunk)))


class BatchLoader:
    """Makes the batches of steps 0, 1, ... The shares of the sources decide at random, the same way in every run."""

    def __init__(
        self,
        config: TrainingConfig,
        *,
        pass_alive_under_suicide: bool,
        has_teacher: bool,
        pinned: bool,
        records_drawn: int = 0,
        first_step: int = 0,
    ) -> None:
        """Open the sources that have a share. Raises TrainingError.

        `pass_alive_under_suicide` is a property of the teacher's network. `pinned` asks for memory from which a GPU
        copies faster. A run that is resumed at `first_step` has seen `records_drawn` samples of records; its games
        begin anew.
        """
        data = config.data
        self._config, self._has_teacher, self._pinned = config, has_teacher, pinned
        self._workers = WorkerPool(config.run.threads, pass_alive_under_suicide)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._shares = {RECORDS: data.records_share, PLAY: data.play_share, SAMPLES: data.samples_share}
        if not any(self._shares.values()):
            raise TrainingError("data: no source of positions has a share above 0")
        if data.play_share and not has_teacher:
            raise TrainingError("data.play_share: games without a teacher have no labels; set data.teacher, or 0")
        conditions = new_game_conditions(data.rules, data.own_komi, data.komi_deviation, data.forgotten)
        self._canvas_shares = read_canvas_shares(data.canvas_shares)
        self.records_drawn = records_drawn
        self.made = 0
        """How many positions came from all sources so far."""
        self._records: RecordPositions | None = None
        self._record_batches: deque[Future[Positions]] = deque()
        if data.records_share:
            self._records = RecordPositions(data.records, conditions, config.run.seed, self._workers)
            self._record_next = records_drawn
            self._record_buffers = itertools.cycle([self._allocate(config.run.batch, 19) for _ in range(AHEAD + 2)])
        self._games: dict[int, PolicyGames] = {}
        if data.play_share:
            for canvas in self._canvas_shares:
                count = batch_size_on(canvas, config.run.batch)
                seed = (config.run.seed * 31 + canvas) * STEPS + first_step
                games = PolicyGames(canvas, count, data.play, conditions, seed, self._workers, self._allocate)
                self._games[canvas] = games
        self._samples = ShuffleBuffer(data.samples) if data.samples_share else None
        self._drawn: dict[int, Future[Batch]] = {}
        if self._records is not None:
            self._prepare_records(self._records)

    def next(self, step: int) -> Batch:
        """Return the batch of `step`. Raises TrainingError."""
        self._draw_samples(step)
        source, generator = self._source(step)
        if source == SAMPLES:
            batch = self._drawn.pop(step).result()
        elif source == RECORDS:
            batch = self._from_records()
        else:
            batch = self._from_games(choose_by_share(self._canvas_shares, generator))
        count = len(batch.global_)
        self.made += count
        data = self._config.data
        if source == SAMPLES or not self._has_teacher or not data.balanced_share:
            return batch
        balancing = draw_komi_balancing(count, generator, data.doublings_share)
        return replace(batch, komi_balancing=balancing, balanced=round(data.balanced_share * count))

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
            source, generator = self._source(each)
            if source == SAMPLES and each not in self._drawn:
                self._drawn[each] = self._background.submit(self._from_samples, generator)

    def _prepare_records(self, records: RecordPositions) -> None:
        """Have batches of records made in the background."""
        while len(self._record_batches) <= AHEAD:
            positions = next(self._record_buffers)
            self._record_batches.append(self._background.submit(records.fill, positions, self._record_next))
            self._record_next += len(positions.global_)

    def _from_records(self) -> Batch:
        assert self._records is not None
        self._prepare_records(self._records)
        positions = self._record_batches.popleft().result()
        self.records_drawn += len(positions.global_)
        return batch_of(RECORDS, positions)

    def _from_games(self, canvas: int) -> Batch:
        games = self._games[canvas]
        group, positions = games.take()
        return replace(
            batch_of(f"{PLAY}{canvas}", positions),
            play_on=partial(games.play_on, group),
            by_student=torch.from_numpy(games.by_student(group)),
        )

    def _from_samples(self, generator: np.random.Generator) -> Batch:
        assert self._samples is not None
        available = {canvas: count * canvas**2 for canvas, count in self._samples.counts().items() if count}
        canvas = choose_by_share(available, generator)
        return self._samples.draw(canvas, batch_size_on(canvas, self._config.run.batch), generator)

    def _allocate(self, count: int, canvas: int) -> Positions:
        positions = new_positions(count, canvas)
        if not self._pinned:
            return positions
        return Positions(*(torch.from_numpy(array).pin_memory().numpy() for array in positions))


def batch_of(source: str, positions: Positions) -> Batch:
    """Return a batch of positions that a teacher, or the record, is to label."""
    spatial, global_, labels = (torch.from_numpy(array) for array in positions)
    return Batch(source, spatial, global_, labels, None, positions.fills_canvas)
