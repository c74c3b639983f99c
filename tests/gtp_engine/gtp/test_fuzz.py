"""Whatever arrives, every command gets exactly one well-formed reply, and errors change nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.campaigns.gtp_fuzz import Job, run_job
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.gtp_engine.grammar import COMMANDS, NUMBERS, VERTICES, WORDS
from tests.gtp_engine.oracle import check

SAFE = [name for name in COMMANDS if name != "printsgf"]

words = st.one_of(st.sampled_from([*NUMBERS, *VERTICES, *WORDS]), st.text(max_size=8))
lines = st.one_of(
    st.builds(
        lambda id_, name, rest: " ".join([id_, name, *rest]),
        st.sampled_from(["", "", "1", "2147483648", "x"]),
        st.sampled_from(SAFE),
        st.lists(words, max_size=6),
    ),
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda data: data.decode("latin-1")),
)


@pytest.fixture(scope="module")
def dialogue() -> Dialogue:
    return Dialogue(FakePlayer())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=lines)
def test_every_command_is_answered(dialogue: Dialogue, line: str) -> None:
    check(dialogue, line)


@pytest.mark.parametrize(("kind", "lines"), [("moves", 3000), ("search", 300), ("pipe", 500)])
def test_many_random_lines(kind: str, lines: int) -> None:
    """A small part of the campaign. Most commands are accepted at least once, and many lines are refused."""
    outcome = run_job(Job(kind, 1, lines))
    assert outcome.offence == ""
    accepted = Counter({name: n for (name, reply), n in outcome.counts.items() if reply == "="})
    assert sum(accepted.values()) > lines / 5
    assert outcome.counts.total() - accepted.total() > lines / 10
    assert len(accepted) > (50 if lines > 1000 else 30)
