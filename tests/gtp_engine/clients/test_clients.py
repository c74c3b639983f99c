"""Conformance: what each client says and how it reads the answers, told to an engine without a process."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import Row, count, show
from tests.gtp_engine.clients.partners import FakePartner
from tests.gtp_engine.clients.stories import ALL
from tests.gtp_engine.clients.talk import Case, Story
from tests.gtp_engine.json_engine.spoken import Spoken

FEWEST = 150
"""Cases of all clients together."""


def told(story: Story) -> list[Case]:
    if not story.is_json:
        return story.told_to(FakePartner(story.arguments))
    engine = Spoken()
    try:
        return story.told_to(engine)
    finally:
        engine.end()


def test_every_client_gets_what_it_expects() -> None:
    cases = [case for story in ALL for case in told(story)]
    assert [f"{case.story}: {case.text}" for case in cases if not case.is_right] == []
    assert len(cases) >= FEWEST


def test_the_table_counts_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """What `make conformance` prints of these and of the clients' own code."""
    rows = [Row("one"), Row("other", skipped="it needs Java")]
    for line in ("ok   a", "ok   b", "and what it says besides"):
        count(rows[0], line)
    assert show(rows, 2) == 0
    assert "2 cases, 2 passed, 0 failed, 1 clients skipped" in capsys.readouterr().out
    assert show(rows, 3) == 1  # too few
    count(rows[0], "FAIL c")
    assert show(rows, 2) == 1
    assert show([Row("nothing")], 0) == 1
