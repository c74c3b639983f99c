"""KataGo's answers to the queries of its transcript beside ours: the same fields, errors and warnings, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gtp_engine.json_engine.spoken import Spoken

TRANSCRIPT = "golden/katago-json-transcript.txt"

OURS = {
    "boardXSize = 29": "Must provide an integer from 2 to 25",
    "boardXSize = 1": "Must provide an integer from 2 to 25",
    "boardXSize = null": "Must provide an integer from 2 to 25",
    "not JSON": "parse error: could not parse input line as json request: hello",
    "bad setting": "Could not set settings: maxTime must be a number, not x",
    'overrideSettings = {"humanSLProfile": "rank_5k"}': (
        "Could not set settings: WARNING: humanSLProfile is specified as config param but model(s) don't use it: "
        "constant.bin.gz\n"
    ),
}
"""Errors in other words than KataGo's, by their section of the transcript: larger boards, and names of files."""

TIMED = {
    "a long search terminated",
    "  now",
    "queued behind others and terminated",
    "terminate one turn",
    "firstReportDuringSearchAfter",
    "end of input",
    "exit code 0 within 1 s after end of input",
}
"""Sections whose answers depend on time; test_termination.py has the like of them."""

Section = tuple[str, list[str], list[dict[str, Any]]]


def sections(text: str) -> list[Section]:
    """(title, lines sent, answers) of each section."""
    found: list[Section] = []
    for line in text.splitlines():
        if line.startswith("## "):
            found.append((line[3:], [], []))
        elif line.startswith("> "):
            found[-1][1].append(line[2:])
        elif line.startswith("< "):
            found[-1][2].append(json.loads(line[2:]))
    return found


def shape(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer as the transcript shortens it: an object's keys, a list's length, what is short as it is."""
    short = dict(answer)
    if "rootInfo" in short:
        short["rootInfo"] = sorted(short["rootInfo"])
    if short.get("moveInfos"):
        first = short["moveInfos"][0]
        short["moveInfos"] = first if isinstance(first, list) else sorted(first)
    for name in ("ownership", "ownershipStdev", "policy"):
        if isinstance(short.get(name), list):
            short[name] = f"<{len(short[name])}>"
    if "models" in short:
        short["models"] = sorted(short["models"][0])
    for name in ("git_hash", "version"):
        short.pop(name, None)
    return short


@pytest.fixture(scope="module")
def transcript(shared: Callable[[str], Path]) -> list[Section]:
    return sections(shared(TRANSCRIPT).read_text())


def test_the_transcript(transcript: list[Section], engine: Spoken) -> None:
    compared = 0
    for title, lines, answers in transcript:
        if title in TIMED:
            continue
        engine.say(*lines)
        wanted = [shape(answer) for answer in answers]
        if title in OURS:
            wanted[0]["error"] = OURS[title]
        got = [shape(engine.next()) for _ in answers]
        by_turn = sorted(got, key=lambda each: str(each.get("turnNumber")))
        assert by_turn == sorted(wanted, key=lambda each: str(each.get("turnNumber"))), title
        assert engine.replies.empty(), title
        compared += 1
    assert compared >= 60
