"""The search's formulas, as pure functions, and tables of those that every visit needs and that are slow to compute.

`s` is a SETTINGS record (memory/context.py). Utilities are white's view, unless the name says `mover`: the view of the
side to move. Sources: Silver et al. 2017 (PUCT); Wu 2019 and KataGo's notes on its methods (score utility, first play
urgency, variance-scaled exploration, weights); lc0 (exploration growing with the logarithm of visits). The constants
that are no parameters are KataGo's.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from go_rules.points import WHITE
from nobi_machine.jit import kernel, kernel_part

STATIC_SCORE_SCALE = 2.0
"""Width of the static score's S curve, in square roots of the area."""

EXPLORE_OFFSET = 0.01
"""Keeps exploration positive before the first visit, so that priors decide it."""

LOSS_UNDER_WAY = 0.3
"""Losses that a visit under way counts for where `virtual_loss` is 1. A whole one, as in KataGo, drives visits to moves
that nothing speaks for, which costs some 100 Elo where 32 of 500 are under way (docs/log/strength.md)."""


@kernel
def explore_scaling(s, child_weight, stdev_factor):
    """Compute the exploration factor E in U + E * P / (1 + w).

    E = (cpuct + cpuct_log * ln((W + cpuct_base) / cpuct_base)) * sqrt(W + 0.01) * f, with f of `utility_stdev_factor`.
    It grows with the children's weight W and the spread of the values.
    """
    growth = s.cpuct + s.cpuct_log * math.log((child_weight + s.cpuct_base) / s.cpuct_base)
    return growth * math.sqrt(child_weight + EXPLORE_OFFSET) * stdev_factor


@kernel
def explore_scaling_of_people(s, child_weight):
    """Compute the factor E where moves are looked at because people might play them (KataGo's `humanSLCpuct...`).

    E = (human_cpuct + human_cpuct_permanent * sqrt(W)) * sqrt(W + 0.01): the second part does not fade with visits.
    """
    growth = s.human_cpuct + s.human_cpuct_permanent * math.sqrt(child_weight)
    return growth * math.sqrt(child_weight + EXPLORE_OFFSET)


@kernel
def utility_stdev_factor(s, weight, utility, utility_sq):
    """Compute the factor f on exploration at a node: above 1 where utilities vary more than usual, below 1 where less.

    f = 1 + scale * (sigma / sigma_0 - 1), where sigma^2 = (n_0 (U^2 + sigma_0^2) + W mean(u^2)) / (n_0 + W - 1) - U^2:
    U is the mean of the utilities u, W their weight, and n_0 the weight of the prior sigma_0. Up to W = 1 f is 1.
    """
    stdev = s.cpuct_stdev_prior
    if weight > 1.0:
        square = utility * utility
        prior = s.cpuct_stdev_prior * s.cpuct_stdev_prior
        total = (square + prior) * s.cpuct_stdev_prior_weight + max(utility_sq, square) * weight
        stdev = math.sqrt(max(0.0, total / (s.cpuct_stdev_prior_weight + weight - 1.0) - square))
    return 1.0 + s.cpuct_stdev_scale * (stdev / s.cpuct_stdev_prior - 1.0)


@kernel
def first_play_urgency(s, mover_average, mover_evaluation, mass, is_root):
    """Compute the mover's utility assumed for an untried move of a node with this average and evaluation.

    lam * average + (1 - lam) * evaluation - r * sqrt(m), with lam = min(1, m ** power). m (`mass`) is the sum of the
    tried moves' priors: the larger it is, the more the average counts and the worse the rest must be. A share of a
    certain loss may be mixed in.
    """
    lam = min(1.0, mass**s.fpu_parent_power)
    reduction = s.root_fpu_reduction if is_root else s.fpu_reduction
    loss = s.root_fpu_loss_proportion if is_root else s.fpu_loss_proportion
    value = lam * mover_average + (1.0 - lam) * mover_evaluation - reduction * math.sqrt(mass)
    return value + (-s.utility_radius - value) * loss


@kernel
def puct(mover_utility, explore, prior, weight):
    """Compute the value that selection maximises: Q + U in the papers' notation."""
    return mover_utility + explore * prior / (1.0 + weight)


@kernel
def puct_weight(value, mover_utility, explore, prior):
    """Compute the weight at which `puct` would come to `value`; 0 if it never is so high, 1e100 if it always is."""
    needed = value - mover_utility
    if needed <= 0.0:
        return 1e100
    return max(0.0, explore * prior / needed - 1.0)


@kernel
def with_virtual_losses(s, mover_utility, weight, losses):
    """Return a move's utility U and weight w as if the `losses` visits on their way had been lost.

    They are U + (-R - U) * v / (v + max(0.25, w)) and w + v, where v = losses * virtual_loss * LOSS_UNDER_WAY and R is
    the largest utility.
    """
    extra = losses * s.virtual_loss * LOSS_UNDER_WAY
    share = extra / (extra + max(0.25, weight))
    return mover_utility + (-s.utility_radius - mover_utility) * share, weight + extra


@kernel
def expected_score_value(table, mean, stdev):
    """Interpolate E[(2/pi) atan(x)] for x ~ N(mean, stdev) between the entries of the score table."""
    # In this order `min` makes the bound of what is not a number, which no table has a place for.
    row = min(SCORE_MEANS - 1.001, abs(mean) / SCORE_STEP)
    column = min(SCORE_STDEVS - 1.001, stdev / SCORE_STEP)
    i = int(row)
    j = int(column)
    a = row - i
    b = column - j
    low = table[i, j] * (1.0 - b) + table[i, j + 1] * b
    high = table[i + 1, j] * (1.0 - b) + table[i + 1, j + 1] * b
    value = low * (1.0 - a) + high * a
    return value if mean >= 0.0 else -value


