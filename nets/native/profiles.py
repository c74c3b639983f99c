"""HumanSL networks in our own kernels: what the trunk adds for a profile, and the profiles to calibrate with."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from go_rules.points import WHITE
from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, ForwardingEvaluator
from nets.human_profile import HumanProfile, metadata_row, parse_profile
from nets.katago.model import Activation, FloatArray, MetadataEncoder

NAMES = ("rank_5k", "rank_9d", "rank_20k", "preaz_1d", "proyear_1850", "rank_2d_12k", "proyear_2020", "preaz_15k")
PROFILES = tuple(parse_profile(name) for name in NAMES)
"""The profiles that a HumanSL network is calibrated with: they differ as much as players do."""


class ProfileEncoder:
    """Computes what a HumanSL network's trunk adds at every point for the players that it imitates."""

    def __init__(self, encoder: MetadataEncoder) -> None:
        self._added = lru_cache(maxsize=64)(lambda profile, points: _encode(encoder, _metadata(profile, points)))

    def added(self, profile: HumanProfile, count: int, colours: NDArray[np.int8] | None, points: int) -> FloatArray:
        """Return what is added [count, channels] on boards of `points` points. `colours` [count]
        are to move; None: black everywhere."""
        is_white = np.zeros(count, np.int64) if colours is None else (colours == WHITE).astype(np.int64)
        return np.asarray(self._added(profile, points)[is_white], np.float32)


def _encode(encoder: MetadataEncoder, metadata: FloatArray) -> FloatArray:
    hidden = _activate(metadata @ encoder.first + encoder.first_bias, encoder.first_activation)
    hidden = _activate(hidden @ encoder.second + encoder.second_bias, encoder.second_activation)
    return np.asarray(hidden @ encoder.third, np.float32)


def _activate(x: FloatArray, activation: Activation) -> FloatArray:
    if activation is Activation.IDENTITY:
        return x
    if activation is Activation.RELU:
        return np.asarray(np.maximum(x, 0))
    if activation is Activation.MISH:
        return np.asarray(x * np.tanh(np.logaddexp(x, np.float32(0))))
    return np.asarray(x / (1 + np.exp(-x)))


def _metadata(profile: HumanProfile, points: int) -> FloatArray:
    """[2, 192]: with black and with white to move."""
    return np.array([metadata_row(profile, is_black, points) for is_black in (True, False)], np.float32)


def metadata(turn: int, boards: int, points: int) -> FloatArray:
    """Return the input [boards, 192] for the profile whose turn it is, with black to move on every second board."""
    return _metadata(PROFILES[turn % len(PROFILES)], points)[np.arange(boards) % 2]


def varied(evaluator: Evaluator) -> Evaluator:
    """Make a HumanSL network imitate the next of PROFILES at each call; any other evaluator is returned as it is."""
    return evaluator if evaluator.attributes.profile is None else _VariedProfiles(evaluator)


class _VariedProfiles(ForwardingEvaluator):
    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__(evaluator)
        self._calls = count()

    def evaluate(self, request: EvaluationRequest) -> Evaluation:
        self.use_profile(PROFILES[next(self._calls) % len(PROFILES)])
        return self.evaluator.evaluate(request)
