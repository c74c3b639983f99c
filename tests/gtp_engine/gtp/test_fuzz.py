"""Whatever arrives, every command gets exactly one well-formed reply, and errors change nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.campaigns.gtp_fuzz import Job, run_job


@pytest.mark.parametrize(("kind", "lines"), [("moves", 3000), ("search", 300), ("pipe", 500)])
def test_many_random_lines(kind: str, lines: int) -> None:
    """A small part of the campaign. Most commands are accepted at least once, and many lines are refused."""
    outcome = run_job(Job(kind, 1, lines))
    assert outcome.offence == ""
    accepted = Counter({name: n for (name, reply), n in outcome.counts.items() if reply == "="})
    assert sum(accepted.values()) > lines / 5
    assert outcome.counts.total() - accepted.total() > lines / 10
    assert len(accepted) > (50 if lines > 1000 else 30)
