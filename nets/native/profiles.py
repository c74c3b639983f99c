"""HumanSL networks in our own kernels: what the trunk adds for a profile, and the profiles to calibrate with."""

from __future__ import annotations

from itertools import count

import numpy as np

from nets.evaluator import Evaluation, EvaluationRequest, Evaluator, ForwardingEvaluator, metadata_rows
from nets.human_profile import HumanProfile, parse_profile
from nets.katago.model import Activation, FloatArray, MetadataEncoder

NAMES = ("rank_5k", "rank_9d", "rank_20k", "preaz_1d", "proyear_1850", "rank_2d_12k", "proyear_2020", "preaz_15k")
PROFILES = tuple(parse_profile(name) for name in NAMES)
"""The profiles that a HumanSL network is calibrated with: they differ as much as players do."""


def profile_bias(encoder: MetadataEncoder, profile: HumanProfile, points: int) -> FloatArray:
    """Compute what a HumanSL network's trunk adds at every point for these players: [2, channels], with black and with
    white to move."""
    hidden = metadata_rows(profile, points) @ encoder.first + encoder.first_bias
    hidden = _activate(hidden, encoder.first_activation) @ encoder.second + encoder.second_bias
    return np.asarray(_activate(hidden, encoder.second_activation) @ encoder.third, np.float32)


def _activate(x: FloatArray, activation: Activation) -> FloatArray:
    if activation is Activation.IDENTITY:
        return x
    if activation is Activation.RELU:
        return np.asarray(np.maximum(x, 0))
    if activation is Activation.MISH:
        return np.asarray(x * np.tanh(np.logaddexp(x, np.float32(0))))
    return np.asarray(x / (1 + np.exp(-x)))


def metadata(turn: int, boards: int, points: int) -> FloatArray:
    """Return the input [boards, 192] for the profile whose turn it is, with black to move on every second board."""
    return metadata_rows(PROFILES[turn % len(PROFILES)], points)[np.arange(boards) % 2]


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
