"""The training loop of a run: a folder (training/files.py) that is trained in legs, each with a wall-clock budget.

A leg trains at the full learning rate, then the rate decays to zero. The decay is what makes a network good: the
network at its end is the run's result, and the next leg goes on from it (Wen et al., "Understanding warmup-stable-decay
learning rates: a river valley loss landscape perspective", 2024). An interrupted leg goes on where it stopped.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from nets.katago.model import Model
from nets.katago.writer import encode_model
from nobi_machine.interruption import interruptible
from nobi_machine.progress import StatusLine
from training.config import TrainingConfig, describe
from training.errors import TrainingError
from training.files import CHECKPOINT, CONFIG, START, START_CARD, STUDENT, card_beside, make_folder, write_whole
from training.labels.batches import Batch, BatchLoader
from training.labels.samples import Origin, read_origin
from training.network import evaluate_with
from training.run.checkpoint import Checkpoint, Progress, load_checkpoint, save_checkpoint
from training.run.trained_network import describe_network, progress_of, start_of, write_trained_network
from training.run.training_log import TrainingLog
from training.student.beginning import read_student, shape_name
from training.student.learner import Learner
from training.student.optimiser import rate_share
from training.yardstick import Measure, Yardstick, load_yardstick

FETCH_EVERY = 20
"""Steps between two readings of the losses, at most; each reading waits for the device."""
AGAIN = "again"
"""The source, in progress.jsonl, of batches that are learned from once more."""
SHOWN = ("policy", "value", "ownership", "score")
"""The parts of the loss in the status line, once there was a step."""
SMALLEST_BATCH = 16
"""Batches that do not fit into the device's memory are halved down to this."""

POSITIONS, COPIES, DEVICE = "positions", "copies", "device"
"""What a leg waits for: the next batch, its copy to the device, and the device's steps."""

SPARE = 0.01
"""Share of a leg's budget that is kept free, for what cannot be foreseen at its end."""
SAVES = 2
"""How often a leg's end writes the state: as it is, and, with the network's files, as the beginning of the next leg."""
MOST_RESERVED = 0.5
"""The most of a leg's budget that is kept for its end."""


class LegClock:
    """Counts the seconds of a leg as they pass, and keeps some of its budget for its end."""

    def __init__(self, progress: Progress, began: float) -> None:
        """`began` is when the leg, or this part of it, began, by time.monotonic(): what was before its first step
        counts as well."""
        self._progress, self._last = progress, began
        self.longest_save = self.longest_measure = 0.0
        """The most seconds that it took to write the state, and to measure the network; 0: it was not done yet."""

    def tick(self) -> float:
        """Count the seconds since the last call, and return the present time."""
        now = time.monotonic()
        self._progress.leg_spent += now - self._last
        self._last = now
        return now

    def reserve(self, unmeasured: float) -> None:
        """Keep as much of the budget for the leg's end as it will need. `unmeasured` is an estimate of the seconds of a
        measurement, for as long as there was none."""
        budget = self._progress.leg_budget
        needed = SPARE * budget + SAVES * self.longest_save + (self.longest_measure or unmeasured)
        self._progress.reserved = min(needed, MOST_RESERVED * budget)


class Pace:
    """Counts what was done, and waited for, since the last line."""

    def __init__(self, learned: int) -> None:
        """`learned` is how many positions were learned from before."""
        self._began = time.perf_counter()
        self._waits: dict[str, float] = defaultdict(float)
        self._made, self._learned = 0, learned
        self._copying = 0.0

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Count the time of the body as spent waiting for `what`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._waits[what] += time.perf_counter() - began

    def speeds(self, made: int, learned: int, copying: float) -> tuple[float, str]:
        """Return how many positions were learned from a second, and a line with all speeds and waits; begin anew.

        `learned` counts all positions of the run; `made` counts positions, and `copying` the seconds of waiting for
        copies, since this object was made."""
        now = time.perf_counter()
        seconds = max(now - self._began, 1e-9)
        self._waits[COPIES] += copying - self._copying
        speed = (learned - self._learned) / seconds
        waits = ", ".join(f"{what} {self._waits[what] / seconds:.0%}" for what in (POSITIONS, COPIES, DEVICE))
        line = f"{(made - self._made) / seconds:,.0f}/s made  {speed:,.0f}/s learned  waits: {waits}"
        self._began, self._made, self._learned, self._copying = now, made, learned, copying
        self._waits.clear()
        return speed, line


