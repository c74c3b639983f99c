"""Rounds a matrix of weights to 8 bits; weights that are not rounded yet make up for each error.

The method is GPTQ (https://arxiv.org/abs/2210.17323), after Optimal Brain Surgeon: what has to be small is not the
weights' error but that of the outputs, a quadratic form given by the second moments of the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray

LARGEST = 127
FINER = (1.0, 0.9, 0.8, 0.7)
"""Shares of the scale that has room for everything: a finer one cuts off a few weights."""
TOGETHER = 32
"""So many inputs are rounded before the rest takes up their errors, by one product of matrices."""
DAMPING = 0.01
"""Added to the moments' diagonal, as a share of its mean: the calibration saw only so many positions."""


class Groups(NamedTuple):
    """Inputs whose integers may add up to no more than a limit, because their products are added in 16 bits."""

    numbers: NDArray[np.int64]
    """[in] the number of the group that each input is in, from 0."""
    largest: int
    """The positive integers of a group add up to at most this, and the negative ones to at least its negative."""


def round_matrix(matrix: NDArray[np.float64], moments: NDArray[np.float64]) -> tuple[NDArray[np.int8], FloatArray]:
    """Return integers [out, in] and scales [out] whose product is about `matrix`.

    `moments` [in, in] are the inputs' second moments."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / LARGEST
    integers = _round_in_turn(matrix / scales[:, None], moments)
    return integers.astype(np.int8), scales.astype(np.float32)


def round_in_groups(
    matrix: NDArray[np.float64], moments: NDArray[np.float64], groups: Groups
) -> tuple[NDArray[np.int8], FloatArray]:
    """Return integers [out, in] and scales [out] whose product is about `matrix`, with sums of groups as they may be.

    `moments` [in, in] are the inputs' second moments. Of some scales each output takes that with the least error."""
    fullest = np.maximum(*(_sums_of_groups(np.maximum(sign * matrix, 0), groups).max(axis=1) for sign in (1, -1)))
    safe = np.maximum(np.maximum(fullest / groups.largest, np.abs(matrix).max(axis=1) / LARGEST), 1e-12)
    integers, scales, least = np.zeros(matrix.shape, np.int8), safe, np.full(len(matrix), np.inf)
    for finer in FINER:
        tried = safe * finer
        rounded = _round_in_turn(matrix / tried[:, None], moments, groups)
        error = matrix - rounded * tried[:, None]
        loss = np.einsum("oi,ij,oj->o", error, moments, error, optimize=True)
        is_better = loss < least
        integers = np.where(is_better[:, None], rounded.astype(np.int8), integers)
        scales, least = np.where(is_better, tried, scales), np.minimum(loss, least)
    return integers, scales.astype(np.float32)


def _sums_of_groups(matrix: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    sums = np.zeros((groups.numbers.max() + 1, len(matrix)))
    np.add.at(sums, groups.numbers, matrix.T)
    return sums.T


def _round_in_turn(
    matrix: NDArray[np.float64], moments: NDArray[np.float64], groups: Groups | None = None
) -> NDArray[np.float64]:
    """Round the columns one after another; what remains to be rounded takes up each column's error."""
    moments = moments + np.eye(len(moments)) * (DAMPING * np.diag(moments).mean() + 1e-12)
    factor = np.linalg.cholesky(np.linalg.inv(moments)).T
    rows, errors = matrix.T.copy(), np.empty((TOGETHER, len(matrix)))
    above = np.full((0 if groups is None else groups.numbers.max() + 1, len(matrix)), 0.0)
    above += 0 if groups is None else groups.largest
    below = -above  # what is left of each group for positive and for negative integers
    for start in range(0, len(rows), TOGETHER):
        end = min(start + TOGETHER, len(rows))
        for row in range(start, end):
            rounded = np.clip(np.round(rows[row]), -LARGEST, LARGEST)
            if groups is not None:
                group = groups.numbers[row]
                rounded = np.clip(rounded, below[group], above[group])
                above[group] -= np.maximum(rounded, 0)
                below[group] -= np.minimum(rounded, 0)
            error = errors[row - start] = (rows[row] - rounded) / factor[row, row]
            rows[row] = rounded
            rows[row + 1 : end] -= np.outer(factor[row, row + 1 : end], error)
        rows[end:] -= factor[start:end, end:].T @ errors[: end - start]
    return rows.T
