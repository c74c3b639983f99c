"""The last layers of a network: small matrices after the big kernel, and the units of each version of network."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nets.evaluator import LEAD, LOSS, NO_RESULT, SCORE_COLUMNS, SCORE_MEAN, SCORE_STDEV, VAR_TIME_LEFT, WIN
from nets.katago.model import EXCLUDED, KO_FEATURE, TERRITORY_FEATURE, FloatArray
from nets.native.simd.activations import CURVES, REACH, RELU
from nobi_machine.jit import kernel, kernel_for_python

VALUES, PLAIN = 3, 2
"""Outputs of the last matrix: first the logits of `value`, then mean and lead, then what passes through softplus."""
FLAT = 9.0
"""For larger numbers tanh is 1 in 32 bits."""


class LastLayers(NamedTuple):
    """The layers of the heads that read pools."""

    version: int
    """Version of the network's format, which decides what its outputs mean."""
    pass_first: FloatArray
    """[blocks of 32 pooled channels * 3 * 32, hidden or policies]"""
    pass_bias: FloatArray
    """[hidden]; empty where the pass has only one matrix"""
    pass_activation: int
    """Index into activations.KINDS, here and below."""
    pass_second: FloatArray
    """[hidden or 0, policies]"""
    hidden: FloatArray
    """[3, value channels, hidden], and for boards of one size [value channels, hidden]: there all three parts of a pool
    are multiples of the mean."""
    hidden_bias: FloatArray
    """[hidden]"""
    hidden_activation: int
    outputs: FloatArray
    """[hidden, VALUES + PLAIN + positive]"""
    outputs_bias: FloatArray
    factors: FloatArray
    """Factors of the outputs that pass through softplus."""
    has_root: int
    """1: the short-term errors are the square root of that product."""
    sums: FloatArray
    """[2, most outputs of a matrix]: work space."""


def for_boards(layers: LastLayers, area: int) -> LastLayers:
    """Make of a network's last layers those for boards of `area` points, as `finish_batch` reads them."""
    linear = (math.sqrt(area) - 14.0) / 10.0
    hidden = layers.hidden[0] + linear * layers.hidden[1] + (linear**2 - 0.1) * layers.hidden[2]
    return layers._replace(hidden=hidden, sums=np.zeros_like(layers.sums))


@kernel_for_python
def finish_batch(layers, pools, policies, ownerships, count, global_, optimism, policy, value, score, ownership):
    """Fill `count` rows of the fields of an `Evaluation`, the last four arguments, from what `run_heads` wrote and from
    `global_`.

    `optimism` [N] are the shares of the second policy, if there are two. Raises FloatingPointError if an output is not
    finite.
    """
    area = ownership.shape[1]
    first, second = layers.sums[0], layers.sums[1]
    total = 0.0
    last = policies.shape[1] - 1
    for board in range(count):
        _pass_logits(layers, pools[board], first, second)
        share = optimism[board] if last > 0 else np.float32(0.0)
        policy[board, area] = second[0] + (second[last] - second[0]) * share
        for point in range(area):
            plain = policies[board, 0, point]
            policy[board, point] = plain + (policies[board, last, point] - plain) * share
        _value_and_score(layers, pools[board], first, second, global_[board], area, value[board], score[board])
        for point in range(area):
            ownership[board, point] = tanh(ownerships[board, point])
        for point in range(area):
            total += policy[board, point] + ownerships[board, point]
        total += policy[board, area]
        for i in range(SCORE_COLUMNS):
            total += score[board, i]
        for i in range(VALUES):
            total += value[board, i]
    if not math.isfinite(total):
        raise FloatingPointError("an output is not finite")