@kernel
def score_utility(s, table, score, score_sq):
    """Compute the score's part of white's utility: a static S curve around 0, a dynamic one around the game's centre c.

    static_factor * S(0, 2) + dynamic_factor * S(c, 0.75), where S(c, k) averages (2/pi) atan((x - c) / (k sqrt(A)))
    over normally distributed scores x, and A is the number of points.
    """
    stdev = math.sqrt(max(0.0, score_sq - score * score))
    static = 1.0 / (STATIC_SCORE_SCALE * s.sqrt_area)
    dynamic = 1.0 / (s.dynamic_score_center_scale * s.sqrt_area)
    return s.static_score_factor * expected_score_value(
        table, score * static, stdev * static
    ) + s.dynamic_score_factor * expected_score_value(table, (score - s.score_center) * dynamic, stdev * dynamic)


@kernel
def score_utility_gain(s, table, score, score_sq, points):
    """Compute how much white's utility grows with `points` more points."""
    mean = np.float64(score)
    square = np.float64(score_sq)
    shifted = square + 2.0 * mean * points + points * points
    return score_utility(s, table, mean + points, shifted) - score_utility(s, table, mean, square)


@kernel
def score_utility_slope(s, score):
    """Compute the derivative of white's utility by the score, as if the score had no spread."""
    static = STATIC_SCORE_SCALE * s.sqrt_area
    dynamic = s.dynamic_score_center_scale * s.sqrt_area
    off = score - s.score_center
    slope = s.static_score_factor * static / (static * static + score * score)
    slope += s.dynamic_score_factor * dynamic / (dynamic * dynamic + off * off)
    return slope * (2.0 / math.pi)


@kernel_part
def utility_of(s, table, win_loss, no_result, score, score_sq):
    """Compute white's utility of an outcome or of an average of outcomes."""
    result = win_loss * s.win_loss_factor + no_result * s.no_result_utility
    return result + score_utility(s, table, np.float64(score), np.float64(score_sq))


@kernel
def evaluation_weight(s, score, winloss_error, score_error):
    """Compute the weight of a network's evaluation: less, the larger it thinks its error.

    1 if it does not say (error < 0), and without the parameter `uncertainty`.
    """
    if s.uncertainty == 0 or winloss_error < 0.0:
        return 1.0
    error = s.win_loss_factor * winloss_error + score_utility_slope(s, score) * score_error
    return s.uncertainty_coefficient / (error + s.uncertainty_coefficient / s.uncertainty_max_weight)


@kernel
def terminal_weight(s, errors_known):
    """Return the weight of a finished game: that of an evaluation without error, or 1 where errors do not count."""
    if s.uncertainty == 1 and errors_known == 1:
        return s.uncertainty_max_weight
    return 1.0


@kernel
def value_weight(table, mover_utility, mean, weight):
    """Compute the factor on a child's weight in its parent's average: less, the worse it is than the children's `mean`.

    (F(z) + 1e-4) ** value_weight_exponent, where F is the distribution function of Student's t with three degrees of
    freedom (`table`), z = (U - mean) / sd and sd^2 = 1e-8 + 1 / (1.5 sqrt(weight)).
    """
    stdev = math.sqrt(1e-8 + 1.0 / (1.5 * math.sqrt(weight)))
    at = (mover_utility - mean) / stdev / WEIGHT_STEP + WEIGHT_HALF
    at = min(max(at, 0.0), 2.0 * WEIGHT_HALF - 0.001)
    i = int(at)
    return table[i] + (table[i + 1] - table[i]) * (at - i)


@kernel
def noise_pruned(s, weight, fair_share, gap):
    """Compute the weight left to a child whose utility is `gap` below the average of those before it.

    `fair_share` is the weight that its prior would give it. Up to twice that stays; of the rest a share of
    exp(-gap / noise_prune_scale).
    """
    lenient = 2.0 * fair_share
    if gap <= 0.0 or weight <= lenient:
        return weight
    return weight - (weight - lenient) * (1.0 - math.exp(-gap / s.noise_prune_scale))


@kernel
def confidence_radius(s, weight, weight_sq, utility, utility_sq):
    """Compute half the width of a confidence interval of a mean utility: `lcb_stdevs` standard errors.

    After Leela Zero and KataGo. `weight` and `weight_sq` are the sums of the evaluations' weights and of their squares;
    weight^2 / weight_sq is the effective number of evaluations. A prior of the largest possible variance is added. Its
    weight falls with the cube of that number, so it widens the interval of moves with few evaluations only.
    """
    if weight <= 0.0 or weight_sq <= 0.0:
        return 2.0 * s.utility_radius * s.lcb_stdevs
    size = weight * weight / weight_sq
    prior = weight / (size * size * size)
    square = max(utility_sq, utility * utility + 1e-8)
    square = (square * weight + (square + s.utility_radius * s.utility_radius) * prior) / (weight + prior)
    size = (weight + prior) * (weight + prior) / (weight_sq + prior * prior)
    return s.lcb_stdevs * math.sqrt((square - utility * utility) / size)


@kernel
def mover_view(value, to_play):
    """Turn a value from white's view into that of the side to move, or back."""
    return value if to_play == WHITE else -value


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
