"""A part of the campaigns of odd queries and of random lines in each run of the tests."""

from __future__ import annotations

from tests.campaigns.json_fuzz import run
from tests.campaigns.odd_queries import asked_anew, cases, read, unexplained

EVERY = 3
"""Of so many cases one is tried."""


def test_each_is_answered_once_and_as_is_known() -> None:
    known = read()
    asked = list(cases())[::-EVERY]
    assert asked_anew(asked, known) == {case: known[case] for case in asked}


def test_katago_answers_otherwise_only_where_that_is_wanted() -> None:
    assert unexplained(read()) == []


def test_random_lines() -> None:
    counts, offences = run((20261122, 300))
    assert not offences
    assert counts["last replies"] > 30
    assert sum(count for name, count in counts.items() if name.startswith("error")) > 50
