"""Whatever arrives, every command gets exactly one well-formed reply, and errors change nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtp_engine.dialogue.protocol import parse_line
from tests.conftest import REPOSITORY
from tests.gtp_engine.fakes import Dialogue, FakePlayer
from tests.gtp_engine.lines import RUNNABLE, WORDS, check, random_line

words = st.one_of(st.sampled_from(WORDS), st.text(max_size=8))
lines = st.one_of(
    st.builds(
        lambda id_, name, rest: " ".join([id_, name, *rest]),
        st.sampled_from(["", "", "1", "2147483648", "x"]),
        st.sampled_from(RUNNABLE),
        st.lists(words, max_size=6),
    ),
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda data: data.decode("latin-1")),
)


@pytest.fixture(scope="module")
def dialogue() -> Dialogue:
    return Dialogue(FakePlayer())


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=lines)
def test_every_command_is_answered(dialogue: Dialogue, line: str) -> None:
    check(dialogue, line)


def test_many_random_lines(dialogue: Dialogue) -> None:
    rng = random.Random(1)
    replies = [check(dialogue, random_line(rng)) for _ in range(3000)]
    assert sum(reply.startswith("=") for reply in replies) > 500
    assert sum(reply.startswith("?") for reply in replies) > 500


def test_bytes_through_the_process() -> None:
    """As many replies as there are commands, whatever is between them."""
    data = bytearray()
    expected = 0
    source = os.urandom(64 * 300)
    for i in range(300):
        line = source[64 * i : 64 * i + 64].replace(b"\n", b"").replace(b"\r", b"")
        command = parse_line(line.decode("utf-8", "replace"))
        expected += command is not None
        data += line + b"\n" + b"%d name\n" % i
        expected += 1
    done = subprocess.run(
        [sys.executable, "-m", "tests.gtp_engine.fake_engine"],
        input=bytes(data),
        capture_output=True,
        timeout=60,
        cwd=REPOSITORY,
        check=True,
    )
    replies = done.stdout.decode().split("\n\n")
    assert replies.pop() == ""
    assert len(replies) == expected
    assert [reply for reply in replies if reply.endswith(" Nobi")] == [f"={i} Nobi" for i in range(300)]
