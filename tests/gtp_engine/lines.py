"""Random lines of input, and what must hold for the reply to any line."""

from __future__ import annotations

import random
import re

from gtp_engine.commands import LISTED
from gtp_engine.dialogue.protocol import parse_line
from tests.gtp_engine.fakes import Dialogue

REPLY = re.compile(r"[=?][0-9]{0,10}( [^\n]*)?\n([^\n]+\n)*\n")
RUNNABLE = [name for name in LISTED if name not in ("quit", "loadsgf", "printsgf", "kata-benchmark")]
"""Commands that may be given random arguments: those that touch files or take their time are not among them."""

_WORDS = """
b w black WHITE pass resign d4 A1 e5 j9 z25 true false all 0 1 2 9 19 -1 1.5 1e9 nan 99999999999 ownership interval
avoid allow a1,b2 minmoves {"ko":"SIMPLE"} { [] chinese japanese byoyomi fischer none maxVisits e
"""
WORDS = _WORDS.split()
"""Arguments, of which some suit some command."""


def random_line(rng: random.Random) -> str:
    """Mostly a command with arguments that may or may not suit it; sometimes any characters at all."""
    if rng.random() < 0.1:
        return "".join(chr(rng.choice((rng.randrange(256), rng.randrange(0x3000)))) for _ in range(rng.randrange(60)))
    words = [rng.choice(RUNNABLE), *(rng.choice(WORDS) for _ in range(rng.randrange(6)))]
    if rng.random() < 0.2:
        words.insert(0, str(rng.choice((0, 7, 2**31 - 1, 2**31, 10**20))))
    line = rng.choice((" ", " ", "  ", "\t")).join(words)
    while rng.random() < 0.15:
        i = rng.randrange(len(line) + 1)
        line = line[:i] + rng.choice(("", chr(rng.randrange(128)), " ", "#", "\x00")) + line[i + rng.randrange(2) :]
    return line


def state(dialogue: Dialogue) -> object:
    """What an error must leave alone."""
    engine = dialogue.engine
    game = engine.game
    return (
        game.identity(),
        tuple(game.moves),
        engine.komi,
        engine.settings,
        engine.clock.control,
        dict(engine.clock.left),
        dialogue.player.parameters,
    )


def check(dialogue: Dialogue, line: str) -> str:
    """Send a line; returns the reply. AssertionError if it is not what the protocol demands."""
    line = line.replace("\n", "")
    command = parse_line(line)
    if command is not None and command.name in LISTED and command.name not in RUNNABLE:
        return ""
    before = state(dialogue)
    reply = dialogue.send(line)
    if command is None:
        assert reply == "", f"{line!r} has a reply: {reply!r}"
        return reply
    assert REPLY.fullmatch(reply), f"{line!r}: {reply!r}"
    assert re.match(rf"[=?]{command.id or ''}[ \n]", reply), f"{line!r}: {reply!r}"
    assert "internal error" not in reply, f"{line!r}: {reply!r}"
    if reply.startswith("?"):
        assert state(dialogue) == before, f"{line!r} failed and changed something"
    return reply
