"""Legs of equal budget: kinds of students learn from the same samples for the same processor time, and are compared.

    nobi label SAMPLES --config label.toml ...      (and HELD, of other games)
    python -m tests.campaigns.legs FOLDER --samples SAMPLES --held HELD --rows kata-rows-1024.npz --judge NET.bin.gz \\
        [--from FILE] [--seconds 180] [--seeds 3] [--pairs 20] [--only relu silu ...] [--nice 19] \\
        [-s optimiser.rate=0.002 ...]

With --from all legs begin with a network's weights, grown to their shapes. A variant's leg with one seed is a folder in
FOLDER; one that is there is not made again, so the command can be stopped and given again. The budget is processor
time, in which other work on the machine changes what is done by a tenth or two; with --steps 2000 it is steps. At the
end the networks are opened in int16, timed in turns, and play without a search against the first variant of the same
seed, judged by the teacher. Prints a table in Markdown. Exits with 1 if a leg failed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator
from nets.katago.writer import encode_model
from nets.open import open_network
from tests.campaigns.policy_match import play_policies
from tests.campaigns.stopping import until_stopped
from training.config import TrainingConfig, override
from training.files import read_network
from training.run.measure import Rows, measure_rows
from training.run.yardstick import load_yardstick, rows_of_samples
from training.samples.origin import read_origin
from training.student.distiller import Distiller
from training.student.dormant_units import DormantUnitReset
from training.student.evaluation import evaluate_with
from training.student.export import to_model
from training.student.growth import grow
from training.student.network import Student
from training.student.optimiser import Optimisers, rate_share
from training.student.restore import restore

SHAPE = ("network.blocks=6",)
"""Of students that begin with random weights."""
BASE = (
    "run.batch=64", "run.device=cpu", "run.threads=1", "data.records_share=0", "data.play_share=0",
    "data.samples_share=1", "optimiser.rate=0.003", "optimiser.warm_up=40", "optimiser.decay_share=0.6",
    "optimiser.average=0.99",
)  # fmt: skip
WIDE_HEADS = ("network.policy_channels=64", "network.value_channels=64", "network.value_hidden=128")
VARIANTS: dict[str, tuple[str, ...]] = {
    "relu": (),
    "batch-norm": ("network.norm=batch",),
    "fixed-norm": ("network.norm=fixed",),
    "silu": ("network.activation=silu",),
    "batch-norm-silu": ("network.norm=batch", "network.activation=silu"),
    "nested": ("network.blocks=5", "network.channels=96", "network.bottleneck=48"),
    "attention": ("network.blocks=5", "network.attention_every=5"),
    "b8c96": ("network.blocks=8", "network.channels=96"),
    "b10c64": ("network.blocks=10",),
    "b8c64": ("network.blocks=8",),
    "c96": ("network.channels=96",),
    "wide-heads": WIDE_HEADS,
    "equivariant": ("network.equivariant=true", *WIDE_HEADS),
}
"""What each variant changes; the first is what the others play against."""

HELD = 400
"""Positions kept apart that each network is measured on, of 19×19 and of smaller boards."""
BLUNDER = 0.01
"""A first move to which the teacher gives less is a blunder."""
DEAD_POSITIONS = 256
MATCH_MOVES = 240
TIMED_BATCH = 8


class Leg:
    """One variant with one seed: its folder, and what was measured."""

    def __init__(self, folder: Path, variant: str, seed: int) -> None:
        self.variant, self.seed = variant, seed
        self.folder = folder / f"{variant}-{seed}"
        self.network = self.folder / "student.bin.gz"
        self.facts: dict[str, Any] = self._read("leg.json")
        self.match: dict[str, Any] = self._read("match.json")

    def write(self, name: str, facts: dict[str, Any]) -> None:
        """Keep some facts in the leg's folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(json.dumps(facts, indent=1))

    def _read(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else {}


def train(
    config: TrainingConfig, begun: Student | None, seconds: float, steps: int | None
) -> tuple[Student, dict[str, Any]]:
    """Train a student for so much processor time, or for so many steps. Return the average of its weights, and the
    leg's facts. It grows out of `begun`, or begins with random weights."""
    distiller = Distiller(config)
    if begun is not None:
        distiller.begin_with(grow(begun, config.network))
    batches = distiller.batches(0, 0)
    optimiser, began, step, positions = config.optimiser, time.process_time(), 0, 0

    def spent_share() -> float:
        return step / steps if steps else (time.process_time() - began) / seconds

    try:
        while (spent := spent_share()) < 1.0:
            batch = batches.next(step)
            distiller.step(batch, rate_share(step, optimiser.warm_up, spent, optimiser.decay_share))
            if not torch.isfinite(distiller.losses["total"]):
                raise ArithmeticError(f"the loss is no longer a number at step {step}")
            step += 1
            positions += batch.learned
    finally:
        batches.close()
    student = distiller.average.network
    facts = {"steps": step, "positions": positions, "parameters": student.parameter_count}
    return student, {**facts, "seconds": time.process_time() - began, "units_reset": distiller.units_reset}


def first(groups: Sequence[Rows], count: int) -> list[Rows]:
    """Return the first `count` rows of some groups."""
    chosen = []
    for rows in groups:
        chosen.append(rows.part(slice(0, count)))
        count -= len(chosen[-1].value)
        if count <= 0:
            break
    return chosen


def measures(student: Student, held: Path, yardstick_file: Path) -> dict[str, float]:
    """Measure a student on positions kept apart and on the yardstick."""
    evaluate = evaluate_with(student.eval())
    large = first(list(rows_of_samples(held, full=True)), HELD)
    small = first(list(rows_of_samples(held, full=False)), HELD)
    first_moves: list[int] = []

    def noting(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        evaluation = evaluate(spatial, global_)
        first_moves.extend(evaluation.policy.argmax(axis=1).tolist())
        return evaluation

    on_large = measure_rows(large, noting)
    labels = np.concatenate([rows.policy for rows in large])
    likelihoods = labels[np.arange(len(labels)), first_moves]
    on_small = measure_rows(small, evaluate)
    yardstick, yardstick_small = load_yardstick(yardstick_file).measure(evaluate)
    return {
        "policy": on_large.policy_cross_entropy,
        "value": on_large.value_mse,
        "ownership": on_large.ownership_mse,
        "blunders": float((likelihoods < BLUNDER).mean()),
        "small_policy": on_small.policy_cross_entropy,
        "small_value": on_small.value_mse,
        "yardstick_policy": yardstick.policy_cross_entropy,
        "yardstick_value": yardstick.value_mse,
        "yardstick_small_policy": yardstick_small.policy_cross_entropy,
        "dead": dead_share(student, large),
    }


def dead_share(student: Student, groups: Sequence[Rows]) -> float:
    """Return the share of the units that are never above zero on some positions."""
    looker = DormantUnitReset(student, student, Optimisers(student, TrainingConfig().optimiser))
    for rows in groups:
        for start in range(0, min(len(rows.value), DEAD_POSITIONS), 64):
            part = rows.part(slice(start, start + 64))
            looker.look(torch.from_numpy(part.spatial), torch.from_numpy(part.global_), True)
    highest = [each for each in looker.highest if each is not None]
    return sum(int((each <= 0).sum()) for each in highest) / sum(len(each) for each in highest)


def evaluations_per_second(networks: dict[str, Evaluator], rows: Rows, rounds: int) -> dict[str, float]:
    """Time networks in turns on 19×19. Return evaluations a second of processor time, medians of the rounds."""
    part = rows.part(slice(0, TIMED_BATCH))
    request = EvaluationRequest(part.spatial, part.global_)
    found: dict[str, list[float]] = {name: [] for name in networks}
    for _ in range(rounds + 1):
        for name, network in networks.items():
            began = time.process_time()
            network.evaluate(request)
            found[name].append(TIMED_BATCH / max(time.process_time() - began, 1e-9))
    return {name: statistics.median(values[1:]) for name, values in found.items()}


def run_leg(leg: Leg, options: argparse.Namespace) -> None:
    """Train and measure one variant with one seed, and write its network."""
    settings = (*BASE, f"run.seed={leg.seed}", f'data.samples=["{options.samples}"]')
    begun = None if options.source is None else restore(read_network(options.source))
    default = override(TrainingConfig(), SHAPE) if begun is None else TrainingConfig(network=begun.config)
    config = override(default, (*settings, *options.set, *VARIANTS[leg.variant]))
    student, facts = train(config, begun, options.seconds, options.steps)
    origin = read_origin(options.samples)
    model = to_model(student, f"{leg.variant}-{leg.seed}", origin.has_optimistic, origin.pass_alive_under_suicide)
    leg.folder.mkdir(parents=True, exist_ok=True)
    leg.network.write_bytes(encode_model(model))
    leg.facts = facts | measures(student, options.held, options.rows)
    leg.write("leg.json", leg.facts)
    print(f"{leg.variant}, seed {leg.seed}: {summary(leg)}", flush=True)


def play_legs(legs: list[Leg], options: argparse.Namespace) -> dict[str, float]:
    """Let each network play against the first variant's of the same seed, and time one network of each variant. Return
    the evaluations a second."""
    held = next(rows_of_samples(options.held, full=True))
    opened = {leg.folder.name: open_network(leg.network, precision="int16") for leg in legs}
    judge = open_network(options.judge) if options.pairs else None
    reference = {leg.seed: leg for leg in legs if leg.variant == next(iter(VARIANTS))}
    for leg in legs:
        against = reference.get(leg.seed)
        if judge is None or against is None or leg is against or leg.match.get("games", 0) >= 2 * options.pairs:
            continue
        mine, theirs = opened[leg.folder.name], opened[against.folder.name]
        share = play_policies(mine, theirs, judge, options.pairs, MATCH_MOVES, leg.seed)
        leg.match = {"games": 2 * options.pairs, "share": share}
        leg.write("match.json", leg.match)
        print(f"{leg.variant}, seed {leg.seed}: won {share:.0%} of {2 * options.pairs} games", flush=True)
    seen: dict[str, Evaluator] = {}
    for leg in legs:
        seen.setdefault(leg.variant, opened[leg.folder.name])
    return evaluations_per_second(seen, held, options.rounds)


COLUMNS: dict[str, Callable[[dict[str, Any]], float]] = {
    "positions": lambda facts: facts["positions"],
    "a second": lambda facts: facts["positions"] / facts["seconds"],
    "19×19: policy": lambda facts: facts["policy"],
    "value": lambda facts: facts["value"],
    "ownership": lambda facts: facts["ownership"],
    "first moves < 1 %": lambda facts: facts["blunders"],
    "smaller: policy": lambda facts: facts["small_policy"],
    "yardstick: policy": lambda facts: facts["yardstick_policy"],
    "yardstick: value": lambda facts: facts["yardstick_value"],
    "dead units": lambda facts: facts["dead"],
}


def summary(leg: Leg) -> str:
    """Return a leg's facts in one line."""
    return "  ".join(f"{name} {take(leg.facts):,.3f}" for name, take in COLUMNS.items())


def table(legs: list[Leg], speeds: dict[str, float]) -> str:
    """Return all variants as a table in Markdown: means of the seeds ± their standard deviations."""
    heads = ["variant", "seeds", *COLUMNS, "evaluations/s", "won"]
    lines = [heads, ["---"] * len(heads)]
    for variant in VARIANTS:
        mine = [leg for leg in legs if leg.variant == variant]
        if not mine:
            continue
        figures = [spread([take(leg.facts) for leg in mine]) for take in COLUMNS.values()]
        games = sum(leg.match.get("games", 0) for leg in mine)
        won = sum(leg.match["share"] * leg.match["games"] for leg in mine if leg.match)
        speed = f"{speeds[variant]:,.0f}" if variant in speeds else "–"
        lines.append([variant, str(len(mine)), *figures, speed, f"{won:.0f} of {games}" if games else "–"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: list[float]) -> str:
    """Return the mean and, of several values, their standard deviation."""
    digits = 0 if min(values) > 100 else 3
    mean = f"{statistics.mean(values):,.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):,.{digits}f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name in ("samples", "held", "rows", "judge"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--from", dest="source", type=Path, help="a network to begin with, grown to each shape")
    parser.add_argument("--seconds", type=float, default=180.0, help="of processor time, a leg")
    parser.add_argument("--steps", type=int, help="the budget of a leg in place of time")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=20, help="of games against the first variant; 0: none")
    parser.add_argument("--rounds", type=int, default=20, help="in which the networks are timed")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--nice", type=int, default=19, help="priority; at 19 every other work goes first")
    parser.add_argument("-s", "--set", action="append", default=[], help="a setting for all variants")
    options = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(options.nice)
    torch.set_num_threads(1)
    failures, legs = 0, []
    with until_stopped():
        for seed in range(1, options.seeds + 1):
            for variant in options.only:
                leg = Leg(options.folder, variant, seed)
                try:
                    if not leg.facts:
                        run_leg(leg, options)
                    legs.append(leg)
                except Exception:
                    failures += 1
                    print(f"{variant}, seed {seed} failed:\n{traceback.format_exc()}", file=sys.stderr)
    speeds: dict[str, float] = {}
    with until_stopped():
        speeds = play_legs(legs, options)
    print(table(legs, speeds))
    print(f"{len(legs)} legs, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
