"""Legs of equal budget (tests/campaigns/legs.py): a leg learns what it says."""

# ruff: noqa: E402
from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra `train`)")

from tests.campaigns.legs import train
from tests.training.run.short_runs import config
from tests.training.student.test_network import new_student


def test_a_leg_of_so_many_steps(records: Path) -> None:
    begun = new_student()
    before = begun.stem.weight.clone()
    student, facts = train(config(records), begun, 0.0, 3)
    assert facts["steps"] == 3
    assert facts["positions"] == 12
    assert not torch.equal(student.stem.weight, before)
    assert torch.isfinite(student.stem.weight).all()
