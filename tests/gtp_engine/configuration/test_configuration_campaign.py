"""The campaign of mutated configurations: a few of its cases, and that it sees what it is there to see."""

from __future__ import annotations

from tests.campaigns import configurations
from tests.campaigns.configurations import run


def test_a_few_cases() -> None:
    counts, slowest, refusals = run(180, seed=7)
    assert sum(counts.values()) == 180
    assert {key.split()[1] for key in counts} == {"taken", "refused"}
    assert len(refusals) > 10
    assert slowest < configurations.SECONDS
