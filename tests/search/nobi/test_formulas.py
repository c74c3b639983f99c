"""The formulas against plain Python, their tables against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from search.nobi.leaves.path import set_result
from search.nobi.memory.context import make_settings
from search.nobi.parameters import SearchParameters
from search.nobi.root import score_center
from search.nobi.tree import formulas
from search.nobi.tree.formulas import score_table, weight_table
from search.nobi.tree.nodes import NODE

P = SearchParameters()
S = make_settings(P, 361)
TABLE = score_table()


def expected_atan(mean: float, stdev: float) -> float:
    z = np.linspace(-7, 7, 4001)
    density = np.exp(-0.5 * z * z)
    return float((density * np.arctan(mean + stdev * z)).sum() / density.sum() * 2 / math.pi)


def student_cdf(z: float) -> float:
    x = z / math.sqrt(3)
    return 0.5 + (x / (1 + x * x) + math.atan(x)) / math.pi


@pytest.mark.parametrize("mean", [0.0, 0.03, -0.5, 1.26, -3.0, 12.0, 19.9])
@pytest.mark.parametrize("stdev", [0.0, 0.1, 0.77, 2.0, 5.5])
def test_expected_score_value(mean: float, stdev: float) -> None:
    assert formulas.expected_score_value(TABLE, mean, stdev) == pytest.approx(expected_atan(mean, stdev), abs=1.5e-3)


def test_expected_score_value_far_outside_its_table() -> None:
    assert formulas.expected_score_value(TABLE, 1000.0, 1000.0) <= 1.0
    assert formulas.expected_score_value(TABLE, -1000.0, 0.0) == pytest.approx(-1.0, abs=0.05)


def test_score_utility() -> None:
    s = S.copy()
    s["score_center"] = 4.0
    score, stdev = 7.0, 11.0
    wide, narrow = 2.0 * 19, 0.75 * 19
    wanted = 0.1 * expected_atan(score / wide, stdev / wide) + 0.3 * expected_atan((score - 4) / narrow, stdev / narrow)
    assert formulas.score_utility(s, TABLE, score, score**2 + stdev**2) == pytest.approx(wanted, abs=1e-3)
    more = formulas.score_utility(s, TABLE, score + 2, (score + 2) ** 2 + stdev**2)
    gain = formulas.score_utility_gain(s, TABLE, score, score**2 + stdev**2, 2.0)
    assert gain == pytest.approx(more - wanted, abs=1e-3)


def test_score_utility_slope_is_its_derivative() -> None:
    s = S.copy()
    s["score_center"] = -3.0

    def utility(score: float) -> float:
        wide, narrow = 2.0 * 19, 0.75 * 19
        return (0.1 * math.atan(score / wide) + 0.3 * math.atan((score + 3) / narrow)) * 2 / math.pi

    for score in (-40.0, -3.0, 0.0, 5.5):
        slope = (utility(score + 1e-4) - utility(score - 1e-4)) / 2e-4
        assert formulas.score_utility_slope(s, score) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("weight", [0.0, 1.0, 500.0, 1e6])
def test_explore_scaling(weight: float) -> None:
    wanted = (1.0 + 0.45 * math.log((weight + 500) / 500)) * math.sqrt(weight + 0.01) * 1.3
    assert formulas.explore_scaling(S, weight, 1.3) == pytest.approx(wanted)


def test_utility_stdev_factor() -> None:
    assert formulas.utility_stdev_factor(S, 1.0, 0.3, 0.5) == pytest.approx(1.0)
    mean, square, weight = 0.2, 0.3, 50.0
    variance = (2.0 * (mean**2 + 0.16) + square * weight) / (2.0 + weight - 1.0) - mean**2
    wanted = 1.0 + 0.85 * (math.sqrt(variance) / 0.4 - 1.0)
    assert formulas.utility_stdev_factor(S, weight, mean, square) == pytest.approx(wanted)
    # Rounding may make the mean square smaller than the square of the mean.
    assert formulas.utility_stdev_factor(S, 1e9, 0.5, 0.25 - 1e-6) == pytest.approx(0.15, abs=1e-3)


def test_first_play_urgency() -> None:
    assert formulas.first_play_urgency(S, 0.9, 0.1, 0.0, False) == pytest.approx(0.1)
    mass = 0.5
    wanted = 0.25 * 0.9 + 0.75 * 0.1 - 0.2 * math.sqrt(mass)
    assert formulas.first_play_urgency(S, 0.9, 0.1, mass, False) == pytest.approx(wanted)
    assert formulas.first_play_urgency(S, 0.9, 0.1, mass, True) == pytest.approx(wanted + 0.1 * math.sqrt(mass))


def test_puct_weight_inverts_puct() -> None:
    value = formulas.puct(0.2, 7.0, 0.3, 4.0)
    assert formulas.puct_weight(value, 0.2, 7.0, 0.3) == pytest.approx(4.0)
    assert formulas.puct_weight(9.0, 0.2, 7.0, 0.3) == 0.0
    assert formulas.puct_weight(0.1, 0.2, 7.0, 0.3) == 1e100


def test_virtual_losses_pull_towards_a_lost_game() -> None:
    utility, weight = formulas.with_virtual_losses(S, 0.5, 3.0, 2)
    assert weight == pytest.approx(3.6)
    assert utility == pytest.approx(0.5 + (-1.4 - 0.5) * 0.6 / 3.6)
    utility, weight = formulas.with_virtual_losses(S, 0.5, 0.0, 1)
    assert utility == pytest.approx(0.5 - 1.9 * 0.3 / 0.55)


def test_evaluation_weight() -> None:
    assert formulas.evaluation_weight(S, 3.0, -1.0, -1.0) == 1.0
    error = 0.2 + formulas.score_utility_slope(S, 3.0) * 4.0
    assert formulas.evaluation_weight(S, 3.0, 0.2, 4.0) == pytest.approx(0.25 / (error + 0.25 / 8))
    assert formulas.evaluation_weight(S, 3.0, 0.0, 0.0) == pytest.approx(8.0)
    assert formulas.terminal_weight(S, 1) == 8.0
    assert formulas.terminal_weight(S, 0) == 1.0


@pytest.mark.parametrize("utility", [-1.3, -0.1, 0.0, 0.004, 0.4, 1.2])
@pytest.mark.parametrize("weight", [0.2, 1.0, 30.0, 1e5])
def test_value_weight(utility: float, weight: float) -> None:
    z = (utility - 0.1) / math.sqrt(1e-8 + 1 / (1.5 * math.sqrt(weight)))
    wanted = (student_cdf(max(-20, min(20, z))) + 0.0001) ** 0.25
    assert formulas.value_weight(weight_table(0.25), utility, 0.1, weight) == pytest.approx(wanted, rel=2e-3)


def test_noise_pruned() -> None:
    assert formulas.noise_pruned(S, 10.0, 6.0, 0.5) == 10.0
    assert formulas.noise_pruned(S, 10.0, 1.0, -0.5) == 10.0
    assert formulas.noise_pruned(S, 10.0, 1.0, 0.3) == pytest.approx(10.0 - 8.0 * (1 - math.exp(-2.0)))


def test_confidence_radius() -> None:
    assert formulas.confidence_radius(S, 0.0, 0.0, 0.0, 0.0) == pytest.approx(2 * 1.4 * 5)
    weight, weight_sq, utility, square = 40.0, 50.0, 0.3, 0.2
    size = weight**2 / weight_sq
    prior = weight / size**3
    mixed = (square * weight + (square + 1.4**2) * prior) / (weight + prior)
    size = (weight + prior) ** 2 / (weight_sq + prior**2)
    wanted = 5 * math.sqrt((mixed - utility**2) / size)
    assert formulas.confidence_radius(S, weight, weight_sq, utility, square) == pytest.approx(wanted)
    few = formulas.confidence_radius(S, 2.0, 2.0, 0.3, 0.1)
    assert few > formulas.confidence_radius(S, 200.0, 200.0, 0.3, 0.1)


@pytest.mark.parametrize(("expected", "center"), [(0.0, 0.0), (10.0, 8.0), (-20.0, -16.0), (200.0, 200.0 - 0.75 * 19)])
def test_score_center(expected: float, center: float) -> None:
    assert score_center(P, expected, 19.0) == pytest.approx(center)


@pytest.mark.parametrize(
    ("score", "win_loss", "mean", "square"), [(7.5, 1.0, 7.5, 56.25), (-0.5, -1.0, -0.5, 0.25), (0.0, 0.0, 0.0, 0.25)]
)
def test_result_of_a_finished_game(score: float, win_loss: float, mean: float, square: float) -> None:
    node = np.zeros(1, NODE)
    set_result(node[0], score, 0.5)
    assert (node[0]["eval_win_loss"], node[0]["eval_score"], node[0]["eval_score_sq"]) == (win_loss, mean, square)
