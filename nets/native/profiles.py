"""Whom a HumanSL network imitates: what its trunk adds at every point for them, and everyone in turn."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from go_rules.points import WHITE
from nets.evaluator import Evaluation, Evaluator
from nets.human_profile import HumanProfile, metadata_row, parse_profile
from nets.katago.model import Activation, FloatArray, MetadataEncoder, Model

NAMES = ("rank_5k", "rank_9d", "rank_20k", "preaz_1d", "proyear_1850", "rank_2d_12k", "proyear_2020", "preaz_15k")
PROFILES = tuple(parse_profile(name) for name in NAMES)
"""As different as people are."""


class Players:
    """A network's encoder of players, and the profile it is given."""

    def __init__(self, encoder: MetadataEncoder, profile: HumanProfile) -> None:
        self.profile = profile
        self._added = lru_cache(maxsize=64)(lambda profile, points: _encode(encoder, _metadata(profile, points)))

    @property
    def differ(self) -> bool:
        """Whether it matters who is black."""
        return self.profile.black != self.profile.white

    def added(self, count: int, colours: NDArray[np.int8] | None, points: int) -> FloatArray:
        """[N, channels] on boards of so many points; `colours` [N] says who is to move, black where it is None."""
        is_white = np.zeros(count, np.int64) if colours is None else (colours == WHITE).astype(np.int64)
        return np.asarray(self._added(self.profile, points)[is_white], np.float32)


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
    """[boards, 192]: one of PROFILES by turns, each of its colours in half of a batch."""
    return _metadata(PROFILES[turn % len(PROFILES)], points)[np.arange(boards) % 2]


def everyone(model: Model, evaluator: Any) -> Evaluator:
    """A HumanSL network that imitates the next of PROFILES at every call; any other network as it is."""
    if model.trunk.metadata is None:
        return evaluator
    return _InTurn(evaluator)


class _InTurn:
    def __init__(self, network: Any) -> None:
        self._network, self._calls = network, count()
        self.name, self.precision, self.provider = network.name, network.precision, network.provider
        self.pass_alive_under_suicide = network.pass_alive_under_suicide
        self.only_safe_area = network.only_safe_area

    def evaluate(self, spatial: FloatArray, global_: FloatArray) -> Evaluation:
        self._network.use_profile(PROFILES[next(self._calls) % len(PROFILES)])
        evaluation: Evaluation = self._network.evaluate(spatial, global_)
        return evaluation
