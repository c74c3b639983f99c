"""Tables of functions that every visit needs and that are slow to compute."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SCORE_STEP = 0.05
SCORE_MEANS = 401
SCORE_STDEVS = 121
"""Grid of the score table: |mean| up to 20 and standard deviation up to 6, in units of the S curve's width."""

WEIGHT_STEP = 0.02
WEIGHT_HALF = 1000
"""Grid of the weight table: z from -20 to 20."""


@lru_cache(maxsize=1)
def score_table() -> NDArray[np.float32]:
    """Compute the table [SCORE_MEANS, SCORE_STDEVS] of E[(2/pi) atan(x)] for x ~ N(mean, stdev).

    Rows are mean = i * SCORE_STEP >= 0, columns stdev = j * SCORE_STEP; negative means follow from symmetry. Summed
    over five standard deviations to both sides.
    """
    z = np.linspace(-5.0, 5.0, 51)
    density = np.exp(-0.5 * z * z)
    density /= density.sum()
    means = SCORE_STEP * np.arange(SCORE_MEANS)
    out = np.empty((SCORE_MEANS, SCORE_STDEVS), np.float32)
    for j in range(SCORE_STDEVS):
        out[:, j] = np.arctan(means[:, None] + SCORE_STEP * j * z) @ density
    return out * np.float32(2.0 / np.pi)


@lru_cache(maxsize=8)
def weight_table(exponent: float) -> NDArray[np.float32]:
    """Compute the table [2 * WEIGHT_HALF + 1] of (cdf(z) + 0.0001) ** exponent.

    cdf is that of Student's t with 3 degrees of freedom. Entry i is z = (i - WEIGHT_HALF) * WEIGHT_STEP.
    """
    z = WEIGHT_STEP * np.arange(-WEIGHT_HALF, WEIGHT_HALF + 1) / np.sqrt(3.0)
    cdf = 0.5 + (z / (1.0 + z * z) + np.arctan(z)) / np.pi
    return ((cdf + 0.0001) ** exponent).astype(np.float32)
