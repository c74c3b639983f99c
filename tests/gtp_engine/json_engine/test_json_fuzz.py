"""A few of the campaign's random lines in each run of the tests."""

from __future__ import annotations

from tests.campaigns.json_fuzz import run


def test_random_lines() -> None:
    counts, offences = run((20261122, 300))
    assert not offences
    assert counts["last replies"] > 30
    assert sum(count for name, count in counts.items() if name.startswith("error")) > 50
