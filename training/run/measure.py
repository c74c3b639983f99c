"""Measuring a network on positions whose evaluation is known: the figures of the yardstick."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from nets.evaluator import LEAD, LOSS, WIN, Evaluation, EvaluationRequest, Evaluator

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
