"""The fixed yardstick: how well a network predicts 1,024 rows of KataGo's self-play that nothing is trained on.

Rows are KataGo's training format (https://github.com/lightvector/KataGo/blob/master/python/README.md): features V7 of a
19×19 tensor and targets. The full 19×19 boards and the smaller ones are measured apart. Sample files that nothing was
trained on can be measured with as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import GLOBAL_FEATURES, LEAD, LOSS, SPATIAL_PLANES, WIN, Evaluation, EvaluationRequest, Evaluator
from training.errors import TrainingError
from training.files import read_arrays
from training.positions.canvas import board_cells
from training.samples.sample_files import read_samples, sample_files
from training.samples.samples import (
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    unpack_planes,
    unpack_probabilities,
)

CANVAS = 19
POINTS = CANVAS * CANVAS

TARGET_LEAD = 21
VALUE_BEFORE_WIN, VALUE_BEFORE_LOSS = 12, 13
"""Columns of globalTargetsNC: the value a few turns on, less noisy than the result."""
POLICY_WEIGHT, OWNERSHIP_WEIGHT, LEAD_WEIGHT = 26, 27, 29

ARRAYS = ("binaryInputNCHWPacked", "globalInputNC", "policyTargetsNCMove", "globalTargetsNC", "valueTargetsNCHW")

EvaluateFunction = Callable[[NDArray[np.float32], NDArray[np.float32]], Evaluation]


@dataclass(frozen=True)
class Rows:
    """Rows of one board size, W×H points."""

    spatial: NDArray[np.float32]
    """[N, 22, H, W]"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    policy: NDArray[np.float64]
    """[N, H*W + 1] shares of the visits; zero rows where unknown"""
    value: NDArray[np.float32]
    """[N] win minus loss, the side to move's view here and below"""
    lead: NDArray[np.float32]
    """[N] points"""
    ownership: NDArray[np.float32]
    """[N, H*W] in [-1, 1]"""
    weights: NDArray[np.float64]
    """[N, 3] of policy, lead and ownership"""

    def part(self, chosen: slice | NDArray[np.int64]) -> Rows:
        """Return the rows that `chosen` selects."""
        return Rows(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


@dataclass(frozen=True)
class Measure:
    """A network's figures on a set of rows."""

    rows: int
    policy_cross_entropy: float
    """nats; logits unmasked"""
    top1: float
    value_mse: float
    """of win minus loss"""
    lead_mae: float
    """points"""
    ownership_mse: float

    def line(self) -> str:
        """One line of text."""
        return (
            f"{self.rows} rows: policy {self.policy_cross_entropy:.3f}  top-1 {self.top1:.3f}  "
            f"value {self.value_mse:.3f}  lead {self.lead_mae:.2f}  ownership {self.ownership_mse:.3f}"
        )


@dataclass(frozen=True)
class Yardstick:
    """The rows, grouped by board size."""

    full: Rows
    small: tuple[Rows, ...]

    def measure(self, evaluate: EvaluateFunction, batch: int = 64) -> tuple[Measure, Measure]:
        """Figures on the 19×19 rows and on all smaller boards together."""
        return measure_rows([self.full], evaluate, batch), measure_rows(self.small, evaluate, batch)


def load_yardstick(path: Path) -> Yardstick:
    """Read kata-rows-1024.npz, or another file of KataGo's training rows. Raises TrainingError."""
    packed, globals_, visits, targets, owners = read_arrays(path, ARRAYS, "a file of KataGo training rows")

    def fits(array: NDArray[Any], dimensions: int, *last: int) -> bool:
        return array.ndim == dimensions and len(array) == len(packed) and array.shape[dimensions - len(last) :] == last

    if not (
        fits(packed, 3, SPATIAL_PLANES, (POINTS + 7) // 8)
        and fits(globals_, 2, GLOBAL_FEATURES)
        and fits(visits, 3, POINTS + 1)
        and fits(targets, 2)
        and targets.shape[1] > LEAD_WEIGHT
        and fits(owners, 4, CANVAS, CANVAS)
    ):
        raise TrainingError(f"{path}: its training rows are not of 19x19 tensors")
    globals_, targets = globals_.astype(np.float32), targets.astype(np.float32)
    visits, owners = visits[:, 0].astype(np.float64), owners[:, 0].astype(np.float32)
    spatial = (
        np.unpackbits(packed, axis=2)[:, :, :POINTS].reshape(-1, SPATIAL_PLANES, CANVAS, CANVAS).astype(np.float32)
    )
    groups = []
    sizes = np.stack([spatial[:, 0].any(axis=2).sum(axis=1), spatial[:, 0].any(axis=1).sum(axis=1)], axis=1)
    for height, width in sorted({(int(h), int(w)) for h, w in sizes}):
        chosen = np.flatnonzero((sizes == (height, width)).all(axis=1))
        points = (np.arange(height)[:, None] * CANVAS + np.arange(width)).ravel()
        policy = visits[chosen][:, [*points, POINTS]]
        total = policy.sum(axis=1, keepdims=True)
        groups.append(
            Rows(
                np.ascontiguousarray(spatial[chosen, :, :height, :width]),
                globals_[chosen],
                np.divide(policy, total, out=np.zeros_like(policy), where=total > 0),
                targets[chosen, VALUE_BEFORE_WIN] - targets[chosen, VALUE_BEFORE_LOSS],
                targets[chosen, TARGET_LEAD],
                owners[chosen].reshape(-1, POINTS)[:, points],
                targets[chosen][:, [POLICY_WEIGHT, LEAD_WEIGHT, OWNERSHIP_WEIGHT]].astype(np.float64),
            )
        )
    full = [rows for rows in groups if rows.spatial.shape[2:] == (CANVAS, CANVAS)]
    if not full:
        raise TrainingError(f"{path}: it has no rows of full 19x19 boards")
    return Yardstick(full[0], tuple(rows for rows in groups if rows is not full[0]))


def rows_of_samples(folder: Path, full: bool) -> Iterator[Rows]:
    """What the sample files in `folder` say of 19×19 boards, or of smaller ones, a file at a time. Raises
    TrainingError."""
    paths = sample_files(folder)
    if not paths:
        raise TrainingError(f"{folder}: there are no sample files in it")
    for path in paths:
        samples = read_samples(path)
        canvas = samples.canvas
        spatial = unpack_planes(samples.planes, canvas)
        sides = spatial[:, 0, :, 0].sum(axis=1)
        for side in sorted({int(side) for side in sides if (side == CANVAS) == full}):
            chosen = np.flatnonzero((sides == side) & (samples.known & HAS_VALUE != 0))
            points = board_cells(side, canvas)
            known = [samples.known[chosen] & bit != 0 for bit in (HAS_POLICY, HAS_SCORE, HAS_OWNERSHIP)]
            yield Rows(
                spatial[chosen, :, :side, :side].astype(np.float32),
                samples.global_[chosen],
                unpack_probabilities(samples.policy[chosen])[:, [*points, canvas * canvas]].astype(np.float64),
                samples.value[chosen, WIN] - samples.value[chosen, LOSS],
                samples.score[chosen, LEAD],
                samples.ownership[chosen][:, points].astype(np.float32) / 127.0,
                np.stack(known, axis=1).astype(np.float64),
            )


def evaluate_function(evaluator: Evaluator) -> EvaluateFunction:
    """A function that evaluates boards [N, 22, H, W] and numbers [N, 19] with the evaluator, without optimism."""

    def evaluate(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        return evaluator.evaluate(EvaluationRequest(spatial, global_, np.zeros(len(spatial), np.float32)))

    return evaluate


def measure_rows(groups: Iterable[Rows], evaluate: EvaluateFunction, batch: int = 64) -> Measure:
    """Figures over all the groups, each of one board size."""
    sums = np.zeros(5)
    weights = np.zeros(5)
    count = 0
    for rows in groups:
        for first in range(0, len(rows.spatial), batch):
            part = rows.part(slice(first, first + batch))
            errors, weight = _errors(part, evaluate(part.spatial, part.global_))
            sums += (errors * weight).sum(axis=1)
            weights += weight.sum(axis=1)
            count += len(part.spatial)
    cross_entropy, top1, value, lead, ownership = sums / np.maximum(weights, 1e-9)
    return Measure(count, float(cross_entropy), float(top1), float(value), float(lead), float(ownership))


def _errors(rows: Rows, evaluation: Evaluation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[5, N] errors in the order of Measure's fields, and their weights."""
    logits = evaluation.policy.astype(np.float64)
    highest = logits.max(axis=1, keepdims=True)
    log_policy = logits - highest - np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
    value = evaluation.value[:, WIN] - evaluation.value[:, LOSS]
    errors = np.stack(
        [
            -(rows.policy * log_policy).sum(axis=1),
            rows.policy.argmax(axis=1) == logits.argmax(axis=1),
            (value - rows.value) ** 2,
            np.abs(evaluation.score[:, LEAD] - rows.lead),
            ((evaluation.ownership - rows.ownership) ** 2).mean(axis=1),
        ]
    ).astype(np.float64)
    policy, lead, ownership = rows.weights.T
    return errors, np.stack([policy, policy, np.ones(len(policy)), lead, ownership])
