"""The terms of training games: rule sets and komi, drawn at random so that the network learns what they change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from go_rules.machine.jit import kernel
from go_rules.random import uniform
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, RULES, RulesError, preset
from training.errors import TrainingError

EVEN_HANDICAP_KOMI = 0.5
"""White's customary komi in handicap games."""


CLEANUP_SHARE = 0.5
"""Of the games under territory rules, those whose passes lead to the clean-up phases."""


class Terms(NamedTuple):
    """What games are played under, as kernels read it."""

    rules: NDArray[np.void]
    """RULES[R]; `komi` is the customary one."""
    bonus: NDArray[np.int8]
    """[R] BONUS_*: white's points for handicap stones."""
    cumulative: NDArray[np.float64]
    """[R] shares of the rule sets, summed up."""
    own_komi: NDArray[np.float64]
    """[1] share of games with the customary komi."""
    deviation: NDArray[np.float64]
    """[1] points: standard deviation of the others."""


def new_terms(shares: Mapping[str, float], own_komi: float, deviation: float) -> Terms:
    """From the shares of rule sets by name. Raises TrainingError."""
    chosen = {name: share for name, share in shares.items() if share > 0}
    if not chosen:
        raise TrainingError("data.rules: no rule set has a share above 0")
    records = np.zeros(len(chosen), RULES)
    bonus = np.zeros(len(chosen), np.int8)
    for i, name in enumerate(chosen):
        try:
            rules, komi = preset(name)
        except RulesError as error:
            raise TrainingError(f"data.rules: {error}") from None
        records[i] = rules.record(komi)
        bonus[i] = rules.white_handicap_bonus
    total = np.cumsum(list(chosen.values()))
    return Terms(records, bonus, total / total[-1], np.array([own_komi]), np.array([deviation]))


@kernel
def draw_terms(terms, handicap, state, rules):
    """Write the RULES of a game with so many black handicap stones to the record `rules`."""
    share = uniform(state)
    i = 0
    while i < len(terms.cumulative) - 1 and share >= terms.cumulative[i]:
        i += 1
    source = terms.rules[i]
    komi = np.float64(source.komi)
    if handicap > 0 and uniform(state) < 0.5:
        komi = np.float64(EVEN_HANDICAP_KOMI)
    if uniform(state) >= terms.own_komi[0]:
        # The sum of three uniform numbers has a standard deviation of 1/2 and ends at three of them.
        spread = (uniform(state) + uniform(state) + uniform(state) - 1.5) * 2.0 * terms.deviation[0]
        komi = np.floor((komi + spread) * 2.0 + 0.5) * 0.5
    rules.komi = komi
    stones = 0
    if terms.bonus[i] == BONUS_N:
        stones = handicap
    elif terms.bonus[i] == BONUS_N_MINUS_1:
        stones = max(handicap - 1, 0)
    rules.handicap_bonus = stones
    rules.ko = source.ko
    rules.scoring = source.scoring
    rules.tax = source.tax
    rules.suicide = source.suicide
    rules.has_button = source.has_button
    rules.friendly_pass = source.friendly_pass
    rules.cleanup = 1 if uniform(state) < CLEANUP_SHARE else 0
