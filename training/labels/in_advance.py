"""`nobi label`: labels in advance, by units of work that depend on no other. Each becomes a sample file.

A unit is some games by the policies of the teacher and the student, on boards of one size, from their first moves to
their ends; or some positions of records. Its random numbers begin with its key, so that its file is the same whoever
makes it: threads of this process, or the workers of a cluster.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from gtp_engine.cluster.tasks import PYTORCH, Here
from gtp_engine.version import VERSION
from nobi_machine.inputs import Inputs
from nobi_machine.interruption import interruptible
from nobi_machine.memory import usable_cores
from nobi_machine.progress import StatusLine
from nobi_machine.units import Batch as UnitBatch
from nobi_machine.units import Pool, Unit
from training.config import DataConfig, RunConfig, TrainingConfig
from training.devices import choose_device
from training.errors import TrainingError
from training.files import make_folder, read_network, write_new
from training.labels.batches import PLAY, RECORDS, batch_of
from training.labels.komi_balancing import draw_komi_balancing
from training.labels.labelling import AT_ONCE, LabelledBatch, Labeller, open_teacher
from training.labels.samples import (
    HAS_ERRORS,
    HAS_OPTIMISTIC,
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    MAX_SAMPLES,
    Samples,
    concatenate,
    decode_samples,
    encode_samples,
    next_path,
    pack_samples,
    units_in,
)
from training.network import check_teacher
from training.positions.canvas import Positions, batch_size_on, new_positions, read_canvas_shares, sizes_on, unlabelled
from training.positions.game_conditions import choose_by_share, new_game_conditions
from training.positions.policy_games import are_students, encode_games, new_games, play_moves, start_games
from training.positions.records import SIZE, load_records
from training.positions.replay import draw_samples
from training.positions.workers import ReplayBuffers, new_replay_buffers

if TYPE_CHECKING:
    from gtp_engine.cluster.client import Cluster, ClusterPool

MOST_AT_ONCE = {"cpu": AT_ONCE, "cuda": 32}
"""Games of a unit on 19×19, on smaller boards more: so many positions are evaluated together, and so many fit into a
file. `strong` takes a core about a minute for a unit on 19×19, and 15 s on 9×9."""
GAME_LENGTH = 0.8
"""Moves of a game for each point of its board, about: by how much a unit makes, units are chosen, so that each source
and canvas has its share of the steps."""
SEEDS = 1 << 43
"""Seeds of games are drawn from so many."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that labels depend on, besides the unit and the kernels."""

    version: str = VERSION
    hashes: dict[str, str]
    """Of the files `teacher`, `student` and `records`, those that there are."""
    precision: str
    """As in RunConfig."""
    config: DataConfig


