"""From what the kernels leave of a batch to its `Evaluation`: the small matrices, and each version's units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nets.katago.model import FloatArray
from nets.katago.value_head import EXCLUDED, KO_FEATURE, TERRITORY_FEATURE, ScoreOutputs


@dataclass(frozen=True)
class SmallLayers:
    """The heads' layers that no kernel computes; all activations are ReLU."""

    pass_first: FloatArray
    """[blocks of 32 pooled channels * 3 * 32, hidden or policies]"""
    pass_bias: FloatArray
    """[hidden]; empty where the pass has only one matrix"""
    pass_second: FloatArray
    """[hidden, policies]; empty where the pass has only one matrix"""
    hidden: FloatArray
    """[3, value channels, hidden]"""
    hidden_bias: FloatArray
    value: FloatArray
    """[hidden, 3]"""
    value_bias: FloatArray
    score: ScoreOutputs


def pass_logits(layers: SmallLayers, pooled: FloatArray) -> FloatArray:
    """[N, policies] from the policy head's pools [N, blocks of 32 channels * 3 * 32]."""
    logits = pooled @ layers.pass_first
    if layers.pass_second.size == 0:
        return logits
    return np.maximum(logits + layers.pass_bias, 0) @ layers.pass_second


def hidden_matrix(layers: SmallLayers, area: int) -> FloatArray:
    """[value channels, hidden]: `layers.hidden` on boards of so many points, whose pools are the mean and two multiples
    of it."""
    linear = (math.sqrt(area) - 14.0) / 10.0
    return np.asarray(layers.hidden[0] + linear * layers.hidden[1] + (linear**2 - 0.1) * layers.hidden[2], np.float32)


def value_and_score(
    layers: SmallLayers, hidden: FloatArray, global_: FloatArray, area: int, version: int
) -> tuple[FloatArray, FloatArray]:
    """`value` [N, 3] and `score` [N, 6] from the sums of the value head's hidden layer, [N, hidden]."""
    hidden = np.maximum(hidden + layers.hidden_bias, 0)
    logits = hidden @ layers.value + layers.value_bias
    if version > 3:
        logits[:, 2] -= EXCLUDED * np.maximum(global_[:, KO_FEATURE] - global_[:, TERRITORY_FEATURE], 0)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    value = shares / shares.sum(axis=1, keepdims=True)
    raw = hidden @ layers.score.weights + layers.score.bias
    score = np.full((len(hidden), 6), -1, np.float32)
    if version == 3:
        score[:, [0, 2]] = raw * (2 * np.sqrt(area))
        score[:, 1] = 0
        return value, score
    no_result = value[:, 2]
    positive = np.logaddexp(raw[:, 2:], np.float32(0)) * layers.score.factors
    score[:, [0, 2]] = raw[:, :2] * (1 - no_result)[:, None]
    score[:, 1] = np.sqrt((positive[:, 0] ** 2 + raw[:, 0] ** 2 * no_result) * (1 - no_result))
    if positive.shape[1] > 1:
        score[:, 3] = positive[:, 1]
        score[:, 4:] = np.sqrt(positive[:, 2:]) if layers.score.has_root else positive[:, 2:]
    return value, score
