"""Rounds a convolution's weights to 8 bits; weights that are not rounded yet make up for each error.

The method is GPTQ (https://arxiv.org/abs/2210.17323), after Optimal Brain Surgeon: what has to be small is not the
weights' error but that of the outputs, a quadratic form given by the second moments of the inputs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nets.katago.model import FloatArray

LARGEST = 127
DAMPING = 0.01
"""Added to the moments' diagonal, as a share of its mean: the calibration saw only so many positions."""


def round_weights(
    weights: FloatArray, step: FloatArray, moments: NDArray[np.float64] | None
) -> tuple[NDArray[np.int8], FloatArray]:
    """Return integers [out, in, y, x] and scales [out] whose product is about `weights * step`.

    `step` [in] is what one level of each input is worth, `moments` [in * y * x, in * y * x] the inputs' second moments
    in the unit of values; without them each weight is rounded by itself.
    """
    outputs, _, height, width = weights.shape
    matrix = (weights * step[:, None, None]).reshape(outputs, -1).astype(np.float64)
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / LARGEST
    per_scale = matrix / scales[:, None]
    if moments is None:
        integers = np.round(per_scale)
    else:
        steps = np.repeat(step.astype(np.float64), height * width)
        integers = _round_in_turn(per_scale, moments / np.outer(steps, steps))
    return integers.reshape(weights.shape).astype(np.int8), scales.astype(np.float32)


def _round_in_turn(matrix: NDArray[np.float64], moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round the columns one after another; what remains to be rounded takes up each column's error."""
    matrix = matrix.copy()
    moments = moments + np.eye(len(moments)) * (DAMPING * np.diag(moments).mean() + 1e-12)
    factor = np.linalg.cholesky(np.linalg.inv(moments)).T
    for column in range(len(moments)):
        rounded = np.clip(np.round(matrix[:, column]), -LARGEST, LARGEST)
        error = (matrix[:, column] - rounded) / factor[column, column]
        matrix[:, column] = rounded
        matrix[:, column + 1 :] -= np.outer(error, factor[column, column + 1 :])
    return matrix
