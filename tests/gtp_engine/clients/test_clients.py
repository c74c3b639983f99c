"""Conformance: what each client says and how it reads the answers, told to an engine without a process."""

from __future__ import annotations

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