class Labels:
    """Makes sample files, each a unit of work, in several threads."""

    def __init__(self, settings: Settings, files: Mapping[str, Path], device: str, stop: threading.Event) -> None:
        """Open the networks and records, `files` by their names in `settings`. Raises TrainingError."""
        data = replace(settings.config, teacher=str(files["teacher"]))
        self._data, self._stop, self._device = data, stop, choose_device(device)
        precision = settings.precision
        if precision == "auto" and self._device.type == "cpu":  # else it would be measured, with one result or another
            precision = "fp32"
        self._labeller = Labeller(
            TrainingConfig(run=RunConfig(device=self._device.type, precision=precision, threads=1), data=data)
        )
        teacher = self._labeller.teacher
        assert teacher is not None
        self._student = open_teacher(files["student"], self._device, 1) if "student" in files else None
        self._known = HAS_POLICY | HAS_VALUE | HAS_SCORE | HAS_OWNERSHIP
        self._known |= HAS_OPTIMISTIC if teacher.has_optimistic else 0
        self._known |= HAS_ERRORS if teacher.has_errors else 0
        self._conditions = new_game_conditions(data.rules, data.own_komi, data.komi_deviation, data.forgotten)
        self._records = None
        if "records" in files:
            self._records = load_records(replace(data.records, path=str(files["records"])))

    @torch.no_grad()
    def do(self, unit: Unit, _place: int = 0) -> bytes | None:
        """Make a unit's sample file in the calling thread. Return None where it was stopped."""
        if self._device.type == "cpu":
            torch.set_num_threads(1)  # of this thread; the other cores have units of their own
        canvas, count = _shape(unit)
        generator = np.random.default_rng(int(unit.key, 16))
        made = self._by_policy(canvas, count, generator) if canvas else self._of_records(count, generator)
        parts, length = list[Samples](), 0
        for labelled in made:
            if self._stop.is_set():
                return None
            parts.append(_samples(labelled, self._known))
            length += parts[-1].length
            if length + 2 * count > MAX_SAMPLES:  # its games do not end
                break
        return encode_samples(concatenate(parts), self._labeller.origin, (unit.key,))

    def close(self) -> None:
        """Free nothing: what there is goes with the object."""

    def _of_records(self, count: int, generator: np.random.Generator) -> Iterator[LabelledBatch]:
        """Label positions of records, `count` at a time, as many as games of so many make."""
        assert self._records is not None
        seed, buffers = int(generator.integers(SEEDS)), self._new_buffers()
        for step in range(round(GAME_LENGTH * SIZE**2)):
            positions = new_positions(count, SIZE)
            draw_samples(self._records, self._conditions, seed, step * count, buffers, *positions)
            yield self._labelled(RECORDS, positions, generator)

    def _by_policy(self, canvas: int, count: int, generator: np.random.Generator) -> Iterator[LabelledBatch]:
        """Label all positions of `count` games."""
        play, sizes = self._data.play, sizes_on(canvas)
        size = canvas if generator.random() < play.own_size else int(generator.choice(sizes))
        games, buffers = new_games(count, (size,), int(generator.integers(SEEDS)), play), self._new_buffers()
        numbers = np.arange(count)
        start_games(games, self._conditions, 0, count, play.opening)
        while len(numbers):
            positions = new_positions(len(numbers), canvas)
            positions.labels[:] = unlabelled(len(numbers))
            encode_games(games, self._conditions, 0, buffers, positions.spatial, positions.global_)
            labelled = self._labelled(f"{PLAY}{canvas}", positions, generator)
            yield labelled
            turns = are_students(games.stack["to_play"][2::3], numbers, count, play)
            play_moves(games, self._conditions, 0, canvas, self._policy(labelled, turns))
            is_going = games.finished == 0
            if not is_going.all():
                games, numbers = games.chosen(is_going), numbers[is_going]

    def _labelled(self, source: str, positions: Positions, generator: np.random.Generator) -> LabelledBatch:
        data, count, batch = self._data, len(positions.global_), batch_of(source, positions)
        if data.balanced_share:
            balancing = draw_komi_balancing(count, generator, data.doublings_share)
            balanced = int(data.balanced_share * count + generator.random())
            batch = replace(batch, komi_balancing=balancing, balanced=balanced)
        return self._labeller.labelled(batch)

    def _policy(self, labelled: LabelledBatch, is_student: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the logits by which games go on: the student's where it is to move, elsewhere the teacher's."""
        assert labelled.evaluation is not None
        policy = labelled.evaluation.policy.float()
        if self._student is not None and is_student.any():
            index = torch.from_numpy(np.flatnonzero(is_student)).to(self._device)
            # Not those under balanced komi: they follow.
            spatial = labelled.spatial[index].contiguous(memory_format=torch.channels_last)
            with self._labeller.precision():
                own = self._student.evaluate(spatial, labelled.global_[index], False)
            policy = policy.index_copy(0, index, own.policy.float())
        return policy.cpu().numpy()

    def _new_buffers(self) -> ReplayBuffers:
        return new_replay_buffers(self._labeller.origin.pass_alive_under_suicide)


def open_job(settings: bytes, files: Mapping[str, Path], here: Here) -> Labels:
    """Open what units of labels need on a worker of a cluster. Raises TrainingError."""
    device = "cuda" if here.configuration.engine.device == "cuda" else "cpu"
    return Labels(msgspec.json.decode(settings, type=Settings), files, device, here.stop)


def _units(config: TrainingConfig, settings: Settings) -> Iterator[tuple[Unit, float]]:
    """Return the units of a configuration, each with how many samples it makes, about. Raises TrainingError."""
    data, seed = config.data, config.run.seed
    depends = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
    canvas_shares = read_canvas_shares(data.canvas_shares)
    total = sum(canvas_shares.values())
    shares = {canvas: data.play_share * share / total / canvas**2 for canvas, share in canvas_shares.items()}
    shares[0] = data.records_share / SIZE**2
    if not any(shares.values()):
        raise TrainingError("data: neither records nor games by policy have a share above 0")
    at_once = min(config.run.batch, MOST_AT_ONCE[choose_device(config.run.device).type])

    def unit(number: int) -> tuple[Unit, float]:
        canvas = choose_by_share(shares, np.random.default_rng((seed, number)))
        games = batch_size_on(canvas or SIZE, at_once)
        arguments = msgspec.json.encode((seed, number, canvas, games, depends))
        length = GAME_LENGTH * (canvas or SIZE) ** 2
        return Unit(f"labels {number + 1}", "label", arguments), games * length * (1.0 + data.balanced_share)

    return map(unit, itertools.count())


def _shape(unit: Unit) -> tuple[int, int]:
    """Return a unit's canvas, 0 for records, and how many positions it labels at a time."""
    _, _, canvas, games, _ = msgspec.json.decode(unit.arguments)
    return canvas, games


def label(
    folder: Path,
    config: TrainingConfig,
    count: int | None = None,
    seconds: float | None = None,
    student: Path | None = None,
    cluster: Cluster | None = None,
) -> int:
    """Label positions until sample files in `folder` have about `count` of them, and begin nothing after `seconds`.

    The network `student` moves in its share of the games by policy. What an earlier call with the same configuration
    wrote counts, however that call ended. Return the number of positions that are new. Raises TrainingError and
    OSError, and for a `cluster` UserError.
    """
    data = config.data
    if not data.teacher:
        raise TrainingError("labelling needs a teacher: set data.teacher")
    if data.records_share and not data.records.path:
        load_records(data.records)  # says what is missing
    files = {"teacher": Path(data.teacher)}
    files |= {} if student is None else {"student": student}
    files |= {"records": Path(data.records.path)} if data.records_share else {}
    inputs = Inputs(files)
    nameless = replace(data, teacher="", samples=(), records=replace(data.records, path=""))
    settings = Settings(hashes=inputs.hashes, precision=config.run.precision, config=nameless)
    units = _units(config, settings)
    make_folder(folder)
    known = units_in(folder)
    status = StatusLine()
    there, new, under_way = 0, 0, dict[str, float]()

    def missing() -> Iterator[Unit]:
        nonlocal there
        for unit, size in units:
            if count is not None and there + sum(under_way.values()) >= count:
                return
            if seconds is not None and time.monotonic() - started >= seconds:
                return
            if unit.key in known:
                there += known[unit.key]
                continue
            under_way[unit.key] = size
            yield unit

    def keep(unit: Unit, result: bytes) -> None:
        nonlocal there, new
        canvas, _ = _shape(unit)
        length = decode_samples(result).length
        write_new(partial(next_path, folder, canvas or SIZE), result)
        del under_way[unit.key]
        there, new = there + length, new + length
        speed, goal = new / (time.monotonic() - started), "" if count is None else f" of {count:,}"
        words = "" if cluster is None else f", {cluster.words()}"
        status.show(f"{there:,}{goal} positions labelled, {speed:,.0f}/s{words}")

    with interruptible() as stop:
        pool: Pool | ClusterPool
        if cluster is not None:
            check_teacher(read_network(inputs.files["teacher"]), inputs.files["teacher"])
            job = cluster.job("label", msgspec.json.encode(settings), inputs)
            pool = cluster.pool(job, stop, needs=(PYTORCH,))
        else:
            labels = Labels(settings, inputs.files, config.run.device, stop)
            inputs.check()
            threads = 1 if choose_device(config.run.device).type == "cuda" else config.run.threads or usable_cores()
            pool = Pool(threads, labels.do, stop=stop)
        started = time.monotonic()
        pool.run([UnitBatch("", missing())], keep)
    status.show(f"{new:,} positions labelled in {time.monotonic() - started:,.0f} s, {there:,} in all", final=True)
    return new


def _samples(labelled: LabelledBatch, known: int) -> Samples:
    """Convert a batch and the targets that a teacher gave it, of the kinds `known`, to samples."""
    targets = labelled.targets.to(torch.device("cpu"))
    return pack_samples(
        labelled.spatial.to("cpu", torch.uint8).numpy(),
        labelled.global_.cpu().numpy().copy(),
        targets.policy.numpy(),
        targets.value.numpy().astype(np.float32),
        targets.score.numpy().astype(np.float32),
        targets.ownership.numpy(),
        np.full(len(labelled.global_), known, np.uint8),
        targets.optimistic.numpy(),
        targets.reply.numpy().astype(np.int16),
    )
