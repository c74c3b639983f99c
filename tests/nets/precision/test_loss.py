"""What a lower precision loses, on answers made up."""

from __future__ import annotations

import numpy as np
import pytest

from nets.evaluator import LEAD, WIN, Evaluation
from nets.precision.loss import Answer, compare_answers


def answer(winrates: list[float], leads: list[float]) -> Answer:
    """Of positions on empty boards of one point, with even policies."""
    count = len(winrates)
    value, score = np.zeros((count, 3), np.float32), np.zeros((count, 6), np.float32)
    value[:, WIN], score[:, LEAD] = winrates, leads
    even = np.zeros((count, 2), np.float32)
    return Answer(np.zeros((count, 22, 1, 1), np.float32), Evaluation(even, value, score, even[:, :1]), 1.0)


@pytest.mark.parametrize(("count", "worst"), [(1, 1), (20, 1), (21, 2), (40, 2), (41, 3)])
def test_the_worst_of_the_winrates(count: int, worst: int) -> None:
    """5 % of them, rounded up."""
    off = [0.01 * number for number in range(count)]
    loss, _ = compare_answers(
        [answer([0.5] * count, [0.0] * count)], [answer([0.5 + each for each in off], [0.0] * count)]
    )
    assert loss.winrate_worst_5_percent == pytest.approx(np.mean(off[-worst:]), abs=1e-6)
    assert loss.winrate_mean == pytest.approx(np.mean(off), abs=1e-6)


def test_leads_that_decide() -> None:
    """What is off in a lead beyond 20 points counts as a share of 20, whoever leads."""
    leads = [0.0, 10.0, -20.0, 40.0, -80.0]
    loss, _ = compare_answers([answer([0.5] * 5, leads)], [answer([0.5] * 5, [each + 1.0 for each in leads])])
    assert loss.lead_mean == pytest.approx(1.0)
    assert loss.close_lead_mean == pytest.approx((1 + 1 + 1 + 0.5 + 0.25) / 5)
