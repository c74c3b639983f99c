"""What a lower precision loses, on answers made up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nets.evaluator import LEAD, WIN, Evaluation
from nets.loss import LIMITS, Answer, PrecisionLoss, compare_answers, reason_against, shared_out


def answer(winrates: list[float], leads: list[float], seconds: float = 1.0, width: int = 1) -> Answer:
    """Of positions on empty boards of one line, with even policies."""
    count = len(winrates)
    value, score = np.zeros((count, 3), np.float32), np.zeros((count, 6), np.float32)
    value[:, WIN], score[:, LEAD] = winrates, leads
    even = np.zeros((count, width + 1), np.float32)
    return Answer(np.zeros((count, 22, 1, width), np.float32), Evaluation(even, value, score, even[:, 1:]), seconds)


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


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [([10.0] * 3, [6.0] * 3, 0.6), ([0.0, 0.0, 16.0, 0.0, 0.0], [0.0, 8.0, 0.0, 0.0, 0.0], 0.5)],
)
def test_the_share_of_the_time(ours: list[float], theirs: list[float], share: float) -> None:
    """Of boards of one size all batches count together: a coarse clock says of most that they took no time."""
    reference = [answer([0.5], [0.0], seconds) for seconds in ours]
    candidate = [answer([0.5], [0.0], seconds) for seconds in theirs]
    assert compare_answers(reference, candidate)[1] == pytest.approx(share)


def test_a_size_whose_batches_were_slow() -> None:
    reference = [answer([0.5], [0.0], 10.0, width) for width in (1, 2, 3)]
    candidate = [
        answer([0.5], [0.0], seconds, width) for seconds, width in zip((6.0, 7.0, 90.0), (1, 2, 3), strict=True)
    ]
    assert compare_answers(reference, candidate)[1] == pytest.approx(0.7)


@pytest.mark.parametrize("count", [1, 2, 3, 9, 10])
def test_positions_are_shared_out(count: int) -> None:
    numbers = np.arange(count, dtype=np.float32)
    others, checked = shared_out([(numbers, numbers), (numbers[:1], numbers[:1])])
    assert len(checked) == 2
    assert len(checked[0][0]) == -(-count // 3)
    assert sorted(np.concatenate([each for each, _ in others + checked[:1]])) == numbers.tolist()
    assert all(len(each) > 0 for each, _ in others)


def test_reasons_against_it() -> None:
    good = PrecisionLoss(0.001, 0.01, 0.1, 0.001, 0.01)
    assert reason_against(good, 0.4) == ""
    assert "1.20 of the time" in reason_against(good, 1.2)
    for name, limit in LIMITS.__dict__.items():
        for bad in (0.5 if limit < 0.5 else float("nan"), float("nan")):
            assert name.replace("_", " ") in reason_against(dataclasses.replace(good, **{name: bad}), 0.4)
