"""Conformance: recorded dialogues with every command.

A transcript is a text file: `> ` starts a line of input (with escapes like \\t and \\x00), the lines up to the next
one are the reply to it, without the blank line that ends it. `~ ` starts a regular expression for one line; `...`
stands for any lines. Lines that start with `# ` are comments. Each transcript starts with an empty 9x9 board.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gtp_engine.gtp.commands import LISTED, UNLISTED
from tests.conftest import REPOSITORY
from tests.gtp_engine.fakes import Dialogue

FOLDER = Path(__file__).parent / "transcripts"
ESCAPES = {"\\t": "\t", "\\r": "\r", "\\x00": "\x00", "\\x01": "\x01", "\\x7f": "\x7f"}


class Exchange(NamedTuple):
    number: int
    """Line of the file."""
    line: str
    reply: list[str]


def exchanges(path: Path) -> Iterator[Exchange]:
    current: Exchange | None = None
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith(">"):
            if current is not None:
                yield current
            line = text[2:]
            for escape, character in ESCAPES.items():
                line = line.replace(escape, character)
            current = Exchange(number, line, [])
        elif text.startswith("# ") or current is None:
            continue
        else:
            current.reply.append(text)
    if current is not None:
        yield current


def matches(expected: list[str], actual: list[str]) -> bool:
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[skip:]) for skip in range(len(actual) + 1))
    if not actual:
        return False
    if expected[0].startswith("~ "):
        return bool(re.fullmatch(expected[0][2:], actual[0])) and matches(expected[1:], actual[1:])
    return expected[0] == actual[0] and matches(expected[1:], actual[1:])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    dialogue = Dialogue()
    for exchange in exchanges(path):
        reply = dialogue.send(exchange.line)
        if reply:
            assert re.fullmatch(r"[=?][0-9]*([ ].*)?\n(.+\n)*\n", reply), f"{path.name}:{exchange.number}: framing"
        actual = reply.split("\n")[:-2] if reply else []
        where = f"{path.name}:{exchange.number}: {exchange.line}"
        assert matches(exchange.reply, actual), f"{where}\nexpected {exchange.reply}\n but got {actual}"


def test_transcripts_cover_every_command() -> None:
    cases = [exchange for path in FOLDER.glob("*.txt") for exchange in exchanges(path)]
    sent = {next((word for word in exchange.line.split() if not word.isdigit()), "") for exchange in cases}
    # loadsgf needs a file: test_engine.py.
    assert set(LISTED) - sent == {"loadsgf"}
    assert len(cases) >= 150


def test_every_command_is_documented() -> None:
    page = (REPOSITORY / "docs" / "gtp.md").read_text(encoding="utf-8")
    documented = {word.strip("`,.") for quoted in re.findall(r"`[^`]+`", page) for word in quoted.strip("`").split()}
    assert set(LISTED) | UNLISTED <= documented
