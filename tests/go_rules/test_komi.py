"""Whatever komi somebody asks for, a game has one that its kernels can count with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from go_rules.game import Game
from go_rules.rule_names import PRESETS
from go_rules.rules import KOMI_LIMIT, Rules, clamped_komi

NONE = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("komi", NONE)
def test_what_is_not_finite_is_no_komi(komi):
    game = Game(3, 3, komi=6.5)
    for make in (lambda: Game(3, 3, komi=komi), lambda: game.set_komi(komi), lambda: Rules().record(komi)):
        with pytest.raises(ValueError, match="no komi"):
            make()
    assert (game.komi, float(game.record["komi"])) == (6.5, 6.5)


@pytest.mark.parametrize(
    ("asked", "komi"),
    [(1e308, KOMI_LIMIT), (-1e39, -KOMI_LIMIT), (10_000.5, KOMI_LIMIT), (-0.0, 0.0), (7, 7.0), (1e-320, 1e-320)],
)
def test_a_ridiculous_komi_is_clamped(asked, komi):
    game = Game(3, 3, komi=asked)
    other = Game(3, 3)
    other.set_komi(asked)
    for each in (clamped_komi(asked), game.komi, other.komi):
        assert each == komi
        assert math.copysign(1, each) == math.copysign(1, komi)
    assert game.record["komi"] == other.record["komi"] == Rules().record(asked)["komi"] == np.float32(komi)
    for rules, _ in PRESETS.values():
        game.set_rules(rules)
        assert abs(game.score()) <= KOMI_LIMIT + 1  # the button
        assert game.komi == komi
