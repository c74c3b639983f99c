"""A training run: a folder that is trained in legs, each with a wall-clock budget, and goes on wherever it stopped.

    RUN/training.toml     the configuration it was started with
    RUN/checkpoint/       the present state
    RUN/stable/           the state before the last leg's decay: the next leg goes on from there
    RUN/student.bin.gz    the average of the weights as a KataGo file, which the engine opens
    RUN/student.json      where it comes from and how it measured
    RUN/leg1/, ...        the state at the end of each leg
    RUN/progress.jsonl    losses and yardstick figures; RUN/plots/ shows them

A leg is stable training at the full rate, then the decay of the rate to zero, which is what makes a network good and
ends its ability to learn on. So the decayed network is shipped, and the stable one is carried on.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import msgspec
import torch

from nets.katago.model import Model
from training.checkpoint import Checkpoint, Progress, copy_checkpoint, has_checkpoint, load_checkpoint, save_checkpoint
from training.config import TrainingConfig, describe, read_config
from training.distiller import Distiller
from training.errors import TrainingError
from training.evaluation import evaluate_with
from training.export import to_model
from training.feed import Feed
from training.files import make_folder, write_whole
from training.interruption import interruptible
from training.katago_file import write_katago
from training.network import shape_name
from training.progress import Reporter
from training.restore import load_weights
from training.sample_mix import know_optimistic
from training.schedule import is_decaying, rate_share
from training.yardstick import Measure, Yardstick, load_yardstick

CONFIG, CHECKPOINT, STABLE = "training.toml", "checkpoint", "stable"
STUDENT, CARD = "student.bin.gz", "student.json"

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
        """Begin a leg, or go on with the one that was interrupted, and train until it ends or the stint does.
        Raises TrainingError."""
        progress = self._progress
        if progress.leg_budget <= 0:
            progress.leg_budget, progress.leg_spent = stint.budget, 0.0
        self._announce()
        feed = Feed(
            self._config,
            pass_alive_under_suicide=self._distiller.pass_alive_under_suicide,
            has_teacher=self._distiller.teacher is not None,
            pinned=self._distiller.device.type == "cuda",
            player=partial(self._distiller.play, student=self._distiller.student_policy),
            records_drawn=progress.records_drawn,
        )
        try:
            with interruptible() as interrupted:
                self._train(feed, stint, interrupted)
        finally:
            feed.close()
        return progress

    def _train(self, feed: Feed, stint: Stint, interrupted: threading.Event) -> None:
        progress, run = self._progress, self._config.run
        decay_share = self._config.optimiser.decay_share
        started = last = saved = measured = time.monotonic()
        first_samples = progress.samples
        pending: list[tuple[str, dict[str, torch.Tensor]]] = []
        while progress.spent < 1.0 and not interrupted.is_set():
            if stint.pause_after is not None and last - started >= stint.pause_after:
                break
            share = rate_share(progress.step, self._config.optimiser.warm_up, progress.spent, decay_share)
            self._distiller.use_integers(is_decaying(progress.spent, self._config.optimiser.integers_share))
            item = feed.next(progress.step)
            pending.append((item.source, self._distiller.step(item, share)))
            progress.step += 1
            progress.samples += item.learned
            progress.records_drawn = feed.records_drawn
            if len(pending) >= FETCH_EVERY:
                self._fetch(pending)
                speed = (progress.samples - first_samples) / max(time.monotonic() - started, 1e-9)
                self._reporter.line(self._line(speed, share))
            was_decaying = is_decaying(progress.spent, decay_share)
            now = time.monotonic()
            progress.leg_spent += now - last
            last = now
            if is_decaying(progress.spent, decay_share) and not was_decaying:
                self._save()
                copy_checkpoint(self._folder / CHECKPOINT, self._folder / STABLE)
            if now - measured >= run.measure_every * 60:
                measured = now
                self._fetch(pending)
                self._report(self._measure())
            if now - saved >= run.save_every * 60:
                saved = now
                self._save()
        self._fetch(pending)
        if progress.spent >= 1.0:
            self._finish_leg()
        else:
            self._save()
            self._reporter.note(f"saved at step {progress.step:,}; the same command goes on from here")

    def _finish_leg(self) -> None:
        """The end of the decay: measure and export the product, and have the next leg start from the stable state."""
        measures = self._measure()
        self._report(measures)
        self.write_student(measures)
        progress = self._progress
        decayed = self._folder / f"leg{progress.legs + 1}"
        self._save()
        copy_checkpoint(self._folder / CHECKPOINT, decayed)
        stable = self._folder / STABLE
        if has_checkpoint(stable):
            kept = load_checkpoint(stable, torch.device("cpu"))
            kept.progress.leg_budget, kept.progress.leg_spent = 0.0, 0.0
            kept.progress.legs = progress.legs + 1
            save_checkpoint(self._folder / CHECKPOINT, kept)
        else:
            progress.leg_budget, progress.leg_spent, progress.legs = 0.0, 0.0, progress.legs + 1
            self._save()

    def student_model(self) -> Model:
        """The averaged weights."""
        return to_model(
            self._distiller.average.network,
            f"nobi-{shape_name(self._config.network)}-s{self._progress.samples}",
            has_optimistic=self._config.loss.optimistic > 0 and self._learned_optimistic(),
            pass_alive_under_suicide=self._distiller.pass_alive_under_suicide,
        )

    def begin_from(self, model: Model) -> None:
        """Have a run that has not begun start with the weights of another's network. Raises TrainingError."""
        if has_checkpoint(self._folder / CHECKPOINT):
            raise TrainingError(f"{self._folder} has begun already; --from begins a new run")
        load_weights(self._distiller.student, model)
        load_weights(self._distiller.average.network, model)
        self._save()  # or an interruption before the first checkpoint would begin from nothing

    def _learned_optimistic(self) -> bool:
        """Whether the labels have an optimistic policy: the teacher's, or those of the sample files."""
        teacher = self._distiller.teacher
        return (teacher is not None and teacher.has_optimistic) or know_optimistic(self._config.data.samples)

    def write_student(self, measures: tuple[Measure, Measure] | None) -> None:
        """Write the averaged weights and where they come from. Raises TrainingError."""
        model, teacher = self.student_model(), self._distiller.teacher
        card = {
            "name": model.name,
            "shape": msgspec.to_builtins(self._config.network),
            "parameters": self._distiller.student.parameter_count,
            "positions": self._progress.samples,
            "steps": self._progress.step,
            "teacher": None if teacher is None else teacher.name,
        }
        if measures is not None:
            card["yardstick"] = {"19x19": asdict(measures[0]), "smaller": asdict(measures[1])}
        write_katago(model, self._folder / STUDENT)
        write_whole(self._folder / CARD, json.dumps(card, indent=1).encode() + b"\n")

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

    def _save(self) -> None:
        learner, distiller = self._distiller.learner, self._distiller
        save_checkpoint(
            self._folder / CHECKPOINT,
            Checkpoint(
                learner.state_dict(), distiller.average.state_dict(), distiller.optimisers.state_dict(), self._progress
            ),
        )

    def _restore(self) -> Progress:
        folder = self._folder / CHECKPOINT
        if not has_checkpoint(folder):
            return Progress()
        checkpoint = load_checkpoint(folder, self._distiller.device)
        try:
            self._distiller.learner.load_state_dict(checkpoint.weights)
            self._distiller.average.load_state_dict(checkpoint.average)
            self._distiller.optimisers.load_state_dict(checkpoint.optimiser)
        except (RuntimeError, ValueError, KeyError) as error:
            reason = str(error).splitlines()[0]
            raise TrainingError(f"{folder}: not of this network and optimiser: {reason[:150]}") from None
        return checkpoint.progress


def open_run(folder: Path, config: TrainingConfig | None, template: Path | None = None) -> Run:
    """Open a run's folder, or make it with `config` (None: the folder's own, or the defaults). `template` is the TOML
    file that `config` was read from. Raises TrainingError."""
    make_folder(folder)
    own = folder / CONFIG
    if config is None:
        config = read_config(own) if own.exists() else TrainingConfig()
    if not own.exists():
        write_whole(own, describe(config).encode() if template is None else template.read_bytes())
    return Run(folder, config)
