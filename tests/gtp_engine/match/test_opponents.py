"""Every kind of hostile engine against an honest one. All moments and both sides: tests/campaigns/opponents.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.gtp_engine.match import zoo

OTHER_MOMENTS = ("list_commands", "play", "other", "final_score", "between", "quit")


def cases() -> Iterator[tuple[str, str, int]]:
    """(kind, moment, honest side): every kind while it thinks, and every second at one more moment."""
    for number, kind in enumerate(zoo.KINDS):
        yield kind, "genmove", number % 2
        other = OTHER_MOMENTS[number // 2 % len(OTHER_MOMENTS)]
        if number % 2 == 0 and zoo.is_attack(kind, other):
            yield kind, other, number // 2 % 2


@pytest.mark.skipif(sys.platform == "win32", reason="the hostile engine uses what POSIX has")
def test_hostile_engines_lose_or_harm_nobody(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as tables:
        complaints = list(tables.map(lambda case: zoo.play(tmp_path, *case), cases()))
    assert len(complaints) > 40
    assert [complaint for complaint in complaints if complaint] == []
