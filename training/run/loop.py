"""A training run: a folder (folder.py) that is trained in legs, each with a wall-clock budget, and goes on wherever
it stopped.

A leg is training at the full rate, then the decay of the rate to zero, which is what makes a network good: the decayed
network is the product, and the next leg goes on from it (Wen et al., "Understanding warmup-stable-decay learning rates:
a river valley loss landscape perspective", 2024).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import torch

from nets.katago.model import Model
from training.config import NetworkConfig, TrainingConfig, describe, read_config
from training.errors import TrainingError
from training.files import make_folder, write_whole
from training.positions.feed import Feed
from training.run.checkpoint import (
    Checkpoint,
    Progress,
    copy_checkpoint,
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from training.run.folder import CHECKPOINT, CONFIG, LEG
from training.run.interruption import interruptible
from training.run.product import product_of, write_product
from training.run.progress import Reporter
from training.run.yardstick import Measure, Yardstick, load_yardstick
from training.samples.origin import Origin, read_origin
from training.student.distiller import Distiller
from training.student.evaluation import evaluate_with
from training.student.network import shape_name
from training.student.optimiser import rate_share
from training.student.restore import load_weights

FETCH_EVERY = 20
"""Steps between readings of the losses: each reading waits for the device."""


@dataclass(frozen=True)
class Stint:
    """How long this process is to train."""

    budget: float
    """Seconds of a new leg; a leg already begun keeps its own."""
    pause_after: float | None = None
    """Seconds after which this process saves and ends, in the middle of a leg; None: at the leg's end."""


