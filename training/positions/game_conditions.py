"""The conditions of training games: rules and komi are drawn at random, so that the network learns what they change; so
is how much of a game a position shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from go_rules.handicap import HANDICAP_KOMI
from go_rules.random import uniform
from go_rules.rule_names import preset
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, RULES, RulesError
from nobi_machine.jit import kernel
from training.errors import TrainingError

CLEANUP_SHARE = 0.5
"""Share of the games under territory rules in which two passes lead to the clean-up phases."""

Key = TypeVar("Key")


def choose_by_share(shares: Mapping[Key, float], generator: np.random.Generator) -> Key:
    """Draw one of the keys, with chances in proportion to their shares. Raises TrainingError where none is above 0."""
    keys = [key for key, share in shares.items() if share > 0]
    if not keys:
        raise TrainingError(f"nothing to choose from: none of {', '.join(map(str, shares)) or 'no shares'} is above 0")
    total = np.cumsum([shares[key] for key in keys])
    return keys[int(np.searchsorted(total, generator.random() * total[-1], side="right"))]


class GameConditions(NamedTuple):
    """The rule sets and komi to choose from, as kernels read them."""

    rules: NDArray[np.void]
    """RULES[R]: the rule sets, each with its customary komi."""
    bonus: NDArray[np.int8]
    """[R] BONUS_* constants: how many points white gets for handicap stones."""
    cumulative: NDArray[np.float64]
    """[R] cumulative shares of the rule sets; the last one is 1."""
    own_komi: NDArray[np.float64]
    """[1] share of the games that have the customary komi."""
    deviation: NDArray[np.float64]
    """[1] standard deviation, in points, of the komi of the other games from the customary one."""
    forgotten: NDArray[np.float64]
    """[1] chance of each of a position's last moves, the newest first, to be hidden with all before it."""


def new_game_conditions(
    shares: Mapping[str, float], own_komi: float, deviation: float, forgotten: float = 0.0
) -> GameConditions:
    """Prepare the conditions for kernels; `shares` are those of rule sets by name. Raises TrainingError."""
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
    numbers = (np.array([number]) for number in (own_komi, deviation, forgotten))
    return GameConditions(records, bonus, total / total[-1], *numbers)


@kernel
def draw_conditions(conditions, handicap, state, rules):
    """Draw the rules and komi of a game with `handicap` black stones, and write them to the RULES record `rules`."""
    share = uniform(state)
    i = 0
    while i < len(conditions.cumulative) - 1 and share >= conditions.cumulative[i]:
        i += 1
    source = conditions.rules[i]
    komi = np.float64(source.komi)
    if handicap > 0 and uniform(state) < 0.5:
        komi = np.float64(HANDICAP_KOMI)
    if uniform(state) >= conditions.own_komi[0]:
        # The sum of three uniform numbers has a standard deviation of 1/2 and ends at three of them.
        spread = (uniform(state) + uniform(state) + uniform(state) - 1.5) * 2.0 * conditions.deviation[0]
        komi = np.floor((komi + spread) * 2.0 + 0.5) * 0.5
    rules.komi = komi
    stones = 0
    if conditions.bonus[i] == BONUS_N:
        stones = handicap
    elif conditions.bonus[i] == BONUS_N_MINUS_1:
        stones = max(handicap - 1, 0)
    rules.handicap_bonus = stones
    rules.ko = source.ko
    rules.scoring = source.scoring
    rules.tax = source.tax
    rules.suicide = source.suicide
    rules.has_button = source.has_button
    rules.friendly_pass = source.friendly_pass
    rules.cleanup = 1 if uniform(state) < CLEANUP_SHARE else 0
