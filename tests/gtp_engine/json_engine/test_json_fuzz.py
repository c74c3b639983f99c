"""A few of the campaign's random lines in each run of the tests."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.campaigns.json_fuzz import Lines, note_answer, run


def test_random_lines() -> None:
    counts, offences = run((20261122, 300))
    assert not offences
    assert counts["last replies"] > 30
    assert sum(count for name, count in counts.items() if name.startswith("error")) > 50


def test_the_same_seed_makes_the_same_lines() -> None:
    assert [Lines(1).line("a") for _ in range(3)] == [Lines(1).line("a") for _ in range(3)]


def test_an_internal_error_is_an_offence() -> None:
    with pytest.raises(AssertionError, match="internal error"):
        note_answer({"id": "a", "error": "internal error: KeyError"}, Counter(), Counter(), set())