class Run:
    """One run's folder and everything that trains it."""

    def __init__(self, folder: Path, config: TrainingConfig) -> None:
        """Raises TrainingError."""
        self._folder, self._config = folder, config
        self._distiller = Distiller(config)
        self._progress = self._restore()
        self._reporter = Reporter(folder)
        self._yardstick: Yardstick | None = None
        if config.run.yardstick:
            self._yardstick = load_yardstick(Path(config.run.yardstick))

    def train(self, stint: Stint) -> Progress:
        """Begin a leg, or go on with the one that was interrupted, and train until it ends or the stint does. Returns
        where the run stood then: a leg that ended is spent. Raises TrainingError."""
        progress = self._progress
        if progress.leg_budget <= 0:
            progress.leg_budget, progress.leg_spent, progress.leg_began = stint.budget, 0.0, progress.step
        progress.origin = progress.origin.and_also(self._origin())
        self._announce()
        feed = Feed(
            self._config,
            pass_alive_under_suicide=self._distiller.pass_alive_under_suicide,
            has_teacher=self._distiller.teacher is not None,
            pinned=self._distiller.device.type == "cuda",
            player=partial(self._distiller.play, student=self._distiller.student_policy),
            records_drawn=progress.records_drawn,
            first_step=progress.step,
        )
        try:
            with interruptible() as interrupted:
                self._train(feed, stint, interrupted)
        finally:
            feed.close()
        return progress

    def _train(self, feed: Feed, stint: Stint, interrupted: threading.Event) -> None:
        progress, run, optimiser = self._progress, self._config.run, self._config.optimiser
        started = last = saved = measured = time.monotonic()
        first_samples, revived = progress.samples, 0
        pending: list[tuple[str, dict[str, torch.Tensor]]] = []
        while progress.spent < 1.0 and not interrupted.is_set():
            if stint.pause_after is not None and last - started >= stint.pause_after:
                break
            leg_step = progress.step - progress.leg_began
            share = rate_share(leg_step, optimiser.warm_up, progress.spent, optimiser.decay_share)
            try:
                item = feed.next(progress.step)
            except TrainingError:  # a damaged sample file, say
                self._fetch(pending)
                self._save()
                raise
            try:
                pending.append((item.source, self._distiller.step(item, share)))
            except torch.cuda.OutOfMemoryError:
                raise TrainingError("the GPU's memory is full: a smaller run.batch needs less of it") from None
            progress.step += 1
            progress.samples += item.learned
            progress.records_drawn = feed.records_drawn
            if len(pending) >= FETCH_EVERY:
                self._fetch(pending)
                speed = (progress.samples - first_samples) / max(time.monotonic() - started, 1e-9)
                self._reporter.line(self._line(speed, share))
                if self._distiller.revived > revived:
                    self._reporter.note(f"{self._distiller.revived - revived} dead units begin anew")
                    revived = self._distiller.revived
            now = time.monotonic()
            progress.leg_spent += now - last
            last = now
            if now - measured >= run.measure_every * 60:
                measured = now
                self._fetch(pending)
                self._report(self._measure())
            if now - saved >= run.save_every * 60:
                saved = now
                self._fetch(pending)
                self._try_to_save()
        self._fetch(pending)
        if progress.spent >= 1.0:
            self._finish_leg()
        else:
            self._save()
            self._reporter.note(f"saved at step {progress.step:,}; the same command goes on from here")

    def _finish_leg(self) -> None:
        """The end of the decay: keep the state, measure and export the product, and prepare the next leg."""
        progress = self._progress
        self._save()
        copy_checkpoint(self._folder / CHECKPOINT, self._folder / f"{LEG}{progress.legs + 1}")
        measures = self._measure()
        write_product(self._folder, product_of(self._distiller.average.network, self._config, progress), measures)
        self._report(measures)
        begun = replace(progress, leg_budget=0.0, leg_spent=0.0, legs=progress.legs + 1)
        save_checkpoint(self._folder / CHECKPOINT, replace(self._checkpoint(), progress=begun))

    def begin_from(self, model: Model, learned: Progress) -> None:
        """Have a run that has not begun start with the weights of another's network, and with what that had `learned`.
        Raises TrainingError."""
        if has_checkpoint(self._folder / CHECKPOINT):
            raise TrainingError(f"{self._folder} has begun already; --from begins a new run")
        load_weights(self._distiller.student, model)
        load_weights(self._distiller.average.network, model)
        self._progress = learned
        self._save()  # or an interruption before the first checkpoint would begin from nothing

    def _origin(self) -> Origin:
        """Of the labels that the configuration has the run learn from."""
        teacher, data = self._distiller.teacher, self._config.data
        origin = Origin()
        if teacher is not None:
            origin = Origin((teacher.name,), teacher.has_optimistic, teacher.pass_alive_under_suicide)
        for folder in (*data.samples, *data.fresh):
            origin = origin.and_also(read_origin(Path(folder)))
        return origin

    def _measure(self) -> tuple[Measure, Measure] | None:
        if self._yardstick is None:
            return None
        # The smaller boards have many shapes, and trying out algorithms for each would take longer than they do.
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, allow_tf32=True):
            return self._yardstick.measure(evaluate_with(self._distiller.average.network))

    def _report(self, measures: tuple[Measure, Measure] | None) -> None:
        progress = self._progress
        facts = {
            "time": round(time.time()),
            "leg": progress.legs + 1,
            "spent": round(progress.spent, 4),
            "step": progress.step,
            "samples": progress.samples,
        }
        self._reporter.log(facts, measures)
        self._reporter.plot()
        if measures is not None:
            self._reporter.note(f"step {progress.step:,}  19x19 {measures[0].line()}")
            self._reporter.note(f"step {progress.step:,}  small {measures[1].line()}")

    def _fetch(self, pending: list[tuple[str, dict[str, torch.Tensor]]]) -> None:
        for source, losses in pending:
            names = list(losses)
            values = torch.stack([losses[name].float() for name in names]).tolist()
            self._reporter.add(source, dict(zip(names, values, strict=True)))
            if not all(value == value and abs(value) != float("inf") for value in values):
                raise TrainingError(
                    f"the loss is no longer a number at step {self._progress.step}; the last checkpoint is kept: "
                    "lower optimiser.rate and go on from it"
                )
        pending.clear()

    def _line(self, speed: float, share: float) -> str:
        progress, means = self._progress, self._reporter.means()
        parts = "  ".join(f"{part} {means[part]:.3f}" for part in ("policy", "value", "ownership", "score"))
        return (
            f"step {progress.step:,}  {progress.samples:,} positions  {speed:,.0f}/s  {parts}  "
            f"rate {share:.2f}  {100 * progress.spent:.0f} % of the leg"
        )

    def _announce(self) -> None:
        student, progress = self._distiller.student, self._progress
        self._reporter.note(
            f"{shape_name(self._config.network)}: {student.parameter_count:,} parameters, "
            f"{student.macs() / 1e9:.2f} GMAC on 19x19, on {self._distiller.device}; "
            f"step {progress.step:,}, {progress.leg_budget - progress.leg_spent:,.0f} s left of leg {progress.legs + 1}"
        )

    def _checkpoint(self) -> Checkpoint:
        distiller = self._distiller
        return Checkpoint(
            distiller.student.state_dict(),
            distiller.average.state_dict(),
            distiller.optimisers.state_dict(),
            self._progress,
        )

    def _save(self) -> None:
        save_checkpoint(self._folder / CHECKPOINT, self._checkpoint())

    def _try_to_save(self) -> None:
        """Save; where that fails, by a full disk say, tell and go on: the next time may do better."""
        try:
            self._save()
        except TrainingError as error:
            self._reporter.note(str(error))

    def _restore(self) -> Progress:
        folder = self._folder / CHECKPOINT
        if not has_checkpoint(folder):
            return Progress()
        checkpoint = load_checkpoint(folder, self._distiller.device)
        try:
            self._distiller.student.load_state_dict(checkpoint.weights)
            self._distiller.average.load_state_dict(checkpoint.average)
            self._distiller.optimisers.load_state_dict(checkpoint.optimiser)
        except (RuntimeError, ValueError, KeyError) as error:
            reason = str(error).splitlines()[0]
            raise TrainingError(f"{folder}: not of this network and optimiser: {reason[:150]}") from None
        return checkpoint.progress


def open_run(folder: Path, config: TrainingConfig | None, template: Path | None = None) -> Run:
    """Open a run's folder, or make it with `config` (None: the folder's own, or the defaults). Where `config` does not
    say what the network looks like, a run that has begun keeps its own. `template` is the TOML file that `config` was
    read from. Raises TrainingError."""
    make_folder(folder)
    own = folder / CONFIG
    if own.exists():
        kept = read_config(own)
        if config is None:
            config = kept
        elif config.network == NetworkConfig():
            config = msgspec.structs.replace(config, network=kept.network)
    else:
        config = config or TrainingConfig()
        write_whole(own, describe(config).encode() if template is None else template.read_bytes())
    return Run(folder, config)
