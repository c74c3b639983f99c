"""How a version's raw outputs become points and probabilities (KataGo's `cpp/neuralnet/nneval.cpp`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nets.katago.model import FloatArray, Model, Multipliers

KO_FEATURE, TERRITORY_FEATURE = 6, 9
"""Global features: 0 under the simple ko rule and 1 under the superko rules; 1 under territory scoring."""
EXCLUDED = 1e5
"""Subtracted from the logit of an outcome that the rules exclude, so that its probability is exactly 0."""
SHORTTERM_SCORE_V9 = 10.0


@dataclass(frozen=True)
class ScoreOutputs:
    """The score head's last matrix, rearranged: first the plain outputs, then those that pass through softplus."""

    weights: FloatArray
    """[hidden, 2 + positive]; the units of the plain outputs (mean, lead) are part of it."""
    bias: FloatArray
    factors: FloatArray
    """Factors of the softplus outputs: stdev[, time left (varTimeLeft), short-term errors of value and score]."""
    has_root: bool
    """The short-term errors are the square root of that product."""


def score_outputs(model: Model) -> ScoreOutputs:
    """Return the score head's matrix with the columns and units of the network's version put in one order."""
    head, scale, version = model.value, model.multipliers, model.version
    # Columns: 0 mean, 1 stdev, 2 lead, 3 time left (varTimeLeft), 4 and 5 short-term errors of value and score.
    lead = 2 if version >= 8 else 0
    plain = head.score[:, [0, lead]], head.score_bias[[0, lead]]
    if version == 3:
        return ScoreOutputs(*plain, np.zeros(0, np.float32), False)
    units = np.array([scale.score_mean, scale.lead if version >= 8 else scale.score_mean], np.float32)
    columns = [1, 3, 4, 5] if version >= 9 else [1]
    before, factors, has_root = softplus_units(version, scale)
    weights = np.concatenate([plain[0] * units, head.score[:, columns] * before], axis=1)
    bias = np.concatenate([plain[1] * units, head.score_bias[columns] * before])
    return ScoreOutputs(weights, bias, factors, has_root)


def softplus_units(version: int, scale: Multipliers) -> tuple[FloatArray, FloatArray, bool]:
    """Return the multipliers before and after softplus of the outputs that pass through it: the standard deviation and,
    from version 9 on, the time left and the short-term errors of value and score; and whether the short-term errors
    are the square roots of that."""
    before, after = [1.0, 1.0, 1.0, 1.0], [scale.score_stdev, scale.variance_time]
    if version >= 14:  # sqrt(m * softplus(x / 2) ** 2) = sqrt(m) * softplus(x / 2), of a multiplier m
        before[2:] = [0.5, 0.5]
        after += [math.sqrt(scale.shortterm_value_error), math.sqrt(scale.shortterm_score_error)]
    elif version >= 10:
        after += [scale.shortterm_value_error, scale.shortterm_score_error]
    else:
        after += [1.0, SHORTTERM_SCORE_V9]
    used = 4 if version >= 9 else 1
    return np.array(before[:used], np.float32), np.array(after[:used], np.float32), 10 <= version <= 13
