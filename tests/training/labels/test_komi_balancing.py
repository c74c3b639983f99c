"""Positions whose komi is changed so that neither side is ahead."""

from __future__ import annotations

import numpy as np
import pytest

from go_rules.board import clear
from go_rules.points import BLACK, WHITE
from go_rules.position import new_stack
from go_rules.rule_names import preset
from nets.evaluator import GLOBAL_FEATURES
from nets.features import GLOBAL_PASS_ENDS_PHASE, IN_TREE, encode
from tests.training.pytorch import torch
from training.labels.komi_balancing import KomiBalancing, choose_balanced, draw_komi_balancing, with_balanced_komi
from training.positions.workers import new_replay_buffers


def balanced(
    before: np.ndarray, lead: float, size: int, noise: float = 0.0, doublings: float = 0.0, behind: float = 0.0,
    most: float = float("inf"),
) -> np.ndarray:  # fmt: skip
    """The global features of a position, with balanced komi."""
    points, area, *numbers = (torch.tensor([float(x)]) for x in (lead, size * size, noise, doublings, behind))
    balancing = KomiBalancing(torch.zeros(1, dtype=torch.int64), *numbers)
    return with_balanced_komi(torch.from_numpy(before)[None], points, area, balancing, most)[0].numpy()


def numbers(size: int, komi: float, colour: int, rule_set: str, doublings: float = 0.0) -> np.ndarray:
    """The global features of an empty board."""
    stack, buffers = new_stack(3), new_replay_buffers()
    rules = preset(rule_set)[0].record(komi)
    clear(stack[2], size, size, rules["has_button"])
    stack[2]["to_play"] = colour
    planes, global_ = np.zeros((22, size, size), np.float32), np.zeros(GLOBAL_FEATURES, np.float32)
    encode(stack, 2, colour, rules, doublings, IN_TREE, buffers.ban, buffers.scratch, planes, global_)
    return global_


@pytest.mark.parametrize("rule_set", ["tromp-taylor", "japanese", "aga-button"])
@pytest.mark.parametrize("size", [9, 12, 19])
@pytest.mark.parametrize("colour", [BLACK, WHITE])
def test_features_are_those_of_a_game_with_balanced_komi(rule_set: str, size: int, colour: int) -> None:
    sign = 1.0 if colour == WHITE else -1.0
    for before, after in [(7.5, 2.0), (7.5, 2.5), (0.0, -13.5), (6.5, 7.0), (6.0, 30.5)]:
        lead = sign * (before - after) - 0.1  # rounded to half points
        given = balanced(numbers(size, before, colour, rule_set), lead, size)
        np.testing.assert_allclose(given, numbers(size, after, colour, rule_set), atol=1e-5)


def test_komi_is_clipped_as_features_are() -> None:
    given = balanced(numbers(9, 7.5, WHITE, "chinese"), -500.0, 9)
    np.testing.assert_allclose(given, numbers(9, 101.0, WHITE, "chinese"), atol=1e-5)


def test_a_game_that_a_pass_may_end_stays_as_it_is() -> None:
    for feature in (0, GLOBAL_PASS_ENDS_PHASE):
        before = numbers(9, 7.5, WHITE, "chinese")
        before[feature] = 1.0
        np.testing.assert_array_equal(balanced(before, 20.0, 9, noise=1.0, doublings=2.0, behind=0.5), before)


def test_positions_are_chosen_in_a_random_order() -> None:
    balancing = draw_komi_balancing(64, np.random.default_rng(1))
    assert sorted(balancing.index.tolist()) == list(range(64))
    assert balancing.index.tolist() != list(range(64))
    assert 1.0 < float(balancing.noise.std()) < 4.0
    again = draw_komi_balancing(64, np.random.default_rng(1))
    assert torch.equal(again.index, balancing.index)


@pytest.mark.parametrize(("size", "most"), [(19, 30.0), (9, 9.78)])
def test_leads_beyond_the_most_stay_single(size: int, most: float) -> None:
    """What is chosen are positions with smaller leads, and where there are too few of them, others as they are."""
    generator = np.random.default_rng(1)
    count, area = 60, float(size * size)
    global_ = torch.from_numpy(numbers(size, 7.5, WHITE, "tromp-taylor")).repeat(count, 1)
    global_[::5, GLOBAL_PASS_ENDS_PHASE] = 1.0
    noise = torch.full((count,), 50.0)  # so that none has the same komi as before
    balancing = draw_komi_balancing(count, generator)._replace(noise=noise)
    lead = torch.from_numpy(generator.normal(0.0, 1.5 * most, count).astype(np.float32))
    areas = torch.full((count,), area)
    fits = (lead.abs() <= most) & (global_[:, GLOBAL_PASS_ENDS_PHASE] == 0.0)
    fitting = int(fits.sum())
    assert 10 < fitting < 40
    for wanted in (10, 50):
        chosen = choose_balanced(global_, lead, areas, balancing.chosen(torch.arange(count)), wanted, 30.0)
        assert len(chosen.index) == wanted
        places = [balancing.index.tolist().index(each) for each in chosen.index.tolist()]
        assert fits[places].tolist() == [place < fitting for place in range(wanted)]
        assert places[:fitting] == sorted(places[:fitting])
        before = global_[places]
        after = with_balanced_komi(before, lead[places], areas[places], chosen, 30.0)
        assert (after != before).any(1).tolist() == fits[places].tolist()


def test_a_lead_that_goes_with_doublings_is_not_too_large() -> None:
    before = numbers(19, 7.5, WHITE, "tromp-taylor")
    # Doublings that put white, who is to move, 48.4 points behind.
    for lead, doublings, changes in (
        (-50.0, 0.0, False), (-50.0, 2.0, True), (-20.0, 2.0, True), (25.0, 2.0, True), (-75.0, 2.0, True),
        (-80.0, 2.0, False), (35.0, 2.0, False), (50.0, -2.0, True), (-35.0, -2.0, False),
    ):  # fmt: skip
        after = balanced(before, lead, 19, doublings=doublings, behind=1.0, most=30.0)
        assert bool((after != before).any()) == changes, (lead, doublings)


@pytest.mark.parametrize(("size", "weight"), [(19, 1.0), (9, 3.0667)])
def test_the_stronger_side_is_behind(size: int, weight: float) -> None:
    before = numbers(size, 7.5, WHITE, "tromp-taylor")
    for doublings, behind, points in ((2.0, 1.0, 48.4), (2.0, 0.25, 12.1), (-1.5, 0.5, -18.7), (2.75, 0.5, 65.0)):
        given = balanced(before, 0.0, size, doublings=doublings, behind=behind)
        komi = round(2.0 * (7.5 - points / weight)) / 2.0
        np.testing.assert_allclose(given, numbers(size, komi, WHITE, "tromp-taylor", doublings), atol=1e-5)


def test_doublings_are_multiples_of_an_eighth_on_both_sides() -> None:
    doublings = draw_komi_balancing(2000, np.random.default_rng(1), 0.25).doublings
    told = doublings[doublings != 0.0]
    assert 0.2 < len(told) / 2000 < 0.3
    assert torch.equal(told * 8.0, (told * 8.0).round())
    assert float(told.min()) < -2.5
    assert float(told.max()) > 2.5
    assert not draw_komi_balancing(64, np.random.default_rng(1)).doublings.any()
