"""Every kind of hostile engine against an honest one. All moments and both sides: tests/campaigns/opponents.py."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gtp_engine.match.engines import Engine, Limits
from gtp_engine.match.pipes import ErrorLog
from gtp_engine.match.referee import Conduct, Referee
from tests.gtp_engine.match import zoo
from tests.gtp_engine.match.conftest import stub_command, terms

PATIENCE = 60.0
"""Seconds for an honest engine on a machine that has much else to do."""
HANG = 5.0
TOO_LONG = 90.0
OTHER_MOMENTS = ("list_commands", "play", "other", "final_score", "between", "quit")


def cases() -> Iterator[tuple[str, str, int]]:
    """(kind, moment, honest side): every kind while it thinks, and at one more moment."""
    for number, kind in enumerate(zoo.KINDS):
        yield kind, "genmove", number % 2
        other = OTHER_MOMENTS[number % len(OTHER_MOMENTS)]
        if zoo.is_attack(kind, other):
            yield kind, other, number // 2 % 2


def play(folder: Path, kind: str, moment: str, honest: int) -> str:
    """What went wrong in a game against this engine."""
    mark = f"{folder.name}-{kind}-{moment}".replace(" ", "-")
    silent = kind not in zoo.HARMLESS and moment not in ("between", "quit")
    limits = Limits(PATIENCE, HANG, HANG) if silent else Limits(PATIENCE, PATIENCE, PATIENCE)
    if moment == "list_commands":
        limits = Limits(HANG, HANG, HANG)
    stub = stub_command("--moves", "C3,C2,B3", "--score", "BW"[honest] + "+2.5")
    good = Engine(stub, "honest", ErrorLog(folder / f"{mark}-honest"), Limits(PATIENCE, PATIENCE, PATIENCE))
    bad = Engine(zoo.command(kind, moment, mark), "hostile", ErrorLog(folder / f"{mark}-hostile"), limits)
    engines = (good, bad) if honest == 0 else (bad, good)
    started = time.monotonic()
    try:
        conduct = Conduct(hang_seconds=HANG if silent else PATIENCE)
        game = Referee(0, engines, 0, terms(), conduct, ()).play()
    finally:
        for engine in engines:
            engine.close()
    complaint = zoo.misjudged(game, kind, moment, honest)
    if time.monotonic() - started > TOO_LONG:
        complaint = f"took {time.monotonic() - started:.1f} s"
    left = zoo.processes_with(mark)
    return f"{kind}, {moment}: {complaint or f'left {left}'}" if complaint or left else ""


@pytest.mark.skipif(sys.platform == "win32", reason="the hostile engine uses what POSIX has")
def test_hostile_engines_lose_or_harm_nobody(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as tables:
        complaints = list(tables.map(lambda case: play(tmp_path, *case), cases()))
    assert len(complaints) > 50
    assert [complaint for complaint in complaints if complaint] == []
