"""Measuring networks on positions whose evaluation is known. The yardstick is 1,024 rows of KataGo's self-play, on
which nothing is trained.

Rows are in KataGo's training format (https://github.com/lightvector/KataGo/blob/master/python/README.md): features of
a 19×19 tensor, and targets. Full 19×19 boards and smaller ones are measured apart. Networks can also be measured on
sample files.
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
from training.labels.samples import (
    HAS_OWNERSHIP,
    HAS_POLICY,
    HAS_SCORE,
    HAS_VALUE,
    SampleSources,
    read_chunk,
    unpack_planes,
    unpack_probabilities,
)
from training.positions.canvas import board_cells

CANVAS = 19
POINTS = CANVAS * CANVAS

LATER_WIN, LATER_LOSS, TARGET_LEAD = 12, 13, 21
"""Columns of globalTargetsNC: the value a few turns later, which is less noisy than the result, and the lead."""
POLICY_WEIGHT, OWNERSHIP_WEIGHT, LEAD_WEIGHT = 26, 27, 29
"""Columns of globalTargetsNC: how much each target counts."""

ARRAYS = ("binaryInputNCHWPacked", "globalInputNC", "policyTargetsNCMove", "globalTargetsNC", "valueTargetsNCHW")

EvaluateFunction = Callable[[NDArray[np.float32], NDArray[np.float32]], Evaluation]
"""From planes [N, 22, H, W] and global features [N, 19] to the evaluation."""


@dataclass(frozen=True)
class Rows:
    """N positions of one board size, W×H points, with what the network should say of them."""

    spatial: NDArray[np.float32]
    """[N, 22, H, W]"""
    global_: NDArray[np.float32]
    """[N, 19]"""
    policy: NDArray[np.float64]
    """[N, H*W + 1] shares of a search's visits; zeros where they are not known"""
    value: NDArray[np.float32]
    """[N] win minus loss; this, the lead and the ownership are from the view of the side to move"""
    lead: NDArray[np.float32]
    """[N] points"""
    ownership: NDArray[np.float32]
    """[N, H*W] in [-1, 1]"""
    weights: NDArray[np.float64]
    """[N, 3] how much policy, lead and ownership of each row count"""

    def part(self, chosen: slice | NDArray[np.int64]) -> Rows:
        """Return the rows that `chosen` selects."""
        return Rows(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


@dataclass(frozen=True)
class Measure:
    """A network's figures on a set of rows; docs/training.md explains them."""

    rows: int
    """how many rows were measured"""
    policy_cross_entropy: float
    """nats; illegal moves are not masked"""
    top1: float
    """share of the rows whose most visited move is the policy's first"""
    value_mse: float
    """mean square error of win minus loss"""
    lead_mae: float
    """mean error in points"""
    ownership_mse: float
    """mean square error of a point's owner, from -1 to 1"""
    value_bias: float
    """mean error of win minus loss, above 0 where the side to move is overrated"""
    lead_bias: float
    """the same of the lead, in points"""

    def line(self) -> str:
        """Return the figures as one line of text."""
        return (
            f"{self.rows} rows: policy {self.policy_cross_entropy:.3f}  top-1 {self.top1:.3f}  "
            f"value {self.value_mse:.3f}  lead {self.lead_mae:.2f}  ownership {self.ownership_mse:.3f}  "
            f"bias {self.value_bias:+.3f}, {self.lead_bias:+.2f}"
        )


def evaluate_function(evaluator: Evaluator) -> EvaluateFunction:
    """Return a function that evaluates positions with `evaluator`, without its optimistic policy."""

    def evaluate(spatial: NDArray[np.float32], global_: NDArray[np.float32]) -> Evaluation:
        return evaluator.evaluate(EvaluationRequest(spatial, global_, np.zeros(len(spatial), np.float32)))

    return evaluate


def measure_rows(groups: Iterable[Rows], evaluate: EvaluateFunction, batch: int = 64) -> Measure:
    """Measure a network on groups of rows, each of one board size, `batch` rows at a time."""
    sums, weights = np.zeros(7), np.zeros(7)
    count = 0
    for rows in groups:
        for first in range(0, len(rows.spatial), batch):
            part = rows.part(slice(first, first + batch))
            errors, weight = _errors(part, evaluate(part.spatial, part.global_))
            sums += (errors * weight).sum(axis=1)
            weights += weight.sum(axis=1)
            count += len(part.spatial)
    return Measure(count, *(sums / np.maximum(weights, 1e-9)).tolist())


def _errors(rows: Rows, evaluation: Evaluation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return errors [7, N] in the order of Measure's fields, and their weights [7, N]."""
    logits = evaluation.policy.astype(np.float64)
    highest = logits.max(axis=1, keepdims=True)
    log_policy = logits - highest - np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
    value = evaluation.value[:, WIN] - evaluation.value[:, LOSS] - rows.value
    lead = evaluation.score[:, LEAD] - rows.lead
    errors = np.stack(
        [
            -(rows.policy * log_policy).sum(axis=1),
            rows.policy.argmax(axis=1) == logits.argmax(axis=1),
            value**2,
            np.abs(lead),
            ((evaluation.ownership - rows.ownership) ** 2).mean(axis=1),
            value,
            lead,
        ]
    ).astype(np.float64)
    policy, score, ownership = rows.weights.T
    one = np.ones(len(policy))
    return errors, np.stack([policy, policy, one, score, ownership, one, score])


@dataclass(frozen=True)
class Yardstick:
    """Rows of KataGo's self-play, grouped by board size."""

    full: Rows
    small: tuple[Rows, ...]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(rows.value) for rows in (self.full, *self.small))

    def measure(self, evaluate: EvaluateFunction, batch: int = 64) -> tuple[Measure, Measure]:
        """Measure a network on the 19×19 rows, and on all smaller boards together."""
        return measure_rows([self.full], evaluate, batch), measure_rows(self.small, evaluate, batch)


def load_yardstick(path: Path) -> Yardstick:
    """Read kata-rows-1024.npz, or another file of KataGo's training rows. Raises TrainingError."""
    packed, globals_, visits, targets, owners = read_arrays(path, ARRAYS, "a file of KataGo training rows")

    def fits(array: NDArray[Any], dimensions: int, *last: int) -> bool:
        return array.ndim == dimensions and len(array) == len(packed) and array.shape[dimensions - len(last) :] == last

    if packed.dtype != np.uint8 or any(array.dtype.kind not in "iuf" for array in (globals_, visits, targets, owners)):
        raise TrainingError(f"{path}: its training rows are not of the numbers that KataGo writes")
    if not (
        fits(packed, 3, SPATIAL_PLANES, (POINTS + 7) // 8)
        and fits(globals_, 2, GLOBAL_FEATURES)
        and fits(visits, 3, POINTS + 1)
        and fits(targets, 2)
        and targets.shape[1] > LEAD_WEIGHT
        and fits(owners, 4, CANVAS, CANVAS)
    ):
        raise TrainingError(f"{path}: its training rows are not of 19x19 tensors")
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        globals_, targets = globals_.astype(np.float32), targets.astype(np.float32)
        visits, owners = visits[:, 0].astype(np.float64), owners[:, 0].astype(np.float32)
    if not all(np.isfinite(array).all() for array in (globals_, visits, targets, owners)):
        raise TrainingError(f"{path}: a number in its training rows is not finite")
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
                targets[chosen, LATER_WIN] - targets[chosen, LATER_LOSS],
                targets[chosen, TARGET_LEAD],
                owners[chosen].reshape(-1, POINTS)[:, points],
                targets[chosen][:, [POLICY_WEIGHT, LEAD_WEIGHT, OWNERSHIP_WEIGHT]].astype(np.float64),
            )
        )
    full = [rows for rows in groups if rows.spatial.shape[2:] == (CANVAS, CANVAS)]
    if not full:
        raise TrainingError(f"{path}: it has no rows of full 19x19 boards")
    return Yardstick(full[0], tuple(rows for rows in groups if rows is not full[0]))


def rows_of_samples(source: Path, full: bool) -> Iterator[Rows]:
    """Yield the samples of a sample file, or of a folder's files, as rows: those of 19×19 boards if `full`, else of
    smaller boards. Raises TrainingError."""
    chunks = SampleSources((str(source),)).chunks()
    if not chunks:
        raise TrainingError(f"{source}: there are no sample files in it")
    for chunk in chunks:
        samples = read_chunk(chunk)
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
