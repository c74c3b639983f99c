"""What is drawn at random in training games: rules and komi, so that the network learns what they change; how much of a
game a position shows; and some of the moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from go_rules.board import is_legal
from go_rules.handicap import HANDICAP_KOMI
from go_rules.points import EMPTY, NO_POINT, PASS, STRIDE, WALL
from go_rules.random import below, uniform
from go_rules.rule_names import preset
from go_rules.rules import BONUS_N, BONUS_N_MINUS_1, RULES, RulesError
from nobi_machine.jit import kernel
from training.errors import TrainingError

CLEANUP_SHARE = 0.5
"""Share of the games under territory rules in which two passes lead to the clean-up phases."""
TRIES = 24
"""Points that `random_move` looks at before it gives up and passes."""
NEARBY = 2
"""How far, in columns and in rows, a nearby move is from the last one."""

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


@kernel
def seed_random(state, seed, index):
    """Start the random numbers of sample `index` of stream `seed` (both int64), by SplitMix64 as in go_rules.random."""
    counter = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(index)
    for i in range(2):
        counter += np.uint64(0x9E3779B97F4A7C15)
        word = (counter ^ (counter >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state[i] = word ^ (word >> np.uint64(31))


@kernel
def random_move(pos, rules, state, nearby):
    """Return a random legal point that does not fill an own eye, or PASS if none is found quickly.

    `nearby` asks for a point close to the last move."""
    last = pos.recent[0]
    for _ in range(TRIES):
        if nearby and last > 0:
            y = last // STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            x = last % STRIDE - 1 + below(state, 2 * NEARBY + 1) - NEARBY
            if x < 0 or y < 0 or x >= pos.width or y >= pos.height:
                continue
        else:
            y = below(state, pos.height)
            x = below(state, pos.width)
        point = (y + 1) * STRIDE + x + 1
        if pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules) and not is_own_eye(pos, point):
            return point
    return PASS


@kernel
def is_own_eye(pos, point):
    """Return whether all neighbours of an empty point are stones of the side to move."""
    for step in (-STRIDE, -1, 1, STRIDE):
        content = pos.board[point + step]
        if content != pos.to_play and content != WALL:
            return False
    return True


@kernel
def may_play(pos, point, rules):
    """Return whether a record's move makes sense here: it is legal, and it is not a pass that answers a pass."""
    if point == PASS:
        return pos.recent[0] != PASS
    return point != NO_POINT and pos.board[point] == EMPTY and is_legal(pos, point, pos.to_play, rules)