@kernel
def _pass_logits(layers, pools, hidden, logits):
    """`logits` [policies] from the policy head's pools, the first ones in `pools` [blocks, 3, 32]."""
    blocks = len(layers.pass_first) // (3 * pools.shape[2])
    sums = logits if len(layers.pass_second) == 0 else hidden
    for i in range(layers.pass_first.shape[1]):
        sums[i] = 0.0
    row = 0
    for block in range(blocks):
        for part in range(3):
            for channel in range(pools.shape[2]):
                _add_row(sums, pools[block, part, channel], layers.pass_first[row])
                row += 1
    if len(layers.pass_second) == 0:
        return
    for i in range(layers.pass_second.shape[1]):
        logits[i] = 0.0
    for row in range(len(layers.pass_second)):
        value = _activated(hidden[row] + layers.pass_bias[row], layers.pass_activation)
        _add_row(logits, value, layers.pass_second[row])


@kernel
def _value_and_score(layers, pools, hidden, outputs, global_, area, value, score):
    """A board's `value` [3] and `score` [6] from the value head's pools, the last ones in `pools` [blocks, 3, 32]."""
    for i in range(len(layers.hidden_bias)):
        hidden[i] = layers.hidden_bias[i]
    row = 0
    for block in range(len(pools) - len(layers.hidden) // pools.shape[2], len(pools)):
        for channel in range(pools.shape[2]):
            _add_row(hidden, pools[block, 0, channel], layers.hidden[row])
            row += 1
    for i in range(len(layers.outputs_bias)):
        outputs[i] = layers.outputs_bias[i]
    for row in range(len(layers.outputs)):
        _add_row(outputs, _activated(hidden[row], layers.hidden_activation), layers.outputs[row])

    if layers.version > 3:
        outputs[NO_RESULT] -= EXCLUDED * max(global_[KO_FEATURE] - global_[TERRITORY_FEATURE], np.float32(0.0))
    highest = max(outputs[WIN], outputs[LOSS], outputs[NO_RESULT])
    total = 0.0
    for i in range(VALUES):
        value[i] = math.exp(outputs[i] - highest)
        total += value[i]
    for i in range(VALUES):
        value[i] /= total

    mean, lead = outputs[VALUES], outputs[VALUES + 1]
    for i in range(SCORE_COLUMNS):
        score[i] = -1.0
    if layers.version == 3:
        score[SCORE_MEAN], score[LEAD] = mean * (2.0 * math.sqrt(area)), lead * (2.0 * math.sqrt(area))
        score[SCORE_STDEV] = 0.0
        return
    result = 1.0 - value[NO_RESULT]
    score[SCORE_MEAN], score[LEAD] = mean * result, lead * result
    stdev = _softplus(outputs[VALUES + PLAIN]) * layers.factors[0]
    score[SCORE_STDEV] = math.sqrt((stdev * stdev + mean * mean * value[NO_RESULT]) * result)
    for i in range(1, len(layers.factors)):
        positive = _softplus(outputs[VALUES + PLAIN + i]) * layers.factors[i]
        score[LEAD + i] = math.sqrt(positive) if layers.has_root == 1 and LEAD + i > VAR_TIME_LEFT else positive


@kernel
def _activated(x, activation):
    if activation == RELU:
        return max(x, np.float32(0.0))
    a, b, c = CURVES[activation]
    e = math.exp(min(x, np.float32(REACH)))
    n = e * (a * e + b)
    return np.float32(x * n / (n + c)) if c > 0.0 else x


@kernel
def _add_row(sums, factor, row):
    for i in range(len(row)):
        sums[i] += factor * row[i]


@kernel
def _softplus(x):
    return max(x, np.float32(0.0)) + math.log1p(math.exp(-abs(x)))


@kernel
def tanh(x):
    """Compute tanh to 1e-6: Lambert's continued fraction at `x / 4`, doubled twice, which LLVM turns into vectors."""
    y = np.float32(0.25) * min(max(x, np.float32(-FLAT)), np.float32(FLAT))
    square = y * y
    above = np.float32(135135) + square * (np.float32(17325) + square * (np.float32(378) + square))
    below = np.float32(135135) + square * (np.float32(62370) + square * (np.float32(3150) + square * np.float32(28)))
    half = y * above / below
    half = (half + half) / (np.float32(1) + half * half)
    return (half + half) / (np.float32(1) + half * half)
