"""Whatever arrives, every command gets exactly one well-formed reply, and errors change nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gtp_engine.commands import LISTED
from gtp_engine.protocol import parse_line
from tests.conftest import REPOSITORY
from tests.gtp.fakes import Dialogue, FakePlayer

REPLY = re.compile(r"[=?][0-9]{0,10}( .*)?\n([^\n]+\n)*\n")
RUNNABLE = [name for name in LISTED if name not in ("quit", "loadsgf", "printsgf", "kata-benchmark")]

words = st.one_of(
    st.sampled_from(
        ["b", "w", "black", "WHITE", "pass", "resign", "d4", "A1", "e5", "j9", "z25", "true", "false", "all"]
    ),
    st.sampled_from(
        ["0", "1", "2", "9", "19", "-1", "1.5", "1e9", "nan", "99999999999", "ownership", "interval", "avoid"]
    ),
    st.sampled_from(['{"ko":"SIMPLE"}', "{", "[]", "chinese", "japanese", "byoyomi", "fischer", "none", "maxVisits"]),
    st.text(max_size=8),
)
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


def state(dialogue: Dialogue) -> object:
    game = dialogue.engine.game
    clock = dialogue.engine.clock
    return (game.identity(), tuple(game.moves), dialogue.engine.komi, clock.control, dict(clock.left))


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=lines)
def test_every_command_is_answered(dialogue: Dialogue, line: str) -> None:
    line = line.replace("\n", "")
    command = parse_line(line)
    if command is not None and command.name not in RUNNABLE and command.name in LISTED:
        return
    before = state(dialogue)
    reply = dialogue.send(line)
    if command is None:
        assert reply == ""
        return
    assert REPLY.fullmatch(reply), reply
    assert reply[1:].startswith(command.id or " ") or reply.startswith("=\n")
    assert "internal error" not in reply
    if reply.startswith("?"):
        assert state(dialogue) == before


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
        [sys.executable, "-m", "tests.gtp.fake_engine"],
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