class Run:
    """A run: its folder, its progress, and the learner that trains its student."""

    def __init__(
        self, folder: Path, config: TrainingConfig, unwritten: dict[str, bytes], begun: Model | None, learned: Progress
    ) -> None:
        """Restore the run from its last checkpoint, if it has one; else begin with the network `begun`, which has
        `learned` so much, or with random weights. `unwritten` are files, by their names, that the folder keeps as soon
        as there is anything that was made by them. Raises TrainingError."""
        self._folder, self._config, self._unwritten = folder, config, unwritten
        self.learner = Learner(config, begun)
        self._shape = shape_name(self.learner.student.model)
        self.progress = self._restore(learned)
        self._status = StatusLine()
        self._log = TrainingLog(folder, self._status)
        self._pending: list[tuple[str, dict[str, torch.Tensor]]] = []
        self._saves = 0
        self._yardstick: Yardstick | None = None
        if config.run.yardstick:
            self._yardstick = load_yardstick(Path(config.run.yardstick))

    def train(self, budget: float, pause_after: float | None = None, began: float | None = None) -> Progress:
        """Begin a leg of `budget` seconds, or go on with the one that was interrupted, which keeps its own budget; save
        and pause, in the middle of it, after the seconds `pause_after`. `began`: when the program began, by
        time.monotonic(), since its start counts as well.

        Return the progress at that moment; the budget of a leg that has ended is spent. Raises TrainingError."""
        progress, began = self.progress, began or time.monotonic()
        if progress.leg_budget <= 0:
            progress.leg_budget, progress.leg_began = budget, progress.step
            progress.leg_spent = progress.reserved = 0.0
        progress.origin = progress.origin.joined_with(self._origin())
        self._announce()
        self._batches = self._open_batches()
        try:
            with interruptible() as interrupted:
                started = time.monotonic()
                if self.learner.labeller.warm_up():  # while the first positions are made
                    self._status.note(f"the teacher was compiled in {time.monotonic() - started:.0f} s")
                self._train(pause_after, began, interrupted)
        except RuntimeError as error:
            if "CUDA" not in str(error):
                raise
            reason = str(error).splitlines()[0][:200]
            raise TrainingError(f"the device failed: {reason}; the same command goes on from the last state") from None
        finally:
            self._batches.close()
        return progress

    def _train(self, pause_after: float | None, began: float, interrupted: threading.Event) -> None:
        progress, run, optimiser = self.progress, self._config.run, self._config.optimiser
        clock, pace = LegClock(progress, began), Pace(progress.samples)
        started = now = measured = saved = clock.tick()
        while progress.spent < 1.0 and not interrupted.is_set():
            if pause_after is not None and now - started >= pause_after:
                break
            leg_step = progress.step - progress.leg_began
            self._step(rate_share(leg_step, optimiser.warm_up, progress.spent, optimiser.decay_share), pace)
            is_due = self._status.is_due
            if is_due or len(self._pending) >= FETCH_EVERY:
                with pace.waiting(DEVICE):
                    self._fetch()
            if is_due:
                speed = self._show(pace)
                clock.reserve(0.0 if self._yardstick is None else self._yardstick.count / max(speed, 1e-3))
            now = clock.tick()
            if progress.spent >= 1.0:  # the leg's end measures and saves
                break
            if now - measured >= run.measure_every * 60:
                measured = now
                self._fetch()
                self._report(self._measure())
                clock.longest_measure = max(clock.longest_measure, clock.tick() - now)
            if now - saved >= run.save_every * 60 or (is_due and not self._saves):  # once soon: how long does it take?
                saved = now
                self._fetch()
                self._try_to_save()
                clock.longest_save = max(clock.longest_save, clock.tick() - now)
        self._fetch()
        if progress.spent >= 1.0:
            self._finish_leg()
        else:
            self._save()
            self._status.note(f"saved at step {progress.step:,}; the same command goes on from here")

    def _step(self, share: float, pace: Pace) -> None:
        """Learn from the next batch, at this share of the learning rate. One that does not fit into the device's memory
        is left out, and the next ones are half as large."""
        progress, has_room = self.progress, True
        try:
            with pace.waiting(POSITIONS):
                batch = self._next_batch()
            self.learner.step(batch, share)
            self._pending.append((batch.source, self.learner.losses))
            self._repeat(share)
        except torch.cuda.OutOfMemoryError:
            has_room = False  # nothing more here, where the error keeps tensors alive
        if not has_room:
            self._halve_batches()
            return
        progress.step += 1
        progress.samples += batch.learned
        progress.records_drawn = self._batches.records_drawn

    def _repeat(self, share: float) -> None:
        """Learn from batches again that were labelled before, as often as the configuration says."""
        for _ in range(self._config.data.repeats - 1):
            count = self.learner.step_again(share)
            if not count:
                return
            self.progress.samples += count
            self._pending.append((AGAIN, self.learner.losses))

    def _next_batch(self) -> Batch:
        try:
            return self._batches.next(self.progress.step)
        except TrainingError:  # a damaged sample file, say
            self._fetch()
            self._save()
            raise

    def _open_batches(self) -> BatchLoader:
        labeller, progress = self.learner.labeller, self.progress
        return BatchLoader(
            labeller.config,
            pass_alive_under_suicide=labeller.origin.pass_alive_under_suicide,
            has_teacher=labeller.teacher is not None,
            pinned=labeller.device.type == "cuda",
            records_drawn=progress.records_drawn,
            first_step=progress.step,
        )

    def _halve_batches(self) -> None:
        self._batches.close()
        size = self.learner.halve_batches()
        if size < SMALLEST_BATCH:
            raise TrainingError("the device's memory is full: a smaller network needs less of it")
        self._status.note(f"the device's memory is full: batches have {size} positions from now on")
        self._batches = self._open_batches()

    def _finish_leg(self) -> None:
        """End a leg: measure and write the network, which the next leg begins with. Raises TrainingError where nothing
        was learned in the leg: it does not count then, and no network is written."""
        progress = self.progress
        if progress.step == progress.leg_began:
            budget, progress.leg_budget = progress.leg_budget, 0.0
            self._save()
            raise TrainingError(f"nothing was learned: the start took the whole budget of {budget:,.3g} s")
        self._save()
        measures = self._measure()
        self.write_network(measures, progress.legs + 1)
        self._report(measures)
        ended = replace(progress, leg_budget=0.0, leg_spent=0.0, legs=progress.legs + 1)
        weights = self.learner.average.network.state_dict()
        save_checkpoint(self._folder / CHECKPOINT, Checkpoint(weights, None, None, ended))

    def write_network(self, measures: tuple[Measure, Measure] | None = None, leg: int | None = None) -> None:
        """Write the average of the weights as they are now to the run's student.bin.gz, and keep it as that of `leg`.
        Raises TrainingError."""
        self._keep_files()
        trained = describe_network(self.learner.average.network, self._config, self.progress)
        write_trained_network(self._folder, trained, measures, leg)

    def _origin(self) -> Origin:
        """Return the origin of the labels that the configuration names."""
        origin = self.learner.labeller.origin
        for source in self._config.data.samples:
            origin = origin.joined_with(read_origin(Path(source)))
        return origin

    def _measure(self) -> tuple[Measure, Measure] | None:
        if self._yardstick is None:
            return None
        # The smaller boards have many shapes, and trying out algorithms for each would take longer than they do.
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
            return self._yardstick.measure(evaluate_with(self.learner.average.network))

    def _report(self, measures: tuple[Measure, Measure] | None) -> None:
        progress = self.progress
        facts = {"time": round(time.time()), "leg": progress.legs + 1, "spent": round(progress.spent, 4)}
        facts |= {"step": progress.step, "samples": progress.samples}
        self._log.write(facts, measures)
        self._log.plot()
        if measures is not None:
            reached = f"{self._shape}, step {progress.step:,} "
            for board, measure in zip(("19x19", "small"), measures, strict=True):
                self._status.note(f"{reached} {board} {measure.line()}")

    def _fetch(self) -> None:
        """Wait until the device has done all steps, and read their losses. Raises TrainingError where one is no
        number."""
        for source, losses in self._pending:
            names = list(losses)
            values = torch.stack([losses[name].float() for name in names]).tolist()
            self._log.add(source, dict(zip(names, values, strict=True)))
            if not all(map(math.isfinite, values)):
                raise TrainingError(
                    f"{self._folder}: the loss is no longer a number at step {self.progress.step}; the last checkpoint "
                    "is kept: lower optimiser.rate and go on from it"
                )
        self._pending.clear()

    def _show(self, pace: Pace) -> float:
        """Show how training goes; return the positions learned from a second."""
        progress, means = self.progress, self._log.means()
        speed, speeds = pace.speeds(self._batches.made, progress.samples, self.learner.labeller.copying)
        parts = "  ".join(f"{part} {means[part]:.3f}" for part in SHOWN if part in means)
        self._status.show(
            f"step {progress.step:,}  {progress.samples:,} positions  {speeds}  {parts}  "
            f"{progress.spent:.0%} of the leg  saved {self._saves}x"
        )
        return speed

    def _announce(self) -> None:
        student, progress = self.learner.student, self.progress
        self._status.note(
            f"{self._shape}: {student.parameter_count:,} parameters, "
            f"{student.model.trunk.work.multiplications(361) / 1e9:.2f} GMAC on 19x19, on {self.learner.device}; "
            f"step {progress.step:,}, {progress.leg_budget - progress.leg_spent:,.0f} s left of leg {progress.legs + 1}"
        )

    def _keep_files(self) -> None:
        for name, content in self._unwritten.items():
            write_whole(self._folder / name, content)
        self._unwritten = {}

    def _save(self) -> None:
        self._keep_files()
        learner = self.learner
        weights, average = learner.student.state_dict(), learner.average.state_dict()
        state = Checkpoint(weights, average, learner.optimisers.state_dict(), self.progress)
        save_checkpoint(self._folder / CHECKPOINT, state)
        self._saves += 1

    def _try_to_save(self) -> None:
        """Save; where that fails, because the disk is full for example, say so and go on: it may work next time."""
        try:
            self._save()
        except TrainingError as error:
            self._status.note(str(error))

    def _restore(self, learned: Progress) -> Progress:
        path, learner = self._folder / CHECKPOINT, self.learner
        if not path.exists():
            return learned
        checkpoint = load_checkpoint(path, learner.device)
        try:
            learner.student.load_state_dict(checkpoint.weights)
            learner.average.load_state_dict(checkpoint.average or {"weights": checkpoint.weights, "updates": 0})
            if checkpoint.optimiser is not None:
                learner.optimisers.load_state_dict(checkpoint.optimiser)
        except (RuntimeError, ValueError, KeyError) as error:
            reason = str(error).splitlines()[:2][-1].strip()  # PyTorch's first line is a heading, if there are more
            raise TrainingError(
                f"{path}: not of this network and optimiser ({reason[:150]}); --from its {STUDENT} begins another run"
            ) from None
        return checkpoint.progress


def open_run(
    folder: Path, config: TrainingConfig, template: Path | None = None, begun: tuple[Model, Path] | None = None
) -> Run:
    """Open a run's folder, or create it with `config`. `template` is the TOML file that this was read from, which a new
    folder keeps as it is. `begun` is a network that a new run begins with, and the file that it comes from; without it
    that is the network in the folder, or one of random weights. Raises TrainingError."""
    files = {}
    if not (folder / CONFIG).exists():
        files[CONFIG] = describe(config).encode() if template is None else template.read_bytes()
    start = start_of(folder)
    if begun is None and start is not None:
        begun = read_student(start), start
    make_folder(folder)
    if begun is None:
        return Run(folder, config, files, None, Progress())
    model, source = begun
    learned = progress_of(model, source)
    if source != folder / START:
        files[START] = encode_model(model)
        if card_beside(source).exists():
            files[START_CARD] = card_beside(source).read_bytes()
    return Run(folder, config, files, model, learned)
